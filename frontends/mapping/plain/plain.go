// Package plain says a program of tapc's kernels as other vocabularies can: without checks, of whole tensors, and with all parameters of a call
// written down.
//
// It knows no rules and no vocabulary, and must not import frontends/mapping, which writes what is left.
package plain

import (
	"context"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/rewrite"
)

// WithoutChecks gives a graph without its checks, and what only these need: operators with the same checks stand for the rest.
func WithoutChecks(ctx context.Context, g *ir.Graph, lib *kernels.Library) (*ir.Graph, error) {
	var checks []ir.NodeID
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && op.IsCheck() {
			checks = append(checks, n.ID)
		}
	}
	if len(checks) == 0 {
		return g, nil
	}
	c := g.Clone()
	for _, id := range checks {
		c.Remove(id)
	}
	_, err := rewrite.RemoveDead(ctx, c, "dce", rewrite.Options{Library: lib})
	return c, err
}

// Parameters gives all parameters of a call, axes counted from the front. A kernel that an equation declares has only those that are given.
func Parameters(decl *declaration.Kernel, c infer.Call) (ir.Attrs, error) {
	in, err := bind.Instance(decl, c)
	if err != nil || decl.Equation != "" {
		return c.Params, err
	}
	var out ir.Attrs
	for _, a := range decl.Attrs {
		v, ok := in.Params[a.Name]
		if a.Type == declaration.AxisAttr && v.Int < 0 {
			v = ir.IntAttr(v.Int + axisRank(decl, c, a))
		}
		if ok {
			out = out.With(a.Name, v)
		}
	}
	return out, nil
}

// axisRank gives the rank that a negative axis counts from the end of: that of the operand that has most dimensions among those that the axis
// parts in two.
func axisRank(decl *declaration.Kernel, c infer.Call, a declaration.Attr) int64 {
	most := 0
	for _, o := range decl.Operands {
		of := func(group string) bool {
			return slices.ContainsFunc(o.Index, func(x declaration.IndexItem) bool { return x.Group == group })
		}
		if !of(a.Of) || !of(a.Then) {
			continue
		}
		for _, p := range slices.Concat(c.Inputs, c.Outputs) {
			if slices.Contains(o.Names, p.Name) && len(p.Sel) > 0 {
				most = max(most, p.Sel[0].Sel.Range().Rank())
			}
		}
	}
	return int64(most)
}
