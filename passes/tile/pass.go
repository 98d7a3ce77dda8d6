package tile

import (
	"context"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table. Kernels get configs for the targets of some choosers, which it compares by the model of a machine for these, if one is named.
func Pass(model func(machine string, choosers []Chooser) (cost.Model, error), choosers ...Chooser) pipeline.Pass {
	return pipeline.Pass{
		Name: "tile", Doc: "Choose how each kernel is carried out on each target, and record that as its config; on a GPU, bind loops to blocks and lanes.",
		Needs: pipeline.ScheduledKernels, Gives: pipeline.ScheduledKernels,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		After:    []pipeline.Order{{Name: "fuse", Reason: "joined kernels have other loops than their parts"}},
		Rules:    func() []string { return []string{"tile"} },
		Options: []pipeline.Option{pipeline.FuelOption, {Name: "for", Type: pipeline.String, Fact: pipeline.Processors,
			Doc: "what to decide for: targets of configs, with commas between, such as cpu_v32_r16_l512k (default: what the back ends decide for)"}, pipeline.CostModelOption},
		Run: func(_ context.Context, p *pipeline.Context) error {
			choosers, err := Chosen(choosers, p.Text("for"))
			if err != nil {
				return err
			}
			opt := Options{May: func(kernel ir.NodeID) bool { return p.Take("tile", kernel) }, Choosers: choosers}
			if opt.Model, err = model(p.Text(pipeline.CostModelOption.Name), choosers); err != nil {
				return err
			}
			return Run(p.Graph, opt)
		},
	}
}

// Chosen gives the choosers of some targets by name, with commas between, or all if none is named.
func Chosen(all []Chooser, names string) ([]Chooser, error) {
	if names == "" {
		return all, nil
	}
	var out []Chooser
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(c Chooser) bool { return c.Named(name) != nil })
		if i < 0 {
			return nil, diag.Usage("tile{for=%q}: %q is no target that kernels have configs for: expected such as sm_80, or cpu_v64_r32_l1024k (bytes of a vector, vector registers, second cache)", names, name)
		}
		out = append(out, all[i].Named(name))
	}
	return out, nil
}
