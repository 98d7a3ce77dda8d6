package nest

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule/affine"
	"tensortapestry.org/tapc/dialects/schedule/whole"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Padded is the left operand of a contraction whose accesses leave its buffer, and count as zero there: the image of a convolution
// with pads. Code copies it with zeros around it before it multiplies.
type Padded struct {
	Dims []PaddedDim // of the copy, outermost first
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

// paddedOperand finds the operand of a factor that is read inside its buffer and is 0 outside, and checks that the factor's
// condition says just that.
func paddedOperand(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, e *scalar.Expr) (int, bool) {
	if e.Op != scalar.Where || e.Args[1].Op != scalar.Load || e.Args[2].Op != scalar.Const || e.Args[2].Value.F != 0 || e.Args[2].Value.I != 0 {
		return 0, false
	}
	ref := e.Args[1].Ref
	want := borders(k, buffers, ref)
	for _, c := range affine.Conjuncts(e.Args[0], nil) {
		at, ok := affine.AtLeastZero(c, len(k.Loops))
		if !ok {
			return 0, false
		}
		i := slices.IndexFunc(want, func(w border) bool { return w.Equal(at) })
		if i < 0 {
			return 0, false
		}
		want[i].found = true
	}
	return ref, !slices.ContainsFunc(want, func(w border) bool { return w.reached && !w.found })
}

// border is a condition that an access is inside its buffer on one side of one dimension: the sum is at least 0.
type border struct {
	affine.Sum
	reached bool // the loops go beyond
	found   bool
}

func borders(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, operand int) []border {
	h, ok := HullOf(k, buffers, operand)
	if !ok {
		return nil
	}
	o := k.Operands[operand]
	b := buffers[o.Buffer]
	var out []border
	for d, row := range o.Access.Projection {
		low := affine.Sum{Factors: slices.Clone(row), Constant: o.Access.Offset[d] - b.Range.Start[d]}
		high := affine.Sum{Factors: make([]int64, len(row)), Constant: b.Range.End[d] - 1 - o.Access.Offset[d]}
		for l, f := range row {
			high.Factors[l] = -f
		}
		out = append(out, border{low, h.Below(d), false}, border{high, h.Above(d), false})
	}
	return out
}

// maxPadded bounds the elements of a copy.
const maxPadded = 1 << 26

// copyOf lays out the copy of a padded operand, with the dimension that no free loop of its own moves along innermost, and
// gives the view of it.
func copyOf(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, operand int, free []int64, other View) (*Padded, View, bool) {
	o := k.Operands[operand]
	h, ok := HullOf(k, buffers, operand)
	if !ok || len(h.First) < 2 {
		return nil, View{}, false
	}
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
	p := &Padded{}
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
