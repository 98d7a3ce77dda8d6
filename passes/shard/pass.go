package shard

import (
	"context"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table, with the kernels that graphs may use. Operations that it does not cut get the one
// application that the dialect asks for from whole, which gives their number.
func Pass(lib *kernels.Library, whole func(g *ir.Graph) int) pipeline.Pass {
	return pipeline.Pass{
		Name: "shard", Doc: "Cut operations into applications along their index.",
		Upto: pipeline.ApplicationExpression, Gives: pipeline.ApplicationExpression,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		Options: []pipeline.Option{
			{Name: "at", Doc: "what is cut, and into how many parts along each index dimension: KERNEL=2x2 or LABEL=2x2", Type: pipeline.String, Fact: pipeline.Shards},
			{Name: "plan", Doc: `a JSON file that says so of many: {"shard": [{"target": "op:linear", "parts": [2, 2]}]}`, Type: pipeline.Path},
		},
		Run: func(_ context.Context, p *pipeline.Context) error {
			requests, err := requests(p.Text("at"), p.Text("plan"))
			if err != nil {
				return err
			}
			n, err := Run(p.Graph, lib, requests)
			if err != nil {
				return err
			}
			p.Count("applications", n+whole(p.Graph))
			return nil
		},
	}
}
