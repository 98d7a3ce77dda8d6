package nest

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// LowPrecision is a contraction of bfloat16, or of bytes less their zero points, as dot-product instructions carry out: they add products of
// two neighbours along the reduction of the one, or four of the other, to an accumulator of float32 or int32. Both operands are packed in groups of
// four bytes along the reduction, which has one dimension then, unless the left operand is unpacked.
type LowPrecision struct {
	C                   *Contraction // as any other
	Group               int64        // values of the reduction in a group: 2 of bfloat16, 4 of bytes
	LeftZero, RightZero *scalar.Expr // what is subtracted from the bytes, of int32; nil for nothing
	LeftType, RightType scalar.DType // what the operands hold
	Seldom              *Seldom      // what some results are computed from besides, or nil
	Unpacked            bool         // the left operand is read in runs, from its buffer or from a copy with zeros around
}

// FindLowPrecision recognises a low-precision contraction. Numbers of float32 count as bfloat16, see Rounds.
func FindLowPrecision(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) (*LowPrecision, bool) {
	c := &Contraction{}
	n := &LowPrecision{C: c, Seldom: SeldomOf(k)}
	if !findProducts(c, k, n.Seldom.side()) {
		return nil, false
	}
	a, b := c.Sum.Args[0].Args[0], c.Sum.Args[0].Args[1]
	x, okX := n.factor(k, a)
	y, okY := n.factor(k, b)
	if !okX || !okY || x.group != y.group {
		return nil, false
	}
	n.Group = x.group
	c.Views = Views(k, buffers)
	free := k.Statements[c.Statement].Over
	for _, form := range []func(*schedule.Kernel, map[ir.NodeID]*schedule.Buffer, []int64, groupedFactor, groupedFactor) bool{n.unpacked, n.transposed, n.packed, n.copied} {
		whole := *c
		if form(k, buffers, free, x, y) {
			return n, true
		}
		*c, n.Unpacked = whole, false
	}
	return nil, false
}

// packed recognises a contraction whose operands are copied in groups: a product of matrices.
func (n *LowPrecision) packed(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, free []int64, x, y groupedFactor) bool {
	c := n.C
	if x.open != nil || y.open != nil || !c.roles(k, free, x.ref, y.ref) {
		return false
	}
	if c.Left != x.ref {
		x, y = y, x
	}
	n.setSides(x, y)
	c.findConstants(k, buffers)
	return len(c.Reduction) == 1 && Inside(k, buffers, c.Left) && Inside(k, buffers, c.Right) && n.evenZeros(k)
}

// setSides notes what the left and the right factor are.
func (n *LowPrecision) setSides(left, right groupedFactor) {
	n.LeftZero, n.RightZero, n.LeftType, n.RightType = left.zero, right.zero, left.typ, right.typ
}

// Rounds says whether the contraction is one of float32 numbers, rounded.
func (n *LowPrecision) Rounds() bool {
	return n.LeftType == scalar.Float32 || n.RightType == scalar.Float32
}

// groupedFactor is one side of the products.
type groupedFactor struct {
	ref   int
	typ   scalar.DType // of the operand
	zero  *scalar.Expr
	group int64
	open  *scalar.Expr // where it is false the factor is 0; nil is always true
}

// factor reads one side of the products: a number of bfloat16, perhaps as float32, one of float32 that may be rounded, or a byte
// as int32, perhaps less a zero point; each perhaps 0 where a condition on loops does not hold.
func (n *LowPrecision) factor(k *schedule.Kernel, e *scalar.Expr) (groupedFactor, bool) {
	f := groupedFactor{group: 2}
	e = f.guarded(e)
	switch n.C.Sum.Type {
	case scalar.BFloat16:
	case scalar.Float32:
		switch {
		case e.Op == scalar.Cast && e.Args[0].Type == scalar.BFloat16:
			e = f.guarded(e.Args[0])
		case e.Type != scalar.Float32:
			return f, false
		}
	case scalar.Int32:
		f.group = 4
		if e.Op == scalar.Sub {
			f.zero = e.Args[1]
			e = e.Args[0]
		}
		if e.Op != scalar.Cast {
			return f, false
		}
		e = f.guarded(e.Args[0])
		if e.Type != scalar.Int8 && e.Type != scalar.UInt8 {
			return f, false
		}
	default:
		return f, false
	}
	f.ref, f.typ = e.Ref, e.Type
	return f, e.Op == scalar.Load
}

// guarded takes the condition off a factor that is 0 where it does not hold. A number under the same condition once more is
// whatever it is elsewhere.
func (f *groupedFactor) guarded(e *scalar.Expr) *scalar.Expr {
	switch {
	case e.Op != scalar.Where || !ofLoops(e.Args[0]):
		return e
	case f.open != nil && f.open.Equal(e.Args[0]):
		return e.Args[1]
	case f.open != nil || !isZero(e.Args[2]) || f.zero != nil:
		return e
	}
	f.open = e.Args[0]
	return e.Args[1]
}

// evenZeros says whether the zero points are the same all along the reduction, and the number zero is none.
func (n *LowPrecision) evenZeros(k *schedule.Kernel) bool {
	for _, z := range []**scalar.Expr{&n.LeftZero, &n.RightZero} {
		other := func(e *scalar.Expr) bool { return e.Op == scalar.Loop || e.Op == scalar.Local || e.Op == scalar.Reduce }
		switch v := *z; {
		case v == nil:
		case v.Any(other) || n.varies(k, v, func(l int) bool { return slices.Contains(n.C.Sum.Over, l) }):
			return false
		case isZero(v) || v.Op == scalar.Cast && isZero(v.Args[0]):
			*z = nil
		}
	}
	return true
}

// varies says whether a zero point is read from elsewhere along one of some loops.
func (n *LowPrecision) varies(k *schedule.Kernel, zero *scalar.Expr, along func(loop int) bool) bool {
	return zero.Any(func(e *scalar.Expr) bool {
		for l, loop := range k.Loops {
			if e.Op == scalar.Load && loop.Extent() != 1 && along(l) && n.C.Views[e.Ref].Steps[l] != 0 {
				return true
			}
		}
		return false
	})
}

func isZero(e *scalar.Expr) bool { return e.Op == scalar.Const && e.Value.I == 0 && e.Value.F == 0 }
