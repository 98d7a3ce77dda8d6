package tile

import (
	"context"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table.
func Pass() pipeline.Pass {
	return pipeline.Pass{
		Name: "tile", Doc: "Cut loops into tiles and bind them to vectors, threads, blocks and lanes.",
		Needs: pipeline.ScheduledKernels, Gives: pipeline.ScheduledKernels,
		After: []pipeline.Order{{Name: "fuse", Reason: "joined kernels have other loops than their parts"}},
		Rules: func() []string { return []string{"tile"} },
		Options: []pipeline.Option{pipeline.FuelOption, {Name: "precision", Type: pipeline.String, Default: schedule.Exact.String(),
			Doc: "what products of float32 may be computed from: exact or bf16, numbers rounded to bfloat16"},
			{Name: "fast-math", Type: pipeline.Bool, Default: "false", Doc: "NaN may be lost in least and greatest values, quotients be products, and convolutions run on transformed tiles"}},
		Run: func(_ context.Context, p *pipeline.Context) error {
			opt := Options{May: func(kernel ir.NodeID) bool { return p.Take("tile", kernel) }}
			var ok bool
			if opt.Precision, ok = schedule.ParsePrecision(p.Text("precision")); !ok {
				return diag.Usage("tile{precision=%s}: expected %s", p.Text("precision"), strings.Join(schedule.Precisions(), " or "))
			}
			opt.Fast = p.Bool("fast-math")
			Run(p.Graph, opt)
			return nil
		},
	}
}
