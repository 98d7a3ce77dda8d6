package layout

import (
	"context"

	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table. Model gives that of a machine for the targets of a list, nil if none is named.
func Pass(model func(targets, machine string) (cost.Model, error)) pipeline.Pass {
	return pipeline.Pass{
		Name: "layout", Doc: "Choose the order in which the elements of intermediate images stand in memory, and read and write in place what devices of one memory send each other.",
		Needs: pipeline.ScheduledKernels, Gives: pipeline.ScheduledKernels,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		After:    []pipeline.Order{{Name: "fuse", Reason: "buffers inside joined kernels are gone"}},
		Options: []pipeline.Option{{Name: "for", Type: pipeline.String, Fact: pipeline.Processors, Doc: "targets of the program, as those of tile, by whose configs a machine's costs are"},
			pipeline.CostModelOption},
		Run: func(_ context.Context, p *pipeline.Context) error {
			by, err := model(p.Text("for"), p.Text(pipeline.CostModelOption.Name))
			if err == nil {
				_, err = Run(p.Graph, by)
			}
			return err
		},
	}
}
