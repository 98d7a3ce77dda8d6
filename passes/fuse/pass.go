package fuse

import (
	"context"

	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table.
func Pass() pipeline.Pass {
	return pipeline.Pass{
		Name: "fuse", Doc: "Join kernels whose result one other kernel reads.",
		Needs: pipeline.ScheduledKernels, Gives: pipeline.ScheduledKernels,
		After: []pipeline.Order{{Name: "lower", Reason: "it joins the kernels that lowering makes"}},
		Run: func(_ context.Context, p *pipeline.Context) error {
			n, err := Run(p.Graph)
			p.Count("joined", n)
			return err
		},
	}
}
