package variants

import (
	"context"
	"fmt"

	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/choose"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/search/layouts"
)

// Choices is the row of branches of choices; without it, choices take their first.
const Choices = "choices"

func choices() Kind {
	return Kind{Name: Choices, Doc: "which branch a choice takes", On: "each choice that the graph holds open", Fuel: "branch", Priced: "by the graph that comes of it", Field: "choices", Most: 32,
		Else: "the first branch", Rest: func(n int) string { return counted(n, "choice") + " made as the first branch says" }, Open: openChoices, Make: choosing}
}

// openChoices gives the choices of a graph.
func openChoices(g *ir.Graph, _ *kernels.Library, _ *layouts.Settings) (all []Point, err error) {
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
		all = append(all, Point{Labels: []string{label}, Values: c.Names, Alike: fmt.Sprint(c.Names, c.Result.Range())})
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

// choosing puts branches in the place of choices; those in no decision take the first.
func choosing(ctx context.Context, v *Variant, taken []Taken) error {
	var picks []choose.Pick
	for _, t := range taken {
		for _, label := range t.Labels {
			branch := t.Values[t.Value]
			picks = append(picks, choose.Pick{Choice: label, Branch: branch})
			v.Plan.Choices = append(v.Plan.Choices, planfile.Choice{Choice: label, Branch: branch})
		}
	}
	if len(picks) == 0 && !v.Left {
		return nil
	}
	named, err := choose.Named(v.Graph, picks)
	if err != nil {
		return err
	}
	choose.First(v.Graph, named)
	_, err = choose.Run(ctx, v.Graph, named, rewrite.Options{Library: v.Library})
	return err
}
