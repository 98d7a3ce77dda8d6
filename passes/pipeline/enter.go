package pipeline

import (
	"context"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/rewrite"
)

// must is a list of semantic rewrites with what they are applied with.
type must struct {
	rules []rewrite.Rule
	opt   rewrite.Options
}

// Must says that what some rules match has to be rewritten before the graph becomes one of a later stage: those of the rules that are semantic
// rewrites. Where one still applies then, because it was disabled, fuel had run out or later passes made what it matches, the run ends with an error.
func (c *Context) Must(rules []rewrite.Rule, o rewrite.Options) {
	rules = slices.DeleteFunc(slices.Clone(rules), func(r rewrite.Rule) bool { return r.Class != rewrite.Semantic })
	if len(rules) > 0 {
		o.Fuel, o.Disable, o.Trace = &rewrite.Fuel{}, nil, nil
		c.with(func(r *run) { r.result.musts = append(r.result.musts, must{rules, o}) })
	}
}

// enter checks that a graph may become one of a later stage: nothing is open, and no semantic rewrite is left to do.
func (r *Result) enter(ctx context.Context, s *Step) error {
	if s.Pass.Gives == ScheduledKernels && r.Stage < ScheduledKernels {
		if err := inlined(r.Graph, s); err != nil {
			return err
		}
	}
	if r.Stage > OperationExpression || s.Pass.Gives <= r.Stage {
		return nil
	}
	g := r.Graph
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && op.IsChoice() {
			return diag.Errorf("TAP0505", s.Pass.Name, g.At(n, ""), "%s is open, and pass %s makes a graph of %v", g.Name(n.ID), s.Pass.Name, s.Pass.Gives).
				Want("a branch in its place", "a choice").WithHint("choose{policy=first} before it takes the first branch of every choice")
		}
	}
	for _, m := range r.musts {
		if err := m.check(ctx, g, s); err != nil {
			return err
		}
	}
	return nil
}

// inlined checks that no operation uses a definition.
func inlined(g *ir.Graph, s *Step) error {
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && op.IsComposite() {
			return diag.Errorf("TAP0196", s.Pass.Name, g.At(n, "/body/kernel"), "%s uses a definition, and pass %s makes a graph of %v", g.Name(n.ID), s.Pass.Name, s.Pass.Gives).
				Want("operations of kernels", op.Kernel).WithHint("the pass inline puts the steps of the definition in the place of the operation")
		}
	}
	return nil
}

// check looks for a place where a rule applies.
func (m must) check(ctx context.Context, g *ir.Graph, s *Step) error {
	stats, err := rewrite.Run(ctx, g, m.rules, m.opt)
	if err != nil || stats.Next == nil {
		return err
	}
	return diag.Errorf("TAP0506", s.Pass.Name, g.At(g.Node(stats.Next.Root), ""), "rule %s must be applied before pass %s", stats.Next.Rule, s.Pass.Name).
		Want("a graph of "+OperationExpression.String()+" in which nothing matches it", g.Name(stats.Next.Root)).
		WithHint("the rule is written in %s", stats.Next.Source)
}
