package lower

import (
	"context"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table, with the kernels that graphs may use.
func Pass(lib *kernels.Library) pipeline.Pass {
	return pipeline.Pass{
		Name: "lower", Doc: "Schedule every application as a kernel on a device.",
		Needs: pipeline.ApplicationExpression, Gives: pipeline.ScheduledKernels,
		After: []pipeline.Order{
			{Name: "shard", Reason: "kernels are made of the shards that there are"},
			{Name: "apply", Reason: "an operation without applications would not be computed"},
			{Name: "bind", Reason: "whether a tensor is an input decides where its buffer lives"},
		},
		Options: []pipeline.Option{{Name: "target", Doc: "what kernels run on: cpu or cuda", Type: pipeline.String, Default: "cpu"},
			pipeline.AllowOption},
		Run: func(_ context.Context, p *pipeline.Context) error {
			allow, err := p.Allow()
			if err != nil {
				return err
			}
			for _, t := range []schedule.DeviceType{schedule.CPU, schedule.CUDA} {
				if p.Text("target") == t.String() {
					return Run(p.Graph, lib, Options{Target: t, Allow: allow})
				}
			}
			return diag.Usage("lower{target=%s}: expected cpu or cuda", p.Text("target"))
		},
	}
}
