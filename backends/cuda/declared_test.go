package cuda

import (
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/dialects/schedule"
)

// TestDeclared runs kernels of the library through the emulation, some of them each time.
func TestDeclared(t *testing.T) {
	conformance.Declared(t, conformance.Device{Type: schedule.CUDA}, 4, execute)
}
