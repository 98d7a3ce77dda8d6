package nest

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// The left operand of a low-precision contraction can be left unpacked, as in an implicit GEMM: it is read in runs of neighbours along the
// reduction, as those of an image are whose channels are innermost, in its buffer or in the copy that Factors.Padded describes. So a convolution's windows
// are never written out.

const (
	unpackedRun  = 16      // shorter runs of neighbours along the reduction are made longer by a copy
	unpackedCols = 4       // fewer columns do not pay for vectors of them
	pagedStep    = 4 << 10 // rows that are a multiple of this many bytes apart push each other out of the first cache
	directRows   = 4       // unless there are so few
)

// Run is the length of the reduction that stands in one piece in the left operand: the extent of its innermost dimension.
func (n *LowPrecision) Run() int64 { return n.C.InnerReduction() }

// Length is the length of the reduction.
func (n *LowPrecision) Length() int64 { return Points(n.C.Reduction) }

// readable says whether the left operand has elements as the instructions take them: bytes without sign, or bfloat16.
func (n *LowPrecision) readable() bool {
	return n.LeftType == scalar.UInt8 || n.LeftType == scalar.BFloat16
}

// sides sorts the factors: what is multiplied with a constant is the left operand, and the constant, which is copied in groups when
// the program is built, the right one.
func (n *LowPrecision) sides(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, x, y groupedFactor) (left, right groupedFactor, ok bool) {
	constant := func(f groupedFactor) bool { return Prepackable(buffers[k.Operands[f.ref].Buffer]) }
	if constant(x) {
		x, y = y, x
	}
	n.setSides(x, y)
	n.C.Constant.Right = true
	return x, y, constant(y) && !constant(x) && y.open == nil && x.ref != y.ref && used(k, x.ref, n.Seldom.side()) == 1 && used(k, y.ref, n.Seldom.side()) == 1 && n.evenZeros(k)
}

// unpacked recognises a contraction whose left operand can be read in its own buffer, in runs that are long enough.
func (n *LowPrecision) unpacked(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, free []int64, x, y groupedFactor) bool {
	left, right, ok := n.sides(k, buffers, x, y)
	if !ok || left.open != nil || !n.readable() || !Inside(k, buffers, left.ref) || !n.unpackedRoles(k, free, left.ref, right.ref) {
		return false
	}
	step := abs(n.C.Row.Step(n.C.Views[n.C.Left])) * int64(n.LeftType.Size())
	return (n.Run() >= unpackedRun || n.Run() == n.Length()) && (step%pagedStep != 0 || n.C.Row.Extent <= directRows)
}

// copied recognises a contraction whose left operand a window slides over, or that has zeros around it: it is read in a copy with
// its zero point around, if that is one for all of it.
func (n *LowPrecision) copied(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, free []int64, x, y groupedFactor) bool {
	x, y, ok := n.sides(k, buffers, x, y)
	if !ok {
		return false
	}
	live := reached(k, buffers, x.ref)
	if x.open != nil {
		guarded := scalar.Must(scalar.Where, x.open, scalar.NewLoad(x.ref, x.typ), scalar.NewConst(scalar.Zero(x.typ)))
		if _, live, ok = paddedOperand(k, buffers, guarded); !ok || n.LeftZero != nil && n.varies(k, n.LeftZero, func(int) bool { return true }) {
			return false
		}
	} else if !Inside(k, buffers, x.ref) {
		return false
	}
	return copies(n.C, k, buffers, free, x.ref, live, y.ref) && n.unpackedRoles(k, free, x.ref, y.ref)
}

// transposed recognises what copied does if the results are neighbours along the rows: turning the sums costs less than copying what the
// rows are of in groups, with the reduction in steps.
func (n *LowPrecision) transposed(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, free []int64, x, y groupedFactor) bool {
	return n.copied(k, buffers, free, x, y) && n.C.Transposed
}

// unpackedRoles sorts the loops: those of the results that the left operand follows are rows, those that the right one follows
// columns. The left operand has to stand in one piece along some of the reduction.
func (n *LowPrecision) unpackedRoles(k *schedule.Kernel, free []int64, left, right int) bool {
	c := n.C
	store, ok := c.stored(k)
	if !ok {
		return false
	}
	c.Left, c.Right = left, right
	c.sortLoops(k, free, store)
	c.mergeReduction(k)
	if c.Col.Extent < unpackedCols || len(c.Reduction) == 0 || c.Reduction[len(c.Reduction)-1].Step(c.Views[left]) != 1 {
		return false
	}
	n.Unpacked, c.Transposed = true, c.Col.Step(store) != 1 && c.Row.Step(store) == 1
	return true
}
