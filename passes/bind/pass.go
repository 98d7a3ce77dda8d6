package bind

import (
	"context"

	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table.
func Pass() pipeline.Pass {
	return pipeline.Pass{
		Name: "bind", Doc: "Make the inputs that have the name of a tensor in a data file constants.",
		Standard: pipeline.Standard{Phase: pipeline.Completing},
		Options:  []pipeline.Option{{Name: "file", Doc: "a .safetensors, .npz or .npy file", Type: pipeline.Path, Required: true, Fact: pipeline.Bindings}},
		Run: func(_ context.Context, p *pipeline.Context) error {
			n, err := Run(p.Graph, p.Text("file"))
			p.Count("bound", n)
			return err
		},
	}
}
