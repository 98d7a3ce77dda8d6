package split

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// plain is an operation whose results are one reduction along a dim, and nothing goes on with what that gives. So
//
//	reduction over all of the dim  =  reductions over its parts, combined by the same operator
//
// and the operation of the same kernel on a part of its operands gives the reduction over that part.
type plain struct {
	in     *instance.Instance
	dim    int
	reduce *scalar.Expr
	itself bool // the results are combined by the kernel itself: it is associative, but no one operator
	exact  bool // parts keep to the tree of the whole
	tree   tree
}

// selfCombining are the kernels whose results combine by the kernel itself.
var selfCombining = []string{"log_sum_exp"}

// plainOf recognises such an operation; why says what else it is.
func plainOf(in *instance.Instance, dim int) (p *plain, why string) {
	var stored []instance.Statement
	var all []*scalar.Expr
	for _, s := range in.Statements {
		if s.Store >= 0 {
			stored = append(stored, s)
		}
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Reduce {
				all = append(all, e)
			}
			return true
		})
	}
	switch {
	case len(stored) != 1:
		return nil, "it has several results"
	case slices.Contains(stored[0].Over, dim):
		return nil, "results along it need all of it"
	case slices.Contains(selfCombining, in.Decl.Name):
		p = &plain{in: in, dim: dim, reduce: all[len(all)-1], itself: true}
	case len(all) != 1:
		return nil, "it has several reductions"
	case value(in, stored[0].Value) != all[0]:
		return nil, "it goes on with what is reduced"
	default:
		p = &plain{in: in, dim: dim, reduce: all[0]}
	}
	if d := p.reduce.Type; reduced.Rounded(p.reduce.Monoid, d) || p.itself && d != d.Wide() {
		return nil, fmt.Sprintf("its %v are combined in %v and rounded once", d, d.Wide())
	}
	return p, ""
}

// value follows names of values, and products with 1, to what they are.
func value(in *instance.Instance, e *scalar.Expr) *scalar.Expr {
	for {
		switch {
		case e.Op == scalar.Local:
			e = in.Statements[e.Ref].Value
		case e.Op == scalar.Mul && isOne(e.Args[1]):
			e = e.Args[0]
		default:
			return e
		}
	}
}

func isOne(e *scalar.Expr) bool {
	return e.Op == scalar.Const && e.Value.Same(scalar.Identity(scalar.Mul, e.Type))
}

// part adds the operation on the values from start to end of the dim, and gives its results. why is a reason why there is none: what it would read is no
// box, or the kernel does something else with a part of its operands.
func (c *cutter) part(p *plain, n *ir.Node, start, end int64) (sel ir.Selection, why string, err error) {
	op := n.Body.(*tensorops.Operation)
	inputs, err := p.inputs(op.Inputs, start, end)
	if err != nil {
		return sel, "", err
	}
	out := op.Outputs.At(0)
	like := tensorops.TensorOf(c.g, out.Sel[0].Tensor)
	t := c.tensor(n, like.DType, out.Sel[0].Range().Shape())
	sel = ir.Select(t.ID, t.Body.(*tensorops.Tensor).Range)
	params, w := op.Params, windowOf(p.in, p.dim)
	if w != nil {
		params = w.part(params, inputs, start, end)
	}
	c.converted(n, inputs)
	m := c.operation(n, op.Kernel, params, inputs, ir.PortsOf([]ir.Port{{Name: out.Name, Sel: []ir.Selection{sel}}}))
	in, err := c.lib.BindOperation(c.g, m.ID)
	if err != nil {
		return sel, "a part of its operands is none that the kernel takes", nil
	}
	c.last = m
	if w == nil {
		why = p.differs(in, start, end-start)
	} else if !w.fits(in, end-start) {
		why = other
	}
	if why == "" && p.exact && end-start > 1 {
		if t, ok := treeOf(in, p.dim, c.rangeOf); !ok || t != p.tree {
			why = "a part of it is carried out otherwise than the whole"
		}
	}
	return sel, why, nil
}

// inputs gives the boxes of the inputs that a part of the dim reads.
func (p *plain) inputs(whole ir.Ports, start, end int64) (ir.Ports, error) {
	box := p.in.Box()
	box.Start[p.dim], box.End[p.dim] = start, end
	ports := whole.Clone()
	for i, o := range p.in.Operands {
		if o.Decl.Out || o.View {
			continue
		}
		r, err := p.in.Reads(i, box)
		if err != nil {
			return ports, err
		}
		ports.Get(o.Port).Sel[o.Entry].SetRange(p.part(i, r))
	}
	return ports, nil
}

// part gives what a part of the dim reads of an operand: along dimensions of its tensor that do not follow the dim all of it is selected.
func (p *plain) part(operand int, reads zspace.Range) zspace.Range {
	o := p.in.Operands[operand]
	r := o.Sel.Range().Clone()
	for k, row := range o.Access.Projection {
		if row[p.dim] != 0 && !reads.Empty() {
			r.Start[k], r.End[k] = reads.Start[k], reads.End[k]
		}
	}
	return r
}

// differs says how what a kernel does with a part of its operands differs from a part of what it does with all: it must have the same dims but for
// the length of the one that is cut, the same statements, and read the same cells.
func (p *plain) differs(part *instance.Instance, start, length int64) string {
	if why := p.sized(part, length); why != "" || len(part.Operands) != len(p.in.Operands) || len(part.Statements) != len(p.in.Statements) {
		return other
	}
	for i, s := range part.Statements {
		w := p.in.Statements[i]
		if s.Store != w.Store || !slices.Equal(s.Over, w.Over) || !s.Value.Equal(w.Value) {
			return other
		}
	}
	for i, o := range part.Operands {
		if w := p.in.Operands[i]; !o.Decl.Out && !slices.Equal(p.cells(w.Access, start, length), p.cells(o.Access, 0, length)) {
			return other
		}
	}
	return ""
}

const other = "with a part of its operands the kernel computes something else"

// sized says how the dims of a part differ from those of the whole: only the one that is cut may, and must be so long.
func (p *plain) sized(part *instance.Instance, length int64) string {
	if len(part.Dims) != len(p.in.Dims) {
		return other
	}
	for i, d := range part.Dims {
		if want := p.in.Dims[i].Extent; i != p.dim && d.Extent != want || i == p.dim && d.Extent != length {
			return other
		}
	}
	return ""
}

// cells gives the numbers of an access whose dim begins at start and is so long; along dims of one value nothing moves.
func (p *plain) cells(a zspace.AffineMap, start, length int64) []int64 {
	var out []int64
	for k, row := range a.Projection {
		for d, x := range row {
			if p.in.Dims[d].Extent > 1 && (d != p.dim || length > 1) {
				out = append(out, x)
			}
		}
		out = append(out, a.Offset[k]+row[p.dim]*start)
	}
	return out
}
