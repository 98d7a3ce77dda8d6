package kernels

import (
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
)

// sum is an affine sum of dims: row·dims + off.
type sum struct {
	row []int64
	off int64
}

// maxCoordinate bounds the values of sums, so that nothing here overflows.
const maxCoordinate = 1 << 60

// affine reads an int64 expression as an affine sum of dims, if it is one for every point of the dims: divisions and
// remainders by constants may vanish because of the dims' extents, and a minimum or maximum may always be the same side.
func (b *binder) affine(e *scalar.Expr) (sum, bool) {
	if e.Type != scalar.Int64 {
		return sum{}, false
	}
	switch e.Op {
	case scalar.Const:
		return b.bounded(sum{make([]int64, len(b.in.Dims)), e.Value.I})
	case scalar.Loop:
		s := sum{row: make([]int64, len(b.in.Dims))}
		if b.in.Dims[e.Ref].Extent != 1 { // a dim of one value stands at 0
			s.row[e.Ref] = 1
		}
		return b.bounded(s)
	case scalar.Neg:
		s, ok := b.affine(e.Args[0])
		return b.combine(sum{make([]int64, len(b.in.Dims)), 0}, s, -1, ok)
	case scalar.Where:
		if c, ok := b.decided(e.Args[0]); ok {
			return b.affine(e.Args[2-int(c)])
		}
	}
	if len(e.Args) != 2 {
		return sum{}, false
	}
	x, okX := b.affine(e.Args[0])
	y, okY := b.affine(e.Args[1])
	if !okX || !okY {
		return sum{}, false
	}
	return b.affineOp(e.Op, x, y)
}

func (b *binder) affineOp(op scalar.Op, x, y sum) (sum, bool) {
	zero := sum{make([]int64, len(b.in.Dims)), 0}
	switch op {
	case scalar.Add:
		return b.combine(x, y, 1, true)
	case scalar.Sub:
		return b.combine(x, y, -1, true)
	case scalar.Mul:
		if x.constant() {
			return b.combine(zero, y, x.off, true)
		}
		return b.combine(zero, x, y.off, y.constant())
	case scalar.Div:
		q, r, ok := b.divide(x, y)
		lo, _ := b.hull(x)
		return q, ok && (lo >= 0 || r.off == 0 && r.constant())
	case scalar.Mod:
		_, r, ok := b.divide(x, y)
		return r, ok
	case scalar.Rem:
		_, r, ok := b.divide(x, y)
		lo, _ := b.hull(x)
		return r, ok && lo >= 0
	case scalar.Min, scalar.Max:
		d, ok := b.combine(x, y, -1, true)
		lo, hi := b.hull(d)
		switch {
		case ok && (op == scalar.Min && hi <= 0 || op == scalar.Max && lo >= 0):
			return x, true
		case ok && (op == scalar.Min && lo >= 0 || op == scalar.Max && hi <= 0):
			return y, true
		}
	}
	return sum{}, false
}

// divide splits x into c·quotient + rest with a rest from 0 to c-1, for a positive constant c, if both are affine.
func (b *binder) divide(x, c sum) (q, r sum, ok bool) {
	if !c.constant() || c.off <= 0 {
		return q, r, false
	}
	n := c.off
	q, r = sum{row: make([]int64, len(x.row))}, sum{row: make([]int64, len(x.row))}
	for i, a := range x.row {
		if a%n == 0 {
			q.row[i] = a / n
		} else {
			r.row[i] = a
		}
	}
	r.off = ((x.off % n) + n) % n
	q.off = (x.off - r.off) / n
	lo, hi := b.hull(r)
	return q, r, lo >= 0 && hi < n
}

func (s sum) constant() bool {
	return !slices.ContainsFunc(s.row, func(a int64) bool { return a != 0 })
}

// combine gives x + factor·y within bounds.
func (b *binder) combine(x, y sum, factor int64, ok bool) (sum, bool) {
	if !ok || tooLarge(factor, y.off) {
		return sum{}, false
	}
	out := sum{make([]int64, len(x.row)), x.off + factor*y.off}
	for i := range out.row {
		if tooLarge(factor, y.row[i]) {
			return sum{}, false
		}
		out.row[i] = x.row[i] + factor*y.row[i]
	}
	return b.bounded(out)
}

func tooLarge(a, b int64) bool { return a != 0 && abs(b) > maxCoordinate/max(1, abs(a)) }

func abs(a int64) int64 { return max(a, -a) }

// bounded refuses a sum that leaves the bounds somewhere.
func (b *binder) bounded(s sum) (sum, bool) {
	total := abs(s.off)
	for i, a := range s.row {
		n := max(1, b.in.Dims[i].Extent)
		if total > maxCoordinate || a == -1<<63 || tooLarge(a, n) {
			return sum{}, false
		}
		total += abs(a) * n
	}
	return s, total <= maxCoordinate
}

// hull gives the least and the greatest value of a sum; a dim without values counts as one that stands at 0.
func (b *binder) hull(s sum) (lo, hi int64) {
	lo, hi = s.off, s.off
	for i, a := range s.row {
		last := max(0, b.in.Dims[i].Extent-1)
		if a < 0 {
			lo += a * last
		} else {
			hi += a * last
		}
	}
	return lo, hi
}

// decided gives the value of a condition on dims, if it is the same everywhere.
func (b *binder) decided(e *scalar.Expr) (value int64, ok bool) {
	switch e.Op {
	case scalar.Const:
		return e.Value.I, e.Type == scalar.Bool
	case scalar.Not:
		v, ok := b.decided(e.Args[0])
		return 1 - v, ok
	case scalar.And, scalar.Or:
		return b.decidedPair(e)
	case scalar.Lt, scalar.Le, scalar.Gt, scalar.Ge, scalar.Eq, scalar.Ne:
		x, okX := b.affine(e.Args[0])
		y, okY := b.affine(e.Args[1])
		if !okX || !okY {
			return 0, false
		}
		d, ok := b.combine(x, y, -1, true)
		lo, hi := b.hull(d)
		if !ok {
			return 0, false
		}
		return compared(e.Op, lo, hi)
	}
	return 0, false
}

func (b *binder) decidedPair(e *scalar.Expr) (int64, bool) {
	strong := int64(0) // decides an And
	if e.Op == scalar.Or {
		strong = 1
	}
	x, okX := b.decided(e.Args[0])
	y, okY := b.decided(e.Args[1])
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

// expr writes a sum as an expression.
func (s sum) expr() *scalar.Expr {
	var e *scalar.Expr
	for i, a := range s.row {
		if a == 0 {
			continue
		}
		term := scalar.NewLoop(i)
		if a != 1 {
			term = must(scalar.Mul, term, number(a))
		}
		if e == nil {
			e = term
		} else {
			e = must(scalar.Add, e, term)
		}
	}
	switch {
	case e == nil:
		return number(s.off)
	case s.off > 0:
		return must(scalar.Add, e, number(s.off))
	case s.off < 0:
		return must(scalar.Sub, e, number(-s.off))
	}
	return e
}

// must makes an operator whose arguments have the right types.
func must(op scalar.Op, args ...*scalar.Expr) *scalar.Expr {
	e, err := scalar.New(op, args...)
	if err != nil {
		panic(err)
	}
	return e
}
