package conformance

import (
	"context"
	"testing"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// TestReference takes all of the suite through the passes, with the reference evaluator as the back end.
func TestReference(t *testing.T) {
	Declared(t, schedule.CPU, Part{}, func(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
		ev := reference.Evaluator{Library: kernels.Builtin()}
		out, err := ev.Evaluate(context.Background(), g, in)
		if err != nil {
			t.Fatal(err)
		}
		return out
	})
}
