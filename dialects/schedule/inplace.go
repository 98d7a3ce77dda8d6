package schedule

import (
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Underlying gives the buffer in whose memory a buffer is: itself, or the one that it lies over.
func Underlying(g *ir.Graph, id ir.NodeID) ir.NodeID {
	if n := g.Node(id); n != nil {
		if b, ok := n.Body.(*Buffer); ok && b.Over != ir.NoNode {
			return b.Over
		}
	}
	return id
}

// Aliased says whether a transfer copies nothing, as both of its buffers are in one memory.
func (t *Transfer) Aliased(g *ir.Graph) bool { return Underlying(g, t.From) == Underlying(g, t.To) }

// From is how many bytes from the start of another buffer of the same strides this one starts, whose cells are among the other's.
func (b *Buffer) From(o *Buffer) (bytes int64) {
	for d, stride := range o.Strides {
		bytes += (b.Range.Start[d] - o.Range.Start[d]) * stride
	}
	return bytes * int64(b.Type().Size())
}

// Updates says whether a buffer is an output over an input, whose cells it updates.
func (b *Buffer) Updates() bool { return b.Over != ir.NoNode && b.Space == Output }

// Aliases says whether a buffer lies over another one otherwise: their cells are the same ones of a tensor.
func (b *Buffer) Aliases() bool { return b.Over != ir.NoNode && !b.Updates() }

// InArena says whether a buffer has bytes of the arena: not where it lies over another one.
func (b *Buffer) InArena() bool { return b.Space == Arena && b.Over == ir.NoNode }

// Update is a statement that stores to an output over an input. Where its value is the cell of the input that it stores over, it changes
// nothing: Keep are the operands that read these cells, at the same coordinates.
type Update struct {
	Statement int
	Keep      []int
}

// UpdateOf gives the update of a kernel that stores to an output over an input. Ok is false if cells that it stores over must not change while it
// runs: it reduces them, or looks at other cells than the one that it stores at a point. What is reduced is reduced before a point is stored, and all points are stored once.
func UpdateOf(k *Kernel, output, input ir.NodeID) (u Update, ok bool) {
	store := slices.IndexFunc(k.Operands, func(o Operand) bool { return o.Buffer == output && o.Mode == Write })
	u.Statement = slices.IndexFunc(k.Statements, func(s Statement) bool { return store >= 0 && s.Store == int64(store) })
	if u.Statement < 0 {
		return u, false
	}
	for i, o := range k.Operands {
		if o.Buffer == input && o.Mode == Read && k.sameCells(i, store) {
			u.Keep = append(u.Keep, i)
		}
	}
	kept, reduced := u.uses(k)
	for i, s := range k.Statements {
		switch {
		case i != u.Statement && s.Store >= 0 && k.Operands[s.Store].Buffer == output, k.loads(s, input, u.Keep),
			s.Store >= 0 && (reduced[i] || kept[i] && i != u.Statement):
			return u, false
		}
	}
	return u, true
}

// loads says whether a statement loads cells of a buffer through other operands than these.
func (k *Kernel) loads(s Statement, buffer ir.NodeID, but []int) (found bool) {
	s.Value.Walk(func(e *scalar.Expr) bool {
		found = found || e.Op == scalar.Load && k.Operands[e.Ref].Buffer == buffer && !slices.Contains(but, e.Ref)
		return true
	})
	return found
}

// uses says which statements are computed of the cells that are kept, and which reduce them.
func (u Update) uses(k *Kernel) (kept, reduced []bool) {
	kept, reduced = make([]bool, len(k.Statements)), make([]bool, len(k.Statements))
	var walk func(statement int, e *scalar.Expr, inside bool)
	walk = func(i int, e *scalar.Expr, inside bool) {
		inside = inside || e.Op == scalar.Reduce
		cell := e.Op == scalar.Load && slices.Contains(u.Keep, e.Ref) || e.Op == scalar.Local && kept[e.Ref]
		kept[i] = kept[i] || cell
		reduced[i] = reduced[i] || cell && inside || e.Op == scalar.Local && reduced[e.Ref]
		for _, a := range e.Args {
			walk(i, a, inside)
		}
	}
	for i, s := range k.Statements {
		walk(i, s.Value, false)
	}
	return kept, reduced
}

// Writes says whether a kernel stores to a buffer.
func (k *Kernel) Writes(buffer ir.NodeID) bool {
	return slices.ContainsFunc(k.Operands, func(o Operand) bool { return o.Buffer == buffer && o.Mode == Write })
}

// Keeps says whether a kernel, which stores to an output over an input, changes nothing at all: all that it does is to store each cell over itself.
func (k *Kernel) Keeps(output, input ir.NodeID) bool {
	u, ok := UpdateOf(k, output, input)
	if !ok || slices.ContainsFunc(k.Operands, func(o Operand) bool { return o.Mode == Write && o.Buffer != output }) {
		return false
	}
	return u.Kept(k, k.Statements[u.Statement].Value)
}

// Kept says whether a value is the cell that it is stored over, as it is.
func (u Update) Kept(k *Kernel, e *scalar.Expr) bool {
	for e.Op == scalar.Local {
		e = k.Statements[e.Ref].Value
	}
	return e.Op == scalar.Load && slices.Contains(u.Keep, e.Ref)
}

// KeepsAll is as Keeps, for the output over an input that a kernel stores to, if it does.
func (k *Kernel) KeepsAll(buffers map[ir.NodeID]*Buffer) bool {
	for _, o := range k.Operands {
		if b := buffers[o.Buffer]; o.Mode == Write && b != nil && b.Updates() {
			return k.Keeps(o.Buffer, b.Over)
		}
	}
	return false
}

// sameCells says whether two operands are the same cell at every point of the loops.
func (k *Kernel) sameCells(a, b int) bool {
	x, y := k.Operands[a].Access, k.Operands[b].Access
	for d, row := range x.Projection {
		at := x.Offset[d] - y.Offset[d]
		for l, f := range row {
			switch f -= y.Projection[d][l]; {
			case f == 0:
			case k.Loops[l].Extent() > 1:
				return false
			default:
				at += f * k.Loops[l].Start
			}
		}
		if at != 0 {
			return false
		}
	}
	return true
}
