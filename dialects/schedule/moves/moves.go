// Package moves says which of a schedule's results are only moved: copied from elsewhere, without arithmetic on elements.
//
// It knows statements and buffers, and no kernel by name. Read next: passes/fuse, which lets readers read what was moved where it was.
package moves

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Bytes is how many bytes the kernels of a graph write that they only moved. Elements that kernels put in order for themselves, as products
// do, are not among them, nor are fills, which read nothing.
func Bytes(g *ir.Graph) int64 {
	total := int64(0)
	for n := range g.Nodes() {
		if k, ok := n.Body.(*schedule.Kernel); ok {
			total += Of(k)
		}
	}
	return total
}

// Of is how many bytes a kernel writes that it only moved.
func Of(k *schedule.Kernel) int64 {
	total := int64(0)
	for i, moved := range Statements(k) {
		if s := &k.Statements[i]; moved && s.Store >= 0 {
			total += points(k, s.Over) * int64(k.Operands[s.Store].Type().Size())
		}
	}
	return total
}

// points is how many points some loops have.
func points(k *schedule.Kernel, over []int64) int64 {
	n := int64(1)
	for _, l := range over {
		n *= max(k.Loops[l].Extent(), 0)
	}
	return n
}

// Statements says of each statement of a kernel whether its value is an element that is read, or one of several by a condition, or a
// constant instead of some. Coordinates and conditions may be worked out from loops; a condition may also be an element.
func Statements(k *schedule.Kernel) []bool {
	out, values := make([]bool, len(k.Statements)), make(values, len(k.Statements))
	for i, s := range k.Statements {
		values[i] = values.of(s.Value)
		out[i] = values[i] == value{reads: true, moved: true}
	}
	return out
}

// value is what is known of an expression: whether it reads elements, and whether it is one, or a constant.
type value struct{ reads, moved bool }

// values are those of statements.
type values []value

func (v values) of(e *scalar.Expr) value {
	switch {
	case e.Op == scalar.Load:
		return value{true, true}
	case e.Op == scalar.Const:
		return value{false, true}
	case e.Op == scalar.Local:
		return v[e.Ref]
	case e.IsAt():
		return v.of(e.Args[0])
	}
	out := value{moved: e.Op == scalar.Where}
	for i, a := range e.Args {
		x := v.of(a)
		out.reads = out.reads || x.reads
		out.moved = out.moved && (x.moved || i == 0 && !x.reads)
	}
	return out
}
