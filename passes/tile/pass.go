package tile

import (
	"context"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table.
func Pass() pipeline.Pass {
	return pipeline.Pass{
		Name: "tile", Doc: "Cut loops into tiles and bind them to vectors, threads, blocks and lanes.",
		Needs: pipeline.ScheduledKernels, Gives: pipeline.ScheduledKernels,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		After:    []pipeline.Order{{Name: "fuse", Reason: "joined kernels have other loops than their parts"}},
		Rules:    func() []string { return []string{"tile"} },
		Options:  []pipeline.Option{pipeline.FuelOption},
		Run: func(_ context.Context, p *pipeline.Context) error {
			opt := Options{May: func(kernel ir.NodeID) bool { return p.Take("tile", kernel) }}
			Run(p.Graph, opt)
			return nil
		},
	}
}
