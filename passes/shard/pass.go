package shard

import (
	"context"

	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
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
			{Name: "plan", Doc: "the cuts of a plan file (docs/plans.md)", Type: pipeline.Path, Fact: pipeline.Plans},
			{Name: "at", Doc: "what is cut, and how along each index dimension: KERNEL=2x2 or LABEL=2x2", Type: pipeline.String, Fact: pipeline.Shards},
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

// requests joins what the options of the pass ask for.
func requests(at, plan string) ([]Request, error) {
	if at == "" && plan == "" {
		return nil, diag.Usage("shard: nothing to cut; expected shard{at=\"op:linear=2x2\"} or shard{plan=FILE}")
	}
	var out []Request
	if plan != "" {
		p, err := planfile.Read(plan)
		if err != nil {
			return nil, err
		}
		out = p.Cuts
	}
	if at != "" {
		r, err := Parse(at)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}
