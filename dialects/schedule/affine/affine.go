// Package affine reads sums of multiples of a kernel's loops out of expressions, and conditions that are made of such sums.
//
// It must not know what a kernel is carried out as. Read next: dialects/schedule/nest.
package affine

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
)

// Sum is a sum of multiples of loop values, by the loops' numbers, and a constant.
type Sum struct {
	Factors  []int64
	Constant int64
}

// Factor gives the multiple of one loop's value.
func (a Sum) Factor(loop int) int64 {
	if loop < 0 || loop >= len(a.Factors) {
		return 0
	}
	return a.Factors[loop]
}

// Least gives the least value of a sum over a kernel's loops, with those in first at their start.
func (a Sum) Least(k *schedule.Kernel, first ...int) int64 {
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
func (a Sum) Equal(b Sum) bool {
	return a.Constant == b.Constant && slices.Equal(a.Factors, b.Factors)
}

// Guarded says whether a value is a load where the loops stand inside some borders, and a constant elsewhere.
func Guarded(e *scalar.Expr) bool {
	_, ok := Guards(e)
	return ok
}

// Guards gives the borders of a value that is Guarded: the load happens where all of the sums are at least 0.
func Guards(e *scalar.Expr) (sums []Sum, ok bool) {
	if e.Op != scalar.Where || e.Args[1].Op != scalar.Load || e.Args[2].Op != scalar.Const {
		return nil, false
	}
	return Borders(e.Args[0])
}

// Borders gives the sums that are all at least 0 where a condition of loops holds, if it is such a one.
func Borders(condition *scalar.Expr) (sums []Sum, ok bool) {
	loops := 0
	condition.Walk(func(e *scalar.Expr) bool {
		if e.Op == scalar.Loop {
			loops = max(loops, e.Ref+1)
		}
		return true
	})
	for _, c := range Conjuncts(condition, nil) {
		a, ok := AtLeastZero(c, loops)
		if !ok {
			return nil, false
		}
		sums = append(sums, a)
	}
	return sums, true
}

// Conjuncts adds the conditions that all hold where one does to a list.
func Conjuncts(e *scalar.Expr, list []*scalar.Expr) []*scalar.Expr {
	if e.Op == scalar.And && e.Type == scalar.Bool {
		return Conjuncts(e.Args[1], Conjuncts(e.Args[0], list))
	}
	return append(list, e)
}

// AtLeastZero reads a comparison of sums of loop values: as the sum that is at least 0.
func AtLeastZero(e *scalar.Expr, loops int) (Sum, bool) {
	if len(e.Args) != 2 {
		return Sum{}, false
	}
	a, ok := Of(e.Args[0], loops)
	b, good := Of(e.Args[1], loops)
	if !ok || !good {
		return Sum{}, false
	}
	switch e.Op {
	case scalar.Ge:
		return a.Plus(b, -1), true
	case scalar.Le:
		return b.Plus(a, -1), true
	case scalar.Gt:
		a.Constant--
		return a.Plus(b, -1), true
	case scalar.Lt:
		b.Constant--
		return b.Plus(a, -1), true
	}
	return Sum{}, false
}

// Plus adds a sum some times.
func (a Sum) Plus(b Sum, times int64) Sum {
	out := Sum{slices.Clone(a.Factors), a.Constant + times*b.Constant}
	for i, f := range b.Factors {
		out.Factors[i] += times * f
	}
	return out
}

// Of reads a sum of multiples of loop values, of int64.
func Of(e *scalar.Expr, loops int) (Sum, bool) {
	out := Sum{Factors: make([]int64, loops)}
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
	a, ok := Of(e.Args[0], loops)
	b, good := Of(e.Args[1], loops)
	if !ok || !good {
		return out, false
	}
	switch {
	case e.Op == scalar.Add:
		return a.Plus(b, 1), true
	case e.Op == scalar.Sub:
		return a.Plus(b, -1), true
	case b.IsConstant():
		return Sum{make([]int64, loops), 0}.Plus(a, b.Constant), true
	case a.IsConstant():
		return Sum{make([]int64, loops), 0}.Plus(b, a.Constant), true
	}
	return out, false
}

// IsConstant says whether a sum is the same for all loop values.
func (a Sum) IsConstant() bool {
	return !slices.ContainsFunc(a.Factors, func(f int64) bool { return f != 0 })
}
