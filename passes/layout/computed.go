package layout

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	factor "tensortapestry.org/tapc/dialects/schedule/nest/computed"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// use is an operand of a kernel; without both it is a transfer's.
type use struct {
	*schedule.Kernel
	*schedule.Operand
}

// computed puts the dimension of an intermediate innermost along which all who read it want vectors, if every element is computed of constants,
// whose order is free: weights that are unpacked before they are multiplied, or copied for experts that data choose. Products want the columns of
// their right factors so, which are then read in place, or copied row by row.
type computed struct {
	*chooser
	buffers         map[ir.NodeID]*schedule.Buffer
	writes, readers map[ir.NodeID][]use
}

// computed gives the buffers that it put in another order. Kernels come behind those that they wait for, so readers have their order first.
func (c *chooser) computed() (changed []ir.NodeID) {
	w := &computed{c, whole.Buffers(c.g), map[ir.NodeID][]use{}, map[ir.NodeID][]use{}}
	var written []ir.NodeID
	for n := range c.g.Nodes() {
		switch b := n.Body.(type) {
		case *schedule.Kernel:
			for i := range b.Operands {
				if o := &b.Operands[i]; o.Mode == schedule.Write {
					w.writes[o.Buffer] = append(w.writes[o.Buffer], use{b, o})
					written = append(written, o.Buffer)
				} else {
					w.readers[o.Buffer] = append(w.readers[o.Buffer], use{b, o})
				}
			}
		case *schedule.Transfer:
			w.readers[b.From] = append(w.readers[b.From], use{})
			w.writes[b.To] = append(w.writes[b.To], use{})
		}
	}
	for _, id := range slices.Backward(written) {
		if dim := w.wanted(id); dim >= 0 && w.buffers[id].Strides[dim] != 1 && w.ofConstants(id, dim) {
			innermost(w.buffers[id], dim)
			changed = append(changed, id)
		}
	}
	return changed
}

// wanted gives the dimension of a buffer along which all that read it want vectors, or -1.
func (c *computed) wanted(id ir.NodeID) int {
	dim := -1
	for i, r := range c.readers[id] {
		d := -1
		if r.Kernel != nil {
			d = c.along(r)
		}
		if i > 0 && d != dim {
			return -1
		}
		dim = d
	}
	return dim
}

// along gives the dimension of an operand that is read which its kernel wants innermost, or -1.
func (c *computed) along(r use) int {
	forms := nest.Classify(r.Kernel, c.buffers).Allowed(r.Allow)
	loop := lane(r.Kernel, c.buffers)
	if p, ok := nest.Of[*nest.Contraction](forms); ok {
		if len(p.Col.Loops) != 1 || !ofRight(p, r) {
			return -1
		}
		loop = p.Col.Loops[0]
	} else if ordersFactors(forms) {
		return -1
	}
	if loop < 0 {
		return -1
	}
	return only(r.Kernel, r.Operand, loop)
}

// ofRight says whether an operand is the right factor of a contraction, or what that is computed of.
func ofRight(c *nest.Contraction, r use) bool {
	for i := range r.Operands {
		if &r.Operands[i] == r.Operand {
			return i == c.Right || factor.Reads(c.Computed, i)
		}
	}
	return false
}

// ofConstants says whether a buffer may have a dimension innermost since what its one writer reads along that is a constant, or a buffer
// of which the same is true and whose readers agree. Sums keep the order that they have.
func (c *computed) ofConstants(id ir.NodeID, dim int) bool {
	b := c.buffers[id]
	if len(c.writes[id]) != 1 || c.writes[id][0].Kernel == nil || b.Space != schedule.Arena || c.fixed.Has(id) || c.ordered.Has(c.all(id)) || c.onGrid(b) || !b.RowMajor() || smaller(b) {
		return false
	}
	w := c.writes[id][0]
	loops := loopsOf(w.Kernel, w.Operand, dim)
	if len(loops) != 1 || slices.ContainsFunc(w.Statements, func(s schedule.Statement) bool { return reduces(s.Value) }) {
		return false
	}
	found := false
	for i := range w.Operands {
		o := &w.Operands[i]
		if o == w.Operand {
			continue
		}
		if o.Mode == schedule.Write {
			return false
		}
		if !o.Follows(loops[0]) {
			continue
		}
		d := only(w.Kernel, o, loops[0])
		if d < 0 || c.buffers[o.Buffer].Space != schedule.Constant && !(c.agreed(o.Buffer, d) && c.ofConstants(o.Buffer, d)) {
			return false
		}
		found = true
	}
	return found
}

// agreed says whether all that read a buffer want a dimension innermost, once what they write has the order that its own readers want.
func (c *computed) agreed(id ir.NodeID, dim int) bool {
	return !slices.ContainsFunc(c.readers[id], func(r use) bool { return r.Kernel == nil || c.through(r) != dim })
}

// through gives the dimension of an operand that is read which moves along what the readers of its kernel's result want innermost, or -1.
func (c *computed) through(r use) int {
	for i := range r.Operands {
		o := &r.Operands[i]
		if o.Mode != schedule.Write {
			continue
		}
		if dim := c.wanted(o.Buffer); dim >= 0 {
			if loops := loopsOf(r.Kernel, o, dim); len(loops) == 1 {
				return only(r.Kernel, r.Operand, loops[0])
			}
		}
	}
	return c.along(r)
}

// reduces says whether an expression has a sum or the like.
func reduces(e *scalar.Expr) bool {
	found := false
	e.Walk(func(e *scalar.Expr) bool { found = found || e.Op == scalar.Reduce && !e.IsAt(); return !found })
	return found
}
