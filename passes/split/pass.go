package split

import (
	"context"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table, with the kernels that graphs may use.
func Pass(lib *kernels.Library) pipeline.Pass {
	return pipeline.Pass{
		Name: "split", Doc: "Cut operations along dimensions that they reduce: partial results, and what combines them.",
		Upto: pipeline.ApplicationExpression, Gives: pipeline.OperationExpression,
		Rules: func() (names []string) {
			for _, r := range Rules() {
				names = append(names, r.Name)
			}
			return names
		},
		Options: []pipeline.Option{
			pipeline.FuelOption,
			{Name: "at", Doc: "what is cut, and along which dimensions into how many parts or parts of which size: KERNEL=k:4 or LABEL=k:by4096", Type: pipeline.String},
			{Name: pipeline.AllowOption.Name, Doc: pipeline.AllowOption.Doc, Type: pipeline.String},
		},
		Run: func(_ context.Context, p *pipeline.Context) error {
			if p.Text("at") == "" {
				return diag.Usage("split: nothing to cut; expected split{at=\"op:matmul=k:4\"}")
			}
			r, err := Parse(p.Text("at"))
			if err != nil {
				return err
			}
			allow, err := p.Allow()
			if err != nil {
				return err
			}
			n, err := RunWhile(p.Graph, lib, allow, []Request{r}, p.Take)
			p.Count("parts", n)
			return err
		},
	}
}
