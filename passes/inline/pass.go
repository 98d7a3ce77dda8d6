package inline

import (
	"context"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Passes gives the rows of the pass table, with the kernels that graphs may use: inline, and the same for what was cut first.
func Passes(lib *kernels.Library) (before, cut pipeline.Pass) {
	row := func(name, doc string, phase pipeline.Phase, keep pipeline.Fact) pipeline.Pass {
		return pipeline.Pass{
			Name: name, Doc: doc, Upto: pipeline.ApplicationExpression,
			Rules:    func() []string { return []string{Name} },
			Standard: pipeline.Standard{Phase: phase},
			Options: []pipeline.Option{
				pipeline.FuelOption,
				{Name: "keep", Doc: "definitions whose uses stay, with commas between", Type: pipeline.String, Fact: keep},
				{Name: "only", Doc: "definitions whose uses alone are replaced, with commas between", Type: pipeline.String},
			},
			Run: func(_ context.Context, p *pipeline.Context) error {
				s, err := Run(p.Graph, Options{Library: lib, Only: names(p.Text("only")), Keep: names(p.Text("keep")), Take: p.Take})
				p.Count("operations", s.Made)
				p.Count("definitions removed", s.Removed)
				return err
			},
		}
	}
	const doc = "Put the steps of definitions in the place of the operations that use them, and remove definitions that nobody uses."
	return row(Name, doc, pipeline.Choosing, pipeline.Composites),
		row(Name+"-cut", doc+"\n\nIt is inline once more, for operations that were cut into shards first: these become shards of the steps.", pipeline.Lowering, pipeline.CutComposites)
}

func names(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
