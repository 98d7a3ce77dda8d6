package affine

import (
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Box is the values of the loops of an expression. What depends on that alone is found: a remainder that takes nothing away, a minimum that is
// always the same side, a condition that holds everywhere.
type Box struct {
	zspace.Range
	Local func(ref int) *scalar.Expr // what a local value is; nil where none can be read
}

// Of reads a sum of multiples of loops, of int64.
func Of(e *scalar.Expr) (Sum, bool) { return (*Box)(nil).Sum(e) }

// Sum reads an int64 expression that is a sum at every point of the box. Without a box, divisions, choices and limits are none.
func (b *Box) Sum(e *scalar.Expr) (Sum, bool) {
	if e.Type != scalar.Int64 {
		return Sum{}, false
	}
	switch e.Op {
	case scalar.Const:
		return b.bounded(Sum{Constant: e.Value.I})
	case scalar.Loop:
		if b != nil && b.End[e.Ref]-b.Start[e.Ref] == 1 {
			return b.bounded(Sum{Constant: b.Start[e.Ref]})
		}
		return b.bounded(Symbol(e.Ref))
	case scalar.Neg:
		s, ok := b.Sum(e.Args[0])
		return s.Times(-1), ok
	case scalar.Local:
		if b != nil && b.Local != nil {
			return b.Sum(b.Local(e.Ref))
		}
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

func (b *Box) operator(op scalar.Op, x, y Sum) (Sum, bool) {
	switch {
	case op == scalar.Add:
		return b.bounded(x.Plus(y, 1))
	case op == scalar.Sub:
		return b.bounded(x.Plus(y, -1))
	case op == scalar.Mul && x.IsConstant():
		return b.bounded(y.Times(x.Constant))
	case op == scalar.Mul && y.IsConstant():
		return b.bounded(x.Times(y.Constant))
	case b == nil:
		return Sum{}, false
	}
	switch op {
	case scalar.Div, scalar.Mod, scalar.Rem:
		return b.divide(op, x, y)
	case scalar.Min, scalar.Max:
		d, ok := b.bounded(x.Plus(y, -1))
		lo, hi := d.Hull(b.Range)
		if op == scalar.Max {
			x, y = y, x
		}
		switch {
		case ok && hi <= 0:
			return x, true
		case ok && lo >= 0:
			return y, true
		}
	}
	return Sum{}, false
}

// divide gives a quotient or a remainder by a positive constant, if it is a sum: quotients are rounded towards 0, and remainders by Rem have the sign of x.
func (b *Box) divide(op scalar.Op, x, by Sum) (Sum, bool) {
	if n := by.Constant; by.IsConstant() && n > 0 {
		q, r := x.Divide(n)
		least, _ := x.Hull(b.Range)
		lo, hi := r.Hull(b.Range)
		whole := r.IsConstant() && r.Constant == 0
		switch sum := lo >= 0 && hi < n; op {
		case scalar.Div:
			return q, sum && (least >= 0 || whole)
		case scalar.Mod:
			return r, sum
		case scalar.Rem:
			return r, sum && least >= 0
		}
	}
	return Sum{}, false
}

// bounded refuses a sum that leaves the limit somewhere in the box, or whose numbers do.
func (b *Box) bounded(s Sum) (Sum, bool) {
	total := magnitude(s.Constant)
	for i, f := range s.Factors {
		far := int64(1)
		if b != nil {
			far = max(far, magnitude(b.Start[i]), magnitude(b.End[i]))
		}
		total = clip(total + magnitude(product(f, far)))
	}
	return s, total < Limit
}

// Decided gives the value of a condition, if it is the same in all of the box.
func (b *Box) Decided(e *scalar.Expr) (value int64, ok bool) {
	switch e.Op {
	case scalar.Const:
		return e.Value.I, e.Type == scalar.Bool
	case scalar.Not:
		v, ok := b.Decided(e.Args[0])
		return 1 - v, ok
	case scalar.And, scalar.Or:
		return b.decidedPair(e)
	}
	d, ok := b.Difference(e)
	if !ok || b == nil {
		return 0, false
	}
	lo, hi := d.Hull(b.Range)
	return compared(e.Op, lo, hi)
}

func (b *Box) decidedPair(e *scalar.Expr) (int64, bool) {
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

// Difference gives what the first side of a comparison of sums is more than the second.
func (b *Box) Difference(e *scalar.Expr) (Sum, bool) {
	if e.Op < scalar.Eq || e.Op > scalar.Ge {
		return Sum{}, false
	}
	x, okX := b.Sum(e.Args[0])
	y, okY := b.Sum(e.Args[1])
	if !okX || !okY {
		return Sum{}, false
	}
	return b.bounded(x.Plus(y, -1))
}

// Opposite gives the comparison that holds where another does not.
func Opposite(op scalar.Op) scalar.Op {
	return map[scalar.Op]scalar.Op{scalar.Lt: scalar.Ge, scalar.Ge: scalar.Lt, scalar.Gt: scalar.Le, scalar.Le: scalar.Gt,
		scalar.Eq: scalar.Ne, scalar.Ne: scalar.Eq}[op]
}

// Border gives the sum that is at least 0 just where s compares with 0 as an operator says, for orders alone.
func (s Sum) Border(op scalar.Op) (Sum, bool) {
	switch op {
	case scalar.Ge:
		return s, true
	case scalar.Gt:
		return s.Plus(Sum{Constant: 1}, -1), true
	case scalar.Le:
		return s.Times(-1), true
	case scalar.Lt:
		return s.Times(-1).Plus(Sum{Constant: 1}, -1), true
	}
	return Sum{}, false
}

// Borders gives the sums that are all at least 0 where a condition of loops holds, if it is such a one.
func Borders(condition *scalar.Expr) (sums []Sum, ok bool) {
	for _, c := range Conjuncts(condition) {
		d, isSum := (*Box)(nil).Difference(c)
		s, ok := d.Border(c.Op)
		if !ok || !isSum {
			return nil, false
		}
		sums = append(sums, s)
	}
	return sums, true
}

// Conjuncts gives the conditions that all hold where one does.
func Conjuncts(e *scalar.Expr) []*scalar.Expr {
	if e.Op == scalar.And && e.Type == scalar.Bool {
		return append(Conjuncts(e.Args[0]), Conjuncts(e.Args[1])...)
	}
	return []*scalar.Expr{e}
}

// Guarded says whether a value is a load where loops are inside some borders, and a constant elsewhere.
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
