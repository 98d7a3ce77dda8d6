package fuse

import (
	"context"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table. Pairs says whether some of the targets of a list have instructions that sum products of pairs of bfloat16.
func Pass(pairs func(names string) (bool, error)) pipeline.Pass {
	return pipeline.Pass{
		Name: "fuse", Doc: "Join kernels whose result one other kernel reads, and elementwise ones and reductions that read the same elements.",
		Needs: pipeline.ScheduledKernels, Gives: pipeline.ScheduledKernels,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		After:    []pipeline.Order{{Name: "lower", Reason: "it joins the kernels that lowering makes"}},
		Rules:    func() []string { return []string{"fuse"} },
		Options: []pipeline.Option{pipeline.FuelOption, {Name: "for", Type: pipeline.String, Fact: pipeline.Processors,
			Doc: "targets of the program, as those of tile: where one has instructions for it, products of bfloat16 read what they read before it is converted"}},
		Run: func(_ context.Context, p *pipeline.Context) error {
			paired, err := pairs(p.Text("for"))
			if err == nil {
				_, err = Run(p.Graph, func(kernel ir.NodeID) bool { return p.Take("fuse", kernel) }, paired)
			}
			return err
		},
	}
}
