package cuda

import (
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/dialects/schedule"
)

// TestDeclared runs kernels of the library through the emulation.
func TestDeclared(t *testing.T) {
	conformance.Declared(t, schedule.CUDA, conformance.Part{Of: 4}, execute)
}
