package conformance

import (
	"os"
	"testing"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/standard"
)

// RefusesOtherDevices checks that a back end writes a graph that is scheduled for its own device, and refuses one for another, with its location.
func RefusesOtherDevices(t *testing.T, root string, own, other schedule.DeviceType, emit func(g *ir.Graph) error) {
	data, err := os.ReadFile(root + "/examples/matmul.loom.json")
	if err != nil {
		t.Fatal(err)
	}
	for d, want := range map[schedule.DeviceType]string{own: "", other: backends.CodeForeign} {
		g, err := loomjson.Read(data, "matmul.loom.json", dialects.Registry())
		if err != nil {
			t.Fatal(err)
		}
		if err := standard.Run(g, kernels.Builtin(), lower.Options{Target: d}); err != nil {
			t.Fatal(err)
		}
		err = emit(g)
		list := diag.FromError(err)
		if want == "" && err != nil || want != "" && (len(list) != 1 || list[0].Code != want || list[0].Location.Node == "") {
			t.Errorf("scheduled for %v: %v, want %q", d, err, want)
		}
	}
}
