package shard

import (
	"context"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table, with the kernels that graphs may use. Operations that it does not cut get the one
// application that the dialect asks for.
func Pass(lib *kernels.Library) pipeline.Pass {
	return pipeline.Pass{
		Name: "shard", Doc: "Cut operations into applications along their index.",
		Upto: pipeline.ApplicationExpression, Gives: pipeline.ApplicationExpression,
		Options: []pipeline.Option{{Name: "at", Doc: "what is cut, and into how many parts along each index dimension: KERNEL=2x2 or LABEL=2x2", Type: pipeline.String}},
		Run: func(_ context.Context, p *pipeline.Context) error {
			r, err := Parse(p.Text("at"))
			if err != nil {
				return err
			}
			n, err := Run(p.Graph, lib, []Request{r})
			if err != nil {
				return err
			}
			p.Count("applications", n+apply.Run(p.Graph))
			return nil
		},
	}
}
