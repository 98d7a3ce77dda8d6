package cuda

import (
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/standard"
)

// A graph for another device is refused, with its location; its own is not.
func TestEmitRefusesOtherDevices(t *testing.T) {
	conformance.RefusesOtherDevices(t, "../..", schedule.CUDA, schedule.CPU, func(g *ir.Graph) error {
		_, err := Emit(g, "matmul", "test")
		return err
	})
}

// A schedule that asks for another order of a sum than its operation has is refused; its own is not.
func TestForeignSums(t *testing.T) {
	for sums, want := range map[int64]string{0: "", 64: "", 32: "TAP0912"} {
		g, err := text.Read([]byte(kernelCases["long sum"]), "long.tap", dialects.Registry())
		if err != nil {
			t.Fatal(err)
		}
		if err := standard.Run(g, kernels.Builtin(), lower.Options{Target: schedule.CUDA}); err != nil {
			t.Fatal(err)
		}
		for n := range g.Nodes() {
			if k, ok := n.Body.(*schedule.Kernel); ok {
				k.Sums = sums
			}
		}
		_, err = Emit(g, "long", "test")
		if list := diag.FromError(err); want == "" && err != nil || want != "" && (len(list) != 1 || list[0].Code != want) {
			t.Errorf("partial sums of %d: %v, want %q", sums, err, want)
		}
	}
}
