package fuse

import (
	"context"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table. Options are those of the targets of a list, with the model of a machine for these, if one is named.
func Pass(options func(targets, machine string) (Options, error)) pipeline.Pass {
	return pipeline.Pass{
		Name: "fuse", Doc: "Join kernels whose result one other kernel reads, and elementwise ones and reductions that read the same elements.",
		Needs: pipeline.ScheduledKernels, Gives: pipeline.ScheduledKernels,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		After:    []pipeline.Order{{Name: "lower", Reason: "it joins the kernels that lowering makes"}},
		Rules:    func() []string { return []string{"fuse"} },
		Options: []pipeline.Option{pipeline.FuelOption, {Name: "for", Type: pipeline.String, Fact: pipeline.Processors,
			Doc: "targets of the program, as those of tile: where one has instructions for it, products of bfloat16 read what they read before it is converted"}, pipeline.CostModelOption},
		Run: func(_ context.Context, p *pipeline.Context) error {
			opt, err := options(p.Text("for"), p.Text(pipeline.CostModelOption.Name))
			if err != nil {
				return err
			}
			opt.May = func(kernel ir.NodeID) bool { return p.Take("fuse", kernel) }
			_, err = Run(p.Graph, opt)
			return err
		},
	}
}
