package apply

import (
	"context"

	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table, with the kernels that graphs may use.
func Pass(lib *kernels.Library) pipeline.Pass {
	return pipeline.Pass{
		Name: "apply", Doc: "Give every operation without shards one application that covers it, and every application its devices.",
		Upto: pipeline.ApplicationExpression, Gives: pipeline.ApplicationExpression,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		Options: []pipeline.Option{
			{Name: "devices", Doc: "how many devices there are, over which applications that are not placed yet are spread; 0 leaves them as they are", Type: pipeline.Int, Default: "0", Fact: pipeline.Devices},
			{Name: "place", Doc: "the plan file (docs/plans.md) that says where shards are", Type: pipeline.Path, Fact: pipeline.Places},
		},
		Run: func(_ context.Context, p *pipeline.Context) error {
			p.Count("applications", Run(p.Graph))
			if file := p.Text("place"); file != "" {
				plan, err := planfile.Read(file)
				if err != nil {
					return err
				}
				if err := Place(p.Graph, plan); err != nil {
					return err
				}
			}
			return Spread(p.Graph, lib, int64(p.Int("devices")))
		},
	}
}
