// Package affine reads integer expressions as affine sums over a box of dims, and decides conditions on them.
//
// The dims go from 0 to their extents. What depends on the extents alone is found: a remainder that takes nothing away, a minimum that is
// always the same side, a condition that holds everywhere. It must know nothing of kernels. Read next:
// dialects/tensorops/kernels/bind.
package affine

import (
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
)

// Sum is an affine sum of dims: Row·dims + Offset.
type Sum struct {
	Row    []int64
	Offset int64
}

// Extents are the extents of dims, each of which goes from 0.
type Extents []int64

// maxCoordinate bounds the values of sums, so that nothing here overflows.
const maxCoordinate = 1 << 60

// Sum reads an int64 expression as an affine sum of dims, if it is one for every point of the dims: divisions and
// remainders by constants may vanish because of the dims' extents, and a minimum or maximum may always be the same side.
func (b Extents) Sum(e *scalar.Expr) (Sum, bool) {
	if e.Type != scalar.Int64 {
		return Sum{}, false
	}
	switch e.Op {
	case scalar.Const:
		return b.bounded(Sum{make([]int64, len(b)), e.Value.I})
	case scalar.Loop:
		s := Sum{Row: make([]int64, len(b))}
		if b[e.Ref] != 1 { // a dim of one value stands at 0
			s.Row[e.Ref] = 1
		}
		return b.bounded(s)
	case scalar.Neg:
		s, ok := b.Sum(e.Args[0])
		return b.combine(Sum{make([]int64, len(b)), 0}, s, -1, ok)
	case scalar.Where:
		if c, ok := b.Decided(e.Args[0]); ok {
			return b.Sum(e.Args[2-int(c)])
		}
	}
	if len(e.Args) != 2 {
		return Sum{}, false
	}
	x, okX := b.Sum(e.Args[0])
	y, okY := b.Sum(e.Args[1])
	if !okX || !okY {
		return Sum{}, false
	}
	return b.operator(e.Op, x, y)
}

func (b Extents) operator(op scalar.Op, x, y Sum) (Sum, bool) {
	zero := Sum{make([]int64, len(b)), 0}
	switch op {
	case scalar.Add:
		return b.combine(x, y, 1, true)
	case scalar.Sub:
		return b.combine(x, y, -1, true)
	case scalar.Mul:
		if x.constant() {
			return b.combine(zero, y, x.Offset, true)
		}
		return b.combine(zero, x, y.Offset, y.constant())
	case scalar.Div:
		q, r, ok := b.divide(x, y)
		lo, _ := b.Hull(x)
		return q, ok && (lo >= 0 || r.Offset == 0 && r.constant())
	case scalar.Mod:
		_, r, ok := b.divide(x, y)
		return r, ok
	case scalar.Rem:
		_, r, ok := b.divide(x, y)
		lo, _ := b.Hull(x)
		return r, ok && lo >= 0
	case scalar.Min, scalar.Max:
		d, ok := b.combine(x, y, -1, true)
		lo, hi := b.Hull(d)
		switch {
		case ok && (op == scalar.Min && hi <= 0 || op == scalar.Max && lo >= 0):
			return x, true
		case ok && (op == scalar.Min && lo >= 0 || op == scalar.Max && hi <= 0):
			return y, true
		}
	}
	return Sum{}, false
}

// divide splits x into c·quotient + rest with a rest from 0 to c-1, for a positive constant c, if both are affine.
func (b Extents) divide(x, c Sum) (q, r Sum, ok bool) {
	if !c.constant() || c.Offset <= 0 {
		return q, r, false
	}
	n := c.Offset
	q, r = Sum{Row: make([]int64, len(x.Row))}, Sum{Row: make([]int64, len(x.Row))}
	for i, a := range x.Row {
		if a%n == 0 {
			q.Row[i] = a / n
		} else {
			r.Row[i] = a
		}
	}
	r.Offset = ((x.Offset % n) + n) % n
	q.Offset = (x.Offset - r.Offset) / n
	lo, hi := b.Hull(r)
	return q, r, lo >= 0 && hi < n
}

func (s Sum) constant() bool {
	return !slices.ContainsFunc(s.Row, func(a int64) bool { return a != 0 })
}

// combine gives x + factor·y within bounds.
func (b Extents) combine(x, y Sum, factor int64, ok bool) (Sum, bool) {
	if !ok || tooLarge(factor, y.Offset) {
		return Sum{}, false
	}
	out := Sum{make([]int64, len(x.Row)), x.Offset + factor*y.Offset}
	for i := range out.Row {
		if tooLarge(factor, y.Row[i]) {
			return Sum{}, false
		}
		out.Row[i] = x.Row[i] + factor*y.Row[i]
	}
	return b.bounded(out)
}

