package choose

import (
	"context"
	"strings"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// The policies by which choices are made that nobody names a branch of.
const (
	TakeFirst = "first"
	TakeCheap = "cost"
)

// Pass is the row of the pass table, with the kernels that graphs may use and what prices graphs on a machine.
func Pass(lib *kernels.Library, on func(m *machine.Machine) Price) pipeline.Pass {
	return pipeline.Pass{
		Name: Name, Doc: "Put a branch in the place of each choice that is open: the one that is named, the first, or that of the least price.",
		Rules:    func() []string { return []string{Name} },
		Standard: pipeline.Standard{Phase: pipeline.Choosing},
		Options: []pipeline.Option{
			pipeline.FuelOption,
			{Name: "plan", Doc: "the choices of a plan file (docs/plans.md); others stay open", Type: pipeline.Path, Fact: pipeline.Plans},
			{Name: "policy", Doc: "how the choices are made that nobody names a branch of: the first branch, or that of the least price", Type: pipeline.String,
				Words: []string{TakeFirst, TakeCheap}, Fact: pipeline.Choices},
			{Name: "at", Doc: "branches of choices by their labels, others stay open: y=product,z=steps", Type: pipeline.String},
			{Name: "machine", Doc: "machine that prices are for, one of those that tapc machine lists", Type: pipeline.String, Default: "laptop", Words: machine.Presets()},
		},
		Run: func(ctx context.Context, p *pipeline.Context) error {
			picks, err := picks(p.Text("at"), p.Text("plan"))
			if err != nil {
				return err
			}
			if p.Text("policy")+p.Text("at")+p.Text("plan") == "" {
				return diag.Usage("choose: nothing says what to choose; expected choose{policy=first}, choose{at=\"y=product\"} or choose{plan=FILE}")
			}
			return run(ctx, p, lib, picks, on)
		},
	}
}

func run(ctx context.Context, p *pipeline.Context, lib *kernels.Library, picks []Pick, on func(m *machine.Machine) Price) error {
	o := p.Rewrites()
	o.Library = lib
	named, err := Named(p.Graph, picks)
	if err != nil {
		return err
	}
	if p.Text("policy") == TakeFirst {
		First(p.Graph, named)
	}
	tell(p, p.Graph, named)
	s, err := Run(ctx, p.Graph, named, o)
	p.Count("operations removed", s.Removed)
	if err != nil || p.Text("policy") != TakeCheap {
		return err
	}
	m, err := machine.Preset(p.Text("machine"))
	if err != nil {
		return err
	}
	made, err := Cheapest(ctx, p.Graph, on(m), o)
	for _, x := range made {
		p.Log.Info(x.String())
	}
	return err
}

// tell says what was chosen, to who asks what passes do.
func tell(p *pipeline.Context, g *ir.Graph, named map[ir.NodeID]int) {
	for _, c := range list(g) {
		if at, ok := named[c.Op]; ok {
			p.Log.Info(Made{Choice: g.Name(c.Result.Tensor), Branch: c.Names[at]}.String())
		}
	}
}

// picks joins what the options of the pass name; those of "at" come last, and so replace others.
func picks(at, plan string) (out []Pick, err error) {
	if plan != "" {
		p, err := planfile.Read(plan)
		if err != nil {
			return nil, err
		}
		out = planned(p)
	}
	if at == "" {
		return out, nil
	}
	for text := range strings.SplitSeq(at, ",") {
		choice, branch, ok := strings.Cut(text, "=")
		if !ok || choice == "" || branch == "" {
			return nil, diag.Usage("choose{at=%q}: expected LABEL=BRANCH with commas between, found %q", at, text)
		}
		out = append(out, Pick{Choice: choice, Branch: branch})
	}
	return out, nil
}
