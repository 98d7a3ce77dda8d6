package tile

import (
	"context"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table. Kernels get configs for the targets of some choosers.
func Pass(choosers ...Chooser) pipeline.Pass {
	return pipeline.Pass{
		Name: "tile", Doc: "Cut loops into tiles and bind them to vectors, threads, blocks and lanes.",
		Needs: pipeline.ScheduledKernels, Gives: pipeline.ScheduledKernels,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		After:    []pipeline.Order{{Name: "fuse", Reason: "joined kernels have other loops than their parts"}},
		Rules:    func() []string { return []string{"tile"} },
		Options:  []pipeline.Option{pipeline.FuelOption},
		Run: func(_ context.Context, p *pipeline.Context) error {
			opt := Options{May: func(kernel ir.NodeID) bool { return p.Take("tile", kernel) }, Choosers: choosers}
			return Run(p.Graph, opt)
		},
	}
}
