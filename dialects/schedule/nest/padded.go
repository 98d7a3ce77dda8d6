package nest

import (
	"slices"

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
	for _, c := range conjuncts(e.Args[0], nil) {
		at, ok := atLeastZero(c, len(k.Loops))
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

// Affine is a sum of multiples of loop values, by the loops' numbers, and a constant.
type Affine struct {
	Factors  []int64
	Constant int64
}

// Factor gives the multiple of one loop's value.
func (a Affine) Factor(loop int) int64 {
	if loop < 0 || loop >= len(a.Factors) {
		return 0
	}
	return a.Factors[loop]
}

// Least gives the least value of a sum over a kernel's loops, with those in first at their start.
func (a Affine) Least(k *schedule.Kernel, first ...int) int64 {
	least := a.Constant
	for l, f := range a.Factors {
		if x := k.Loops[l]; slices.Contains(first, l) {
			least += f * x.Start
		} else {
			least += min(f*x.Start, f*(x.End-1))
		}
	}
	return least
}

// Equal says whether two sums are the same.
func (a Affine) Equal(b Affine) bool {
	return a.Constant == b.Constant && slices.Equal(a.Factors, b.Factors)
}

// border is a condition that an access is inside its buffer on one side of one dimension: the sum is at least 0.
type border struct {
	Affine
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
		low := Affine{slices.Clone(row), o.Access.Offset[d] - b.Range.Start[d]}
		high := Affine{make([]int64, len(row)), b.Range.End[d] - 1 - o.Access.Offset[d]}
		for l, f := range row {
			high.Factors[l] = -f
		}
		out = append(out, border{low, h.Below(d), false}, border{high, h.Above(d), false})
	}
	return out
}

func conjuncts(e *scalar.Expr, list []*scalar.Expr) []*scalar.Expr {
	if e.Op == scalar.And && e.Type == scalar.Bool {
		return conjuncts(e.Args[1], conjuncts(e.Args[0], list))
	}
	return append(list, e)
}

// atLeastZero reads a comparison of sums of loop values: as the sum that is at least 0.
func atLeastZero(e *scalar.Expr, loops int) (Affine, bool) {
	if len(e.Args) != 2 {
		return Affine{}, false
	}
	a, ok := SumOf(e.Args[0], loops)
	b, good := SumOf(e.Args[1], loops)
	if !ok || !good {
		return Affine{}, false
	}
	switch e.Op {
	case scalar.Ge:
		return a.plus(b, -1), true
	case scalar.Le:
		return b.plus(a, -1), true
	case scalar.Gt:
		a.Constant--
		return a.plus(b, -1), true
	case scalar.Lt:
		b.Constant--
		return b.plus(a, -1), true
	}
	return Affine{}, false
}

func (a Affine) plus(b Affine, times int64) Affine {
	out := Affine{slices.Clone(a.Factors), a.Constant + times*b.Constant}
	for i, f := range b.Factors {
		out.Factors[i] += times * f
	}
	return out
}

// SumOf reads a sum of multiples of loop values, of int64.
func SumOf(e *scalar.Expr, loops int) (Affine, bool) {
	out := Affine{Factors: make([]int64, loops)}
	if e.Type != scalar.Int64 {
		return out, false
	}
	switch e.Op {
	case scalar.Const:
		out.Constant = e.Value.I
		return out, true
	case scalar.Loop:
		out.Factors[e.Ref] = 1
		return out, true
	case scalar.Add, scalar.Sub, scalar.Mul:
	default:
		return out, false
	}
	a, ok := SumOf(e.Args[0], loops)
	b, good := SumOf(e.Args[1], loops)
	if !ok || !good {
		return out, false
	}
	switch {
	case e.Op == scalar.Add:
		return a.plus(b, 1), true
	case e.Op == scalar.Sub:
		return a.plus(b, -1), true
	case b.isConstant():
		return Affine{make([]int64, loops), 0}.plus(a, b.Constant), true
	case a.isConstant():
		return Affine{make([]int64, loops), 0}.plus(b, a.Constant), true
	}
	return out, false
}

func (a Affine) isConstant() bool {
	return !slices.ContainsFunc(a.Factors, func(f int64) bool { return f != 0 })
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
			if f != 0 && !single(k.Loops[l]) {
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
