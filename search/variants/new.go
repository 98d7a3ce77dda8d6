package variants

import (
	"context"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/choose"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/search/layouts"
)

// New makes the space of a graph. Parts of it and of its variants are those that settings name.
func New(ctx context.Context, g *ir.Graph, lib *kernels.Library, s layouts.Settings) (*Space, error) {
	x := &Space{}
	all, err := open(g)
	if err != nil {
		return nil, err
	}
	if slices.Contains(s.Parts, Choices) {
		x.decide(all)
	} else {
		x.left = len(all)
	}
	n := 1
	for _, d := range x.decisions {
		n *= len(d.values)
	}
	for i := range n {
		v, err := x.make(ctx, i, g, lib, s)
		if err != nil {
			return nil, err
		}
		x.variants = append(x.variants, v)
	}
	x.number()
	for _, v := range x.variants {
		x.mutators = append(x.mutators, v.Mutators())
	}
	return x, nil
}

// choice is an open choice of the graph, with the label by which a plan names it.
type choice struct {
	label, alike string
	names        []string
}

// open gives the choices of a graph, those that others depend on first.
func open(g *ir.Graph) (all []choice, err error) {
	for _, id := range ir.NewFlow(g, tensorops.OperationKind).Order(g) {
		if !tensorops.OperationOf(g, id).IsChoice() {
			continue
		}
		c, bad := tensorops.ChoiceOf(g, id)
		if bad != nil {
			return nil, bad
		}
		label := g.Node(c.Result.Tensor).Label
		if label == "" {
			label = g.Node(c.Op).Label
		}
		if label == "" || named(g, label) != 1 {
			return nil, diag.Errorf("TAP2991", "plan", g.At(g.Node(id), ""), "a plan can not say which branch %s takes", g.Name(id)).
				Want("a choice or a result with a label of its own", fmt.Sprintf("%q", label))
		}
		all = append(all, choice{label, fmt.Sprint(c.Names, c.Result.Range()), c.Names})
	}
	return all, nil
}

// named counts the choices that a label names.
func named(g *ir.Graph, label string) (n int) {
	for node := range g.Nodes() {
		if op, ok := node.Body.(*tensorops.Operation); ok && op.IsChoice() {
			if c, bad := tensorops.ChoiceOf(g, node.ID); bad == nil && (node.Label == label || g.Node(c.Result.Tensor).Label == label) {
				n++
			}
		}
	}
	return n
}

// decide makes decisions of choices: one of each or, where that gives too many variants, one of those that have the same branches and results of one shape, as in
// layers that repeat. What is too many then takes the first branch.
func (x *Space) decide(all []choice) {
	product := 1
	for _, c := range all {
		product = min(product*len(c.names), Most+1)
	}
	groups := map[string]int{}
	variants := 1
	for _, c := range all {
		key := c.label
		if product > Most {
			key = c.alike
		}
		if i, ok := groups[key]; ok {
			x.decisions[i].labels = append(x.decisions[i].labels, c.label)
			continue
		}
		if variants*len(c.names) > Most {
			x.left++
			continue
		}
		variants *= len(c.names)
		groups[key] = len(x.decisions)
		x.decisions = append(x.decisions, decision{[]string{c.label}, c.names})
	}
}

// make makes a variant by its number, as the passes do that carry a plan out.
func (x *Space) make(ctx context.Context, n int, g *ir.Graph, lib *kernels.Library, s layouts.Settings) (*layouts.Space, error) {
	var picks []choose.Pick
	for i := len(x.decisions) - 1; i >= 0; i-- {
		d := &x.decisions[i]
		for _, label := range d.labels {
			picks = append(picks, choose.Pick{Choice: label, Branch: d.values[n%len(d.values)]})
		}
		n /= len(d.values)
	}
	if len(picks)+x.left > 0 {
		g = g.Clone()
		named, err := choose.Named(g, picks)
		if err != nil {
			return nil, err
		}
		choose.First(g, named)
		if _, err := choose.Run(ctx, g, named, rewrite.Options{Library: lib}); err != nil {
			return nil, err
		}
	}
	return layouts.New(g, lib, s)
}

// number gives genes of variants their numbers: those of one name with as many values are one.
func (x *Space) number() {
	for _, d := range x.decisions {
		x.genes = append(x.genes, len(d.values))
	}
	numbers := map[string]int{}
	for _, v := range x.variants {
		var at []int
		taken := map[int]bool{}
		for i, values := range v.Genes() {
			key := fmt.Sprint(v.GeneName(i), " ", values)
			n, ok := numbers[key]
			if !ok || taken[n] {
				n = len(x.genes)
				numbers[key] = n
				x.genes = append(x.genes, values)
			}
			taken[n] = true
			at = append(at, n)
		}
		x.at = append(x.at, at)
	}
}
