package cpu

import (
	"os"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/standard"
)

// A graph for another device is refused, with its location; its own is not.
func TestEmitRefusesOtherDevices(t *testing.T) {
	data, err := os.ReadFile("../../examples/matmul.loom.json")
	if err != nil {
		t.Fatal(err)
	}
	for d, want := range map[schedule.DeviceType]string{schedule.CPU: "", schedule.CUDA: "TAP0910"} {
		g, err := loomjson.Read(data, "matmul.loom.json", dialects.Registry())
		if err != nil {
			t.Fatal(err)
		}
		if err := standard.Run(g, kernels.Builtin(), lower.Options{Target: d}); err != nil {
			t.Fatal(err)
		}
		_, err = Emit(g, "matmul", "test")
		list := diag.FromError(err)
		if want == "" && err != nil || want != "" && (len(list) != 1 || list[0].Code != want || list[0].Location.Node == "") {
			t.Errorf("scheduled for %v: %v, want %q", d, err, want)
		}
	}
}
