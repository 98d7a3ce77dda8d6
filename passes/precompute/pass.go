package precompute

import (
	"context"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table, with the kernels that graphs may use.
func Pass(lib *kernels.Library) pipeline.Pass {
	return pipeline.Pass{
		Name: "precompute", Doc: "Mark operations that depend on constants alone, to be carried out when the program is built.",
		Upto:     pipeline.ApplicationExpression,
		Standard: pipeline.Standard{Phase: pipeline.Simplifying},
		After: []pipeline.Order{
			{Name: "bind", Reason: "it makes inputs constants"},
			{Name: "simplify", Reason: "constants that it composes and algebra that it finds are lost behind a mark"},
			{Name: "cse", Reason: "an operation with a mark and an equal one without would become one"},
		},
		Run: func(_ context.Context, p *pipeline.Context) error {
			n, err := Run(p.Graph, lib)
			p.Count("operations precomputed", n)
			return err
		},
	}
}
