package nest

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Padded is the left operand of a contraction whose accesses leave what is read of its buffer, and count as zero there: the image of a convolution
// with pads, which may be a part of the buffer. Code copies it with zeros around it before it multiplies.
type Padded struct {
	Dims   []PaddedDim  // of the copy, outermost first
	Live   zspace.Range // the coordinates in the buffer whose elements are read
	Buffer *schedule.Buffer
}

// PaddedDim is one dimension of a copy with zeros around.
type PaddedDim struct {
	Dim         int   // of the buffer
	First, Last int64 // coordinates that the loops reach
	Step        int64 // between neighbours in the copy, in elements
}

// Extent is the number of coordinates.
func (d PaddedDim) Extent() int64 { return d.Last - d.First + 1 }

// Elements is the size of the copy.
func (p *Padded) Elements() int64 { return SaturatingProduct(p.Dims[0].Step, p.Dims[0].Extent()) }

// paddedOperand finds the operand of a factor that is read within a box of its buffer and is 0 outside, as the factor's condition says, and that box.
func paddedOperand(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, e *scalar.Expr) (operand int, live zspace.Range, ok bool) {
	sums, ok := affine.Guards(e)
	if !ok || e.Args[2].Value.F != 0 || e.Args[2].Value.I != 0 {
		return 0, live, false
	}
	operand = e.Args[1].Ref
	h, ok := HullOf(k, buffers, operand)
	live = h.box()
	for _, at := range sums {
		ok = ok && narrow(live, k.Operands[operand].Access, at)
	}
	return operand, live, ok && (live.Empty() || h.buffer.Contains(live))
}

// narrow leaves of a box of coordinates those where a sum is at least 0, if that is a bound of a coordinate.
func narrow(box zspace.Range, access zspace.AffineMap, at affine.Sum) (ok bool) {
	for d, row := range access.Projection {
		coordinate := affine.Sum{Factors: row, Constant: access.Offset[d]}
		if start := coordinate.Plus(at, -1); start.IsConstant() {
			box.Start[d], ok = max(box.Start[d], start.Constant), true
		}
		if last := coordinate.Plus(at, 1); last.IsConstant() {
			box.End[d], ok = min(box.End[d], last.Constant+1), true
		}
	}
	return ok
}

// maxPadded bounds the elements of a copy.
const maxPadded = 1 << 26

// copyOf lays out the copy of an operand of which some elements are read, with the dimension that no free loop of its own moves along innermost, and
// gives the view of it.
func copyOf(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, operand int, live zspace.Range, free []int64, other View) (*Padded, View, bool) {
	o := k.Operands[operand]
	h, ok := HullOf(k, buffers, operand)
	if !ok || len(h.First) < 2 || live.Empty() {
		return nil, View{}, false
	}
	h.buffer = live
	inner := len(h.First) - 1
	for d, row := range o.Access.Projection {
		spatial, moved := false, false
		for l, f := range row {
			if f != 0 && !whole.Single(k.Loops[l]) {
				moved = true
				spatial = spatial || slices.Contains(free, int64(l)) && other.Steps[l] == 0
			}
		}
		if moved && !spatial {
			inner = d
		}
	}
	if h.Below(inner) || h.Above(inner) {
		return nil, View{}, false
	}
	p := &Padded{Live: live, Buffer: buffers[o.Buffer]}
	for d := range h.First {
		if d != inner {
			p.Dims = append(p.Dims, PaddedDim{Dim: d, First: h.First[d], Last: h.Last[d]})
		}
	}
	p.Dims = append(p.Dims, PaddedDim{Dim: inner, First: h.First[inner], Last: h.Last[inner]})
	v := View{Steps: make([]int64, len(k.Loops))}
	step := int64(1)
	for i := len(p.Dims) - 1; i >= 0; i-- {
		d := &p.Dims[i]
		d.Step = step
		step = SaturatingProduct(step, d.Extent())
		v.Base += (o.Access.Offset[d.Dim] - d.First) * d.Step
		for l, f := range o.Access.Projection[d.Dim] {
			v.Steps[l] += f * d.Step
		}
	}
	return p, v, p.Elements() <= maxPadded
}
