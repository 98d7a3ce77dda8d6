package fuse

import (
	"context"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table.
func Pass() pipeline.Pass {
	return pipeline.Pass{
		Name: "fuse", Doc: "Join kernels whose result one other kernel reads, and elementwise ones and reductions that read the same elements.",
		Needs: pipeline.ScheduledKernels, Gives: pipeline.ScheduledKernels,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		After:    []pipeline.Order{{Name: "lower", Reason: "it joins the kernels that lowering makes"}},
		Rules:    func() []string { return []string{"fuse"} },
		Options:  []pipeline.Option{pipeline.FuelOption},
		Run: func(_ context.Context, p *pipeline.Context) error {
			_, err := Run(p.Graph, func(kernel ir.NodeID) bool { return p.Take("fuse", kernel) })
			return err
		},
	}
}
