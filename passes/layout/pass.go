package layout

import (
	"context"

	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table.
func Pass() pipeline.Pass {
	return pipeline.Pass{
		Name: "layout", Doc: "Choose the order in which the elements of intermediate images stand in memory.",
		Needs: pipeline.ScheduledKernels, Gives: pipeline.ScheduledKernels,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		After:    []pipeline.Order{{Name: "fuse", Reason: "buffers inside joined kernels are gone"}},
		Run: func(_ context.Context, p *pipeline.Context) error {
			Run(p.Graph)
			return nil
		},
	}
}
