package lower

import (
	"context"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table, with the kernels that graphs may use.
func Pass(lib *kernels.Library) pipeline.Pass {
	return pipeline.Pass{
		Name: "lower", Doc: "Schedule every application as a kernel on a device.",
		Needs: pipeline.ApplicationExpression, Gives: pipeline.ScheduledKernels,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		After: []pipeline.Order{
			{Name: "shard", Reason: "kernels are made of the shards that there are"},
			{Name: "apply", Reason: "an operation without applications would not be computed"},
			{Name: "bind", Reason: "whether a tensor is an input decides where its buffer lives"},
		},
		Options: []pipeline.Option{{Name: "target", Doc: "what kernels run on: " + strings.Join(schedule.DeviceWords(), " or "), Type: pipeline.String, Default: schedule.Host.String(), Words: schedule.DeviceWords(), Fact: pipeline.Target},
			pipeline.AllowOption},
		Run: func(_ context.Context, p *pipeline.Context) error {
			allow, err := p.Allow()
			if err != nil {
				return err
			}
			target, _ := schedule.DeviceNamed(p.Text("target")) // it is one of the words
			return Run(p.Graph, lib, Options{Target: target, Allow: allow})
		},
	}
}
