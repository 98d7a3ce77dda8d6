package split

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
)

func (c *cutter) refuse(n *ir.Node, in *instance.Instance, why string) error {
	c.why = why
	return diag.Errorf("TAP0814", "split", c.g.At(n, ""), "%s can not be cut along %s", c.whose, c.asked.Name).
		Want("an operation whose parts give partial results", fmt.Sprintf("kernel %s, and %s", in.Decl.Name, why))
}

// plain cuts an operation that is a reduction along a dim.
func (c *cutter) plain(n *ir.Node, p *plain, at []int64) ([]*ir.Node, error) {
	all, err := c.terms(n, p, at)
	if err != nil {
		return nil, err
	}
	rule := p.rule(c.allow, reduced.Ordered(p.reduce.Monoid, p.reduce.Type))
	if windowOf(p.in, p.dim) != nil && !c.may(windowRule, n.ID) || !c.may(rule, n.ID) {
		return nil, errLeft
	}
	s := &steps{c: c, n: n, in: p.in}
	b := &partial{s: s, p: p}
	if _, err := b.sum(all); err != nil {
		return nil, err
	}
	if s.err != nil {
		return nil, s.err
	}
	c.parts += len(b.parts)
	inputs := n.Body.(*tensorops.Operation).Inputs
	s.finish()
	c.unconverted(inputs)
	return b.parts, nil
}

// terms gives the parts of a reduction and how they are joined, or refuses.
func (c *cutter) terms(n *ir.Node, p *plain, at []int64) (*term, error) {
	extent := p.in.Dims[p.dim].Extent
	flat, from := &term{To: extent}, int64(0)
	for _, to := range append(slices.Clone(at), extent) {
		flat.Terms, from = append(flat.Terms, &term{From: from, To: to}), to
	}
	if !p.itself && !reduced.Ordered(p.reduce.Monoid, p.reduce.Type) || c.allow.Has(permission.Reassociate) {
		return flat, nil
	}
	t, ok := treeOf(p.in, p.dim, c.rangeOf)
	ok = ok && !p.itself && p.reduce.Type.IsFloat() && p.reduce.Monoid == scalar.Add
	if ok {
		if all := t.cut(extent, at, maxParts); all != nil {
			p.exact, p.tree = true, t
			return all, nil
		}
	}
	d := diag.Errorf("TAP0815", "split", c.g.At(n, ""), "%v gives the sums of %s other bits", c.asked, c.whose)
	if !ok {
		return nil, d.Want("the permission reassociate", "none, and a reduction whose order no cut keeps")
	}
	return nil, d.Want(t.where(extent), fmt.Sprintf("cuts at %v", at)).WithHint("the permission reassociate allows any cut")
}

// partial adds operations with partial results and what combines them.
type partial struct {
	s     *steps
	p     *plain
	parts []*ir.Node
}

// sum gives what a term is.
func (b *partial) sum(t *term) (ir.Selection, error) {
	switch len(t.Terms) {
	case 0:
		sel, why, err := b.s.c.part(b.p, b.s.n, t.From, t.To)
		if err == nil && why != "" {
			err = b.s.c.refuse(b.s.n, b.p.in, why)
		}
		b.parts = append(b.parts, b.s.c.last)
		return sel, err
	case 1:
		return b.sum(t.Terms[0])
	}
	var list []ir.Selection
	for _, x := range t.Terms {
		sel, err := b.sum(x)
		if err != nil {
			return sel, err
		}
		list = append(list, sel)
	}
	return b.combine(list), nil
}

// combining has the kernels that combine partial results one by one, first to last.
var combining = map[scalar.Op]string{scalar.Add: "op:add", scalar.Mul: "op:mul", scalar.Min: "op:min", scalar.Max: "op:max"}

// stacked has those that combine partial results behind one another along a new dimension.
var stacked = map[scalar.Op]string{scalar.And: "op:all", scalar.Or: "op:any"}

// combine adds the operations that combine partial results.
func (b *partial) combine(list []ir.Selection) ir.Selection {
	if kernel, ok := combining[b.p.reduce.Monoid]; ok && !b.p.itself {
		return b.s.add(kernel, nil, one("tensors", list...))
	}
	kernel := stacked[b.p.reduce.Monoid]
	if b.p.itself {
		kernel = "op:" + b.p.in.Decl.Name
	}
	all := b.s.add("op:stack", nil, one("tensors", list...))
	return b.s.add(kernel, ir.Attrs{}.With("dims", ir.IntsAttr(0)), one("tensor", all))
}
