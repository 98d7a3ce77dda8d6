package apply

import (
	"context"

	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table.
func Pass() pipeline.Pass {
	return pipeline.Pass{
		Name: "apply", Doc: "Give every operation without shards one application that covers it.",
		Upto: pipeline.ApplicationExpression, Gives: pipeline.ApplicationExpression,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		Run: func(_ context.Context, p *pipeline.Context) error {
			p.Count("applications", Run(p.Graph))
			return nil
		},
	}
}
