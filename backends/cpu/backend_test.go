package cpu_test

import (
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
)

// A graph for another device is refused, with its location; its own is not.
func TestEmitRefusesOtherDevices(t *testing.T) {
	conformance.RefusesOtherDevices(t, "../..", schedule.CPU, schedule.CUDA, func(g *ir.Graph) error {
		_, err := cpu.Emit(g, "matmul", "test")
		return err
	})
}