func tooLarge(a, b int64) bool { return a != 0 && abs(b) > maxCoordinate/max(1, abs(a)) }

func abs(a int64) int64 { return max(a, -a) }

// bounded refuses a sum that leaves the bounds somewhere.
func (b Extents) bounded(s Sum) (Sum, bool) {
	total := abs(s.Offset)
	for i, a := range s.Row {
		n := max(1, b[i])
		if total > maxCoordinate || a == -1<<63 || tooLarge(a, n) {
			return Sum{}, false
		}
		total += abs(a) * n
	}
	return s, total <= maxCoordinate
}

// Hull gives the least and the greatest value of a sum; a dim without values counts as one that stands at 0.
func (b Extents) Hull(s Sum) (lo, hi int64) {
	lo, hi = s.Offset, s.Offset
	for i, a := range s.Row {
		last := max(0, b[i]-1)
		if a < 0 {
			lo += a * last
		} else {
			hi += a * last
		}
	}
	return lo, hi
}

// Decided gives the value of a condition on dims, if it is the same everywhere.
func (b Extents) Decided(e *scalar.Expr) (value int64, ok bool) {
	switch e.Op {
	case scalar.Const:
		return e.Value.I, e.Type == scalar.Bool
	case scalar.Not:
		v, ok := b.Decided(e.Args[0])
		return 1 - v, ok
	case scalar.And, scalar.Or:
		return b.decidedPair(e)
	case scalar.Lt, scalar.Le, scalar.Gt, scalar.Ge, scalar.Eq, scalar.Ne:
		x, okX := b.Sum(e.Args[0])
		y, okY := b.Sum(e.Args[1])
		if !okX || !okY {
			return 0, false
		}
		d, ok := b.combine(x, y, -1, true)
		lo, hi := b.Hull(d)
		if !ok {
			return 0, false
		}
		return compared(e.Op, lo, hi)
	}
	return 0, false
}

func (b Extents) decidedPair(e *scalar.Expr) (int64, bool) {
	strong := int64(0) // decides an And
	if e.Op == scalar.Or {
		strong = 1
	}
	x, okX := b.Decided(e.Args[0])
	y, okY := b.Decided(e.Args[1])
	switch {
	case okX && x == strong || okY && y == strong:
		return strong, true
	case okX && okY:
		return 1 - strong, true
	}
	return 0, false
}

// compared decides whether a difference between lo and hi is < 0, ≤ 0 and so on.
func compared(op scalar.Op, lo, hi int64) (int64, bool) {
	switch op {
	case scalar.Lt:
		return truth(hi < 0), hi < 0 || lo >= 0
	case scalar.Le:
		return truth(hi <= 0), hi <= 0 || lo > 0
	case scalar.Gt:
		return truth(lo > 0), lo > 0 || hi <= 0
	case scalar.Ge:
		return truth(lo >= 0), lo >= 0 || hi < 0
	case scalar.Eq:
		return truth(lo == 0 && hi == 0), lo == 0 && hi == 0 || lo > 0 || hi < 0
	}
	return truth(lo > 0 || hi < 0), lo == 0 && hi == 0 || lo > 0 || hi < 0
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Expr writes a sum as an expression.
func (s Sum) Expr() *scalar.Expr {
	var e *scalar.Expr
	for i, a := range s.Row {
		if a == 0 {
			continue
		}
		term := scalar.NewLoop(i)
		if a != 1 {
			term = New(scalar.Mul, term, Number(a))
		}
		if e == nil {
			e = term
		} else {
			e = New(scalar.Add, e, term)
		}
	}
	switch {
	case e == nil:
		return Number(s.Offset)
	case s.Offset > 0:
		return New(scalar.Add, e, Number(s.Offset))
	case s.Offset < 0:
		return New(scalar.Sub, e, Number(-s.Offset))
	}
	return e
}

// New makes an operator whose arguments have the right types.
func New(op scalar.Op, args ...*scalar.Expr) *scalar.Expr {
	e, err := scalar.New(op, args...)
	if err != nil {
		panic(err)
	}
	return e
}

// Number is a constant of int64.
func Number(n int64) *scalar.Expr { return scalar.NewConst(scalar.IntValue(scalar.Int64, n)) }
