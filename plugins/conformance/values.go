package conformance

import (
	"context"
	"fmt"

	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/feed"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins/host"
)

func checkValues(ctx context.Context, s *Subject, t T) {
	s.each(ctx, t, func(x item, a *host.Answer) {
		if a.Unchanged {
			return
		}
		if err := sameValues(ctx, kernels.Builtin(), x.graph, a.Graph); err != nil {
			t.Errorf("%v: %v", x, err)
		}
	})
	p := s.start(ctx, t)
	if p == nil {
		return
	}
	defer p.Close()
	lib, err := library(p)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	rules := *p.Description
	rules.Passes = nil
	rows, err := host.Rows(&rules, nil, lib)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	for _, row := range rows {
		s.ruleValues(ctx, row, t)
	}
}

// ruleValues runs a set of rules over the corpus by tapc's own runner, which compares the values.
func (s *Subject) ruleValues(ctx context.Context, row pipeline.Pass, t T) {
	all, err := Corpus()
	if err != nil {
		t.Errorf("the corpus: %v", err)
		return
	}
	for _, g := range append(all, s.Graphs...) {
		if pipeline.StageOf(g) > pipeline.ApplicationExpression {
			continue
		}
		r := pipeline.Runner{Values: &pipeline.Values{Equal: func(ctx context.Context, before, after *ir.Graph, _ uint64) diag.List {
			if err := sameValues(ctx, kernels.Builtin(), before, after); err != nil {
				return diag.List{{Message: err.Error()}}
			}
			return nil
		}}}
		if _, err := r.Run(ctx, pipeline.Pipeline{Steps: []pipeline.Step{{Pass: &row}}}, g.Clone()); err != nil {
			t.Errorf("rules %s over %s: %v", row.Name, g.File, err)
		}
	}
}

// seed of the random inputs.
const seed = 1

// sameValues evaluates two graphs on the same random inputs and says in what they differ.
func sameValues(ctx context.Context, lib *kernels.Library, before, after *ir.Graph) error {
	want, err := evaluate(ctx, lib, before)
	if err != nil {
		return fmt.Errorf("the graph before can not be evaluated: %w", err)
	}
	got, err := evaluate(ctx, lib, after)
	if err != nil {
		return fmt.Errorf("the graph after can not be evaluated: %w", err)
	}
	for name, w := range want {
		x, ok := got[name]
		if !ok {
			return fmt.Errorf("the output %s is gone", name)
		}
		if err := reference.Compare(name, w, x); err != nil {
			return err
		}
	}
	return nil
}

func evaluate(ctx context.Context, lib *kernels.Library, g *ir.Graph) (map[string]tensorfile.Tensor, error) {
	in, err := feed.Inputs(g, func(_ int, x tensorops.Named, d scalar.DType, n int64) []byte { return rt.Random(d, seed, x.Name, n) })
	if err != nil {
		return nil, err
	}
	ev := reference.Evaluator{Library: lib, Unchecked: true, Constants: func(c tensorops.Const, _ *tensorops.Tensor) (tensorfile.Tensor, error) {
		return tensorfile.Tensor{}, fmt.Errorf("%s: the kit reads no data files", c.Key)
	}}
	return ev.Evaluate(ctx, g, in)
}

// describe writes a description as text.
func describe(d *host.Description) string {
	text := fmt.Sprintf("%s %s %s %d %s", d.Name, d.Version, d.Doc, d.Minor, d.SDK)
	for _, p := range d.Passes {
		text += fmt.Sprintf("\npass %s %s %v %v %v %v", p.Name, p.Doc, p.Needs, p.Upto, p.Gives, p.Options)
	}
	for _, x := range d.Rules {
		text += fmt.Sprintf("\nrules %s %s %s", x.Name, x.Doc, x.Text)
	}
	for _, x := range d.Kernels {
		text += fmt.Sprintf("\nkernels %s %s %s", x.Name, x.Doc, x.Text)
	}
	for _, b := range d.Backends {
		text += fmt.Sprintf("\nback end %s %s %v %v", b.Name, b.Doc, b.Devices, b.Options)
	}
	return text
}
