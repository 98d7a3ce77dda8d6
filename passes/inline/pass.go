package inline

import (
	"context"
	"strings"

	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table.
func Pass() pipeline.Pass {
	return pipeline.Pass{
		Name: Name, Doc: "Put the steps of definitions in the place of the operations that use them, and remove definitions that nobody uses.",
		Rules:    func() []string { return []string{Name} },
		Standard: pipeline.Standard{Phase: pipeline.Choosing},
		Options: []pipeline.Option{
			pipeline.FuelOption,
			{Name: "keep", Doc: "definitions whose uses stay, with commas between", Type: pipeline.String, Fact: pipeline.Composites},
			{Name: "only", Doc: "definitions whose uses alone are replaced, with commas between", Type: pipeline.String},
		},
		Run: func(_ context.Context, p *pipeline.Context) error {
			s, err := Run(p.Graph, Options{Only: names(p.Text("only")), Keep: names(p.Text("keep")), Take: p.Take})
			p.Count("operations", s.Made)
			p.Count("definitions removed", s.Removed)
			return err
		},
	}
}

func names(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
