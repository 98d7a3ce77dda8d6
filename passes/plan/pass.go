package plan

import (
	"context"

	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table.
func Pass() pipeline.Pass {
	return pipeline.Pass{
		Name: "plan", Doc: "Place the buffers of each device in as little memory as their lives allow.",
		Needs: pipeline.ScheduledKernels, Gives: pipeline.ScheduledKernels,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		After:    []pipeline.Order{{Name: "fuse", Reason: "fusion removes buffers"}},
		Run: func(_ context.Context, p *pipeline.Context) error {
			peaks, err := Run(p.Graph)
			for _, bytes := range peaks {
				p.Count("bytes", int(bytes))
			}
			return err
		},
	}
}
