// Package simplify holds the passes that make an Operation Expression smaller without a change of any observed value:
// simplify (algebra, composition of selectors, constant folding, epilogues), cse (equal operations become one) and dce
// (what nobody needs goes).
//
// All three are rules of package rewrite, most of them text in rules/. They also accept an Application Expression, where
// they remove operations with their shards but make no new ones. Pass rows are in pass.go. This package must not import a
// back end.
// Read next: rules/algebra.rules; docs/rewrites.md lists every rule.
package simplify

import (
	"context"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/rewrite"
)

// Run simplifies a graph in place with the built-in rules and, after them, those given. The result observes the same values but for
// what opt allows; see rewrite.Run for what stays.
func Run(ctx context.Context, g *ir.Graph, more []rewrite.Rule, opt rewrite.Options) (rewrite.Stats, error) {
	if _, err := RunEarly(ctx, g, false, opt); err != nil {
		return rewrite.Stats{}, err
	}
	return rewrite.Run(ctx, g, append(Rules(), more...), opt)
}

// CSE makes operations with the same kernel, parameters and inputs one, producers first, so that copies of whole
// subexpressions become one in one go. Tensors that are observed keep their own operation.
func CSE(ctx context.Context, g *ir.Graph, opt rewrite.Options) (rewrite.Stats, error) {
	return rewrite.Run(ctx, g, []rewrite.Rule{CSERule(g)}, opt)
}

// DCE removes operations and tensors that no observed value needs, see rewrite.RemoveDead, and then optional results that nobody reads. Where the graph states its outputs, those
// of the options become the only ones.
func DCE(ctx context.Context, g *ir.Graph, opt rewrite.Options) (rewrite.Stats, error) {
	if _, stated := tensorops.Interface(g); stated != ir.NoNode && len(opt.Outputs) > 0 {
		if err := tensorops.ChangeInterface(g, stated, func(list []tensorops.Named) []tensorops.Named { return chosen(g, list, opt.Outputs) }); err != nil {
			return rewrite.Stats{}, err
		}
	}
	restore := release(g)
	s, err := rewrite.RemoveDead(ctx, g, deadRule, opt)
	if err == nil {
		err = trim(g, opt, &s)
	}
	if err == nil && !s.OutOfFuel && !slices.Contains(opt.Disable, deadRule) {
		composite.RemoveUnused(g)
	}
	restore()
	return s, err
}

// release lets go of the operations behind sequence points, which are not observed, until those that are still there are named again.
func release(g *ir.Graph) (restore func()) {
	behind := map[*sequence.Point][]ir.NodeID{}
	for n := range g.Nodes() {
		if p, ok := n.Body.(*sequence.Point); ok {
			behind[p], p.Before = p.Before, slices.DeleteFunc(slices.Clone(p.Before), func(id ir.NodeID) bool { return tensorops.OperationOf(g, id) != nil })
		}
	}
	return func() {
		for p, list := range behind {
			p.Before = list
		}
		sequence.Forget(g)
	}
}

// chosen gives the outputs that have one of some names, or whose tensors have one of these labels; tensors of these labels that were
// no outputs are added.
func chosen(g *ir.Graph, list []tensorops.Named, names []string) []tensorops.Named {
	var out []tensorops.Named
	var taken ir.NodeSet
	for _, x := range list {
		taken.Add(x.Tensor)
		if slices.Contains(names, x.Name) || slices.Contains(names, g.Node(x.Tensor).Label) {
			out = append(out, x)
		}
	}
	for n := range g.Nodes() {
		if n.Body.Kind() == tensorops.TensorKind && !taken.Has(n.ID) && slices.Contains(names, n.Label) {
			out = append(out, tensorops.Named{Name: n.Label, Tensor: n.ID})
		}
	}
	return out
}
