package recompute

import (
	"context"
	"strings"

	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table.
func Pass() pipeline.Pass {
	return pipeline.Pass{
		Name: Name, Doc: "Compute tensors again for each operation that reads them, but the first, in place of keeping them.",
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		After:    []pipeline.Order{{Name: "cse", Reason: "it makes one of operations that are equal"}, {Name: "choose", Reason: "a plan says what becomes of the branches that it takes"}},
		Options: []pipeline.Option{
			{Name: "plan", Doc: "what a plan file (docs/plans.md) recomputes", Type: pipeline.Path, Fact: pipeline.Plans},
			{Name: "at", Doc: "labels of tensors, with commas between", Type: pipeline.String},
		},
		Run: func(_ context.Context, p *pipeline.Context) error {
			requests, err := requests(p.Text("at"), p.Text("plan"))
			if err != nil {
				return err
			}
			n, err := Run(p.Graph, requests)
			p.Count("operations recomputed", n)
			return err
		},
	}
}

// requests joins what the options of the pass ask for.
func requests(at, plan string) (out []Request, err error) {
	if at == "" && plan == "" {
		return nil, diag.Usage("recompute: nothing to recompute; expected recompute{at=\"x,y\"} or recompute{plan=FILE}")
	}
	if plan != "" {
		p, err := planfile.Read(plan)
		if err != nil {
			return nil, err
		}
		out = Requests(p)
	}
	for label := range strings.SplitSeq(at, ",") {
		if label = strings.TrimSpace(label); label != "" {
			out = append(out, Request{Tensor: label})
		}
	}
	return out, nil
}

// Requests gives what a plan recomputes.
func Requests(p *planfile.Plan) (out []Request) {
	for _, x := range p.Recompute {
		out = append(out, Request(x))
	}
	return out
}
