package scan

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
)

// ordered says whether before compares what an operand holds at j with what it holds at i, in an order that sorting can follow (a
// strict weak order), and after is the same with i and j in each other's place.
func (r reader) ordered(before, after *scalar.Expr, i, j int) bool {
	var loads []int
	other := before.Any(func(e *scalar.Expr) bool {
		switch e.Op {
		case scalar.Load:
			if !slices.Contains(loads, e.Ref) {
				loads = append(loads, e.Ref)
			}
		case scalar.Const:
			return e.Type != scalar.Bool
		case scalar.IsNaN, scalar.Not, scalar.And, scalar.Or, scalar.Xor, scalar.Eq, scalar.Ne, scalar.Lt, scalar.Le, scalar.Gt, scalar.Ge, scalar.Where:
			// They only look at the order of the two values, of which a few examples show all cases.
		default:
			return true
		}
		return false
	})
	if other || len(loads) != 2 {
		return false
	}
	if r.k.Operands[loads[0]].Follows(i) {
		loads[0], loads[1] = loads[1], loads[0]
	}
	if !r.mirror(loads[0], loads[1], i, j) {
		return false
	}
	swapped := before.Map(func(e *scalar.Expr) *scalar.Expr {
		if e.Op != scalar.Load {
			return e
		}
		return scalar.NewLoad(loads[0]+loads[1]-e.Ref, e.Type)
	})
	return swapped.Equal(after) && strict(before, loads[0], loads[1], r.k.Operands[loads[0]].Type())
}

// mirror says whether two operands are the same, one along j and the other along i.
func (r reader) mirror(atJ, atI, i, j int) bool {
	a, b := r.k.Operands[atJ], r.k.Operands[atI]
	if a.Buffer != b.Buffer || !a.Access.Offset.Equal(b.Access.Offset) || r.k.Operands[atJ].Follows(i) || r.k.Operands[atI].Follows(j) || !r.k.Operands[atJ].Follows(j) {
		return false
	}
	for d, row := range a.Access.Projection {
		for l, f := range row {
			other := l
			switch l {
			case i:
				other = j
			case j:
				other = i
			}
			if f != b.Access.Projection[d][other] {
				return false
			}
		}
	}
	return true
}

// pair is an environment of two values.
type pair struct {
	a      int
	av, bv scalar.Value
}

func (p pair) Load(ref int) scalar.Value {
	if ref == p.a {
		return p.av
	}
	return p.bv
}
func (pair) Local(int) scalar.Value { return scalar.Value{} }
func (pair) Loop(int) int64         { return 0 }
func (pair) Over([]int, func())     {}

// strict says whether a comparison of the loads a and b is a strict weak order: irreflexive, transitive, and so is being
// neither before nor after. The examples have every order that three values can have.
func strict(before *scalar.Expr, a, b int, d scalar.DType) bool {
	var values []scalar.Value
	if d.IsFloat() {
		for _, f := range []float64{math.NaN(), -1, math.Copysign(0, -1), 0, 1, 2} {
			values = append(values, scalar.FloatValue(d, f))
		}
	} else if d.IsInt() {
		for _, x := range []int64{0, 1, 2} {
			values = append(values, scalar.IntValue(d, x))
		}
	}
	less := func(x, y scalar.Value) bool { return before.Eval(pair{a, x, y}).Bool() }
	same := func(x, y scalar.Value) bool { return !less(x, y) && !less(y, x) }
	for _, x := range values {
		for _, y := range values {
			for _, z := range values {
				if less(x, x) || less(x, y) && less(y, z) && !less(x, z) || same(x, y) && same(y, z) && !same(x, z) {
					return false
				}
			}
		}
	}
	return len(values) > 0
}
