// Package choose puts a branch in the place of each choice that a graph holds open (docs/choices.md): the one that is named, the first, or the one
// that is thought to take the least time.
//
// It must not import another pass; what prices branches is given to it. Read next: cone.go, what of a graph a branch takes.
package choose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/rewrite"
)

// Pick names a branch of the choices whose operation or result has a label. From says where it was asked for.
type Pick struct {
	Choice, Branch string
	From           diag.Location
}

// Price gives the seconds that a graph of operations is thought to take.
type Price func(ctx context.Context, g *ir.Graph) (float64, error)

// Made is what became of a choice.
type Made struct {
	Choice  string // how messages name it
	Branch  string
	Seconds []float64 // of each branch, where prices decided
}

// Named finds the branches that picks name. Each must name a choice of the graph and one of its branches.
func Named(g *ir.Graph, picks []Pick) (map[ir.NodeID]int, error) {
	out := map[ir.NodeID]int{}
	for _, p := range picks {
		found, labels := false, []string{}
		for _, c := range list(g) {
			own, result := g.Node(c.Op).Label, g.Node(c.Result.Tensor).Label
			labels = append(labels, result)
			if p.Choice != own && p.Choice != result {
				continue
			}
			found = true
			at := slices.Index(c.Names, p.Branch)
			if at < 0 {
				return nil, p.fault("TAP0852", "choice %q has no branch %q", p.Choice, p.Branch).Want("one of "+strings.Join(c.Names, ", "), p.Branch)
			}
			out[c.Op] = at
		}
		if !found {
			return nil, p.fault("TAP0851", "the graph has no choice %q", p.Choice).Want("the label of a choice or of its result: "+some(labels), p.Choice)
		}
	}
	return out, nil
}

func (p Pick) fault(code, format string, args ...any) diag.Diagnostic {
	return diag.Errorf(code, "choose", p.From, format, args...)
}

// some lists labels, the first few of them.
func some(labels []string) string {
	const most = 8
	labels = slices.DeleteFunc(labels, func(s string) bool { return s == "" })
	switch {
	case len(labels) == 0:
		return "there is none"
	case len(labels) > most:
		return strings.Join(labels[:most], ", ") + ", …"
	}
	return strings.Join(labels, ", ")
}

// list gives the choices of a graph, those that others depend on first.
func list(g *ir.Graph) (all []tensorops.Choice) {
	for _, id := range ir.NewFlow(g, tensorops.OperationKind).Order(g) {
		if op := tensorops.OperationOf(g, id); op.IsChoice() {
			if c, bad := tensorops.ChoiceOf(g, id); bad == nil {
				all = append(all, c)
			}
		}
	}
	return all
}

// First adds the first branch of every choice that has none yet.
func First(g *ir.Graph, picks map[ir.NodeID]int) {
	for _, c := range list(g) {
		if _, ok := picks[c.Op]; !ok {
			picks[c.Op] = 0
		}
	}
}

// Cheapest makes the choices that have no branch yet one after the other, those that others depend on first: of each the branch whose operations, those that nothing outside of the choice needs,
// take the least time, of equals the first. It changes the graph, as Run does.
func Cheapest(ctx context.Context, g *ir.Graph, price Price, opt rewrite.Options) ([]Made, error) {
	var made []Made
	for {
		all := list(g)
		if len(all) == 0 {
			return made, nil
		}
		c, best := all[0], 0
		m := Made{Choice: g.Name(c.Result.Tensor)}
		for i := range c.Branches {
			t, err := priceOf(ctx, g, c, i, price)
			if err != nil {
				return made, err
			}
			m.Seconds = append(m.Seconds, t)
			if t < m.Seconds[best] {
				best = i
			}
		}
		m.Branch = c.Names[best]
		s, err := Run(ctx, g, map[ir.NodeID]int{c.Op: best}, opt)
		if err != nil || s.OutOfFuel || s.Applied == 0 {
			return made, err
		}
		made = append(made, m)
	}
}

// priceOf is the time of a branch's own operations.
func priceOf(ctx context.Context, g *ir.Graph, c tensorops.Choice, branch int, price Price) (float64, error) {
	cone := Cone(g, c, branch)
	if cone.Len() == 0 {
		return 0, nil
	}
	t, err := price(ctx, cone)
	if err != nil {
		d := diag.Errorf("TAP0853", "choose", g.At(g.Node(c.Op), ""), "branch %q of %s has no price: %v", c.Names[branch], g.Name(c.Op), err)
		return 0, d.WithHint("policy=first and the names of branches need no prices")
	}
	return t, nil
}

// Run puts branches in the place of choices, by number.
func Run(ctx context.Context, g *ir.Graph, picks map[ir.NodeID]int, opt rewrite.Options) (rewrite.Stats, error) {
	s, err := rewrite.Run(ctx, g, []rewrite.Rule{rule(picks, itself)}, opt)
	if err != nil || s.OutOfFuel || len(picks) == s.Applied {
		return s, err
	}
	more, err := rewrite.Run(ctx, g, []rewrite.Rule{rule(picks, copied)}, opt) // those of outputs whose branches can not become the output
	s.Applied, s.Removed = s.Applied+more.Applied, s.Removed+more.Removed
	return s, err
}

// Planned makes the choices of a plan, and of others takes the first branch.
func Planned(ctx context.Context, g *ir.Graph, plan *planfile.Plan, opt rewrite.Options) error {
	named, err := Named(g, planned(plan))
	if err != nil {
		return err
	}
	First(g, named)
	_, err = Run(ctx, g, named, opt)
	return err
}

// planned gives the choices of a plan.
func planned(plan *planfile.Plan) (out []Pick) {
	for _, c := range plan.Choices {
		out = append(out, Pick(c))
	}
	return out
}

// Name is what rewrites that make choices are called.
const Name = "choose"

func rule(picks map[ir.NodeID]int, put func(s *rewrite.Site, result, branch ir.Selection) rewrite.Operand) rewrite.Rule {
	return rewrite.Rule{Name: Name, Class: rewrite.Semantic, Roots: []string{"choice"}, Source: "Go",
		Text:    "One of the branches in the place of a choice.",
		Because: "all branches give the same values, up to what was allowed",
		Match: func(s *rewrite.Site) (rewrite.Result, bool) {
			at, ok := picks[s.Node.ID]
			c, bad := tensorops.ChoiceOf(s.Graph, s.Node.ID)
			if !ok || bad != nil || at >= len(c.Branches) {
				return rewrite.Result{}, false
			}
			return rewrite.One(put(s, c.Result, c.Branches[at])), true
		}}
}

func itself(_ *rewrite.Site, _, branch ir.Selection) rewrite.Operand {
	return rewrite.Operand{Sel: branch}
}

func copied(s *rewrite.Site, result, branch ir.Selection) rewrite.Operand {
	return rewrite.Operand{New: &rewrite.Op{Kernel: s.Name("copy"),
		Inputs:  []rewrite.Input{{Port: "tensor", Args: []rewrite.Operand{{Sel: branch}}}},
		Outputs: []rewrite.Output{{Port: "result", DType: s.Tensor(result.Tensor).DType, Range: result.Range()}}}}
}

// String says which branch was taken, and what prices said.
func (m Made) String() string {
	if m.Seconds == nil {
		return fmt.Sprintf("%s: %s", m.Choice, m.Branch)
	}
	return fmt.Sprintf("%s: %s, of %.3g seconds", m.Choice, m.Branch, m.Seconds)
}
