package tree

import (
	"fmt"
	"math"
)

// Var is a variable of a loop or of a Let. Each is bound once.
type Var struct{ Name string }

type indexOp uint8

const (
	constant indexOp = iota
	variable
	add
	mul // by a constant
	div // by a positive constant, rounded down
	mod // by a positive constant, not negative
	least
	product
)

// Index is an integer that is known when the program runs: an expression of variables. It is immutable.
type Index struct {
	op   indexOp
	n    int64 // the constant
	v    *Var
	a, b *Index
	id   string // of what is not linear in its parts: two with the same have the same value
}

// atom is an index that is not linear in its parts.
func atom(x Index) *Index {
	x.id = x.key()
	return &x
}

// Const is a number.
func Const(n int64) *Index { return &Index{op: constant, n: n} }

// Use is the value of a variable.
func Use(v *Var) *Index { return &Index{op: variable, v: v} }

// Number gives the value of a constant index.
func (x *Index) Number() (n int64, ok bool) { return x.n, x.op == constant }

// Add is x + y. Sums are kept as multiples of what is not linear in variables, each once.
func (x *Index) Add(y *Index) *Index { return x.linear().plus(y.linear(), 1).index() }

// Plus is x + n.
func (x *Index) Plus(n int64) *Index { return x.Add(Const(n)) }

// Minus is x - y.
func (x *Index) Minus(y *Index) *Index { return x.linear().plus(y.linear(), -1).index() }

// Times is x·n.
func (x *Index) Times(n int64) *Index { return linear{}.plus(x.linear(), n).index() }

// Div is the largest integer that is at most x/n. n is positive.
func (x *Index) Div(n int64) *Index {
	switch {
	case n == 1:
		return x
	case x.op == constant:
		return Const(floorDiv(x.n, n))
	}
	if exact, ok := x.linear().div(n); ok {
		return exact.index()
	}
	return atom(Index{op: div, a: x, n: n})
}

// Mod is what Div leaves, from 0 to n-1. n is positive.
func (x *Index) Mod(n int64) *Index {
	switch {
	case n == 1:
		return Const(0)
	case x.op == constant:
		return Const(x.n - n*floorDiv(x.n, n))
	}
	if _, ok := x.linear().div(n); ok {
		return Const(0)
	}
	return atom(Index{op: mod, a: x, n: n})
}

// Min is the lesser of two.
func (x *Index) Min(y *Index) *Index {
	if x.op == constant && y.op == constant {
		return Const(min(x.n, y.n))
	}
	return atom(Index{op: least, a: x, b: y})
}

// By is x·y.
func (x *Index) By(y *Index) *Index {
	if n, ok := x.Number(); ok {
		return y.Times(n)
	}
	if n, ok := y.Number(); ok {
		return x.Times(n)
	}
	return atom(Index{op: product, a: x, b: y})
}

// Max is the greater of two.
func (x *Index) Max(y *Index) *Index { return x.Times(-1).Min(y.Times(-1)).Times(-1) }

// With puts an index in the place of a variable.
func (x *Index) With(v *Var, y *Index) *Index {
	switch x.op {
	case variable:
		if x.v == v {
			return y
		}
	case add:
		return x.a.With(v, y).Add(x.b.With(v, y))
	case mul:
		return x.a.With(v, y).Times(x.n)
	case div:
		return x.a.With(v, y).Div(x.n)
	case mod:
		return x.a.With(v, y).Mod(x.n)
	case least:
		return x.a.With(v, y).Min(x.b.With(v, y))
	case product:
		return x.a.With(v, y).By(x.b.With(v, y))
	}
	return x
}

// Uses says whether a variable stands in x.
func (x *Index) Uses(v *Var) bool {
	return x != nil && (x.op == variable && x.v == v || x.a.Uses(v) || x.b.Uses(v))
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && a < 0 {
		q--
	}
	return q
}

// String writes x as C does, with a division that C would round as well only where x is not negative.
func (x *Index) String() string { return x.Format(func(v *Var) string { return v.Name }) }

// Format writes x with the names that a printer has for variables.
func (x *Index) Format(name func(*Var) string) string {
	switch x.op {
	case constant:
		if x.n > math.MaxInt32 || x.n < math.MinInt32 {
			return fmt.Sprintf("INT64_C(%d)", x.n)
		}
		return fmt.Sprint(x.n)
	case variable:
		return name(x.v)
	case add:
		if n, ok := x.b.Number(); ok && n < 0 && n != math.MinInt64 {
			return fmt.Sprintf("%s - %d", x.a.Format(name), -n)
		}
		if x.b.op == mul && x.b.n < 0 && x.b.n != math.MinInt64 {
			return fmt.Sprintf("%s - %s", x.a.Format(name), (&Index{op: mul, a: x.b.a, n: -x.b.n}).Format(name))
		}
		return x.a.Format(name) + " + " + x.b.Format(name)
	case product:
		return fmt.Sprintf("(%s) * (%s)", x.a.Format(name), x.b.Format(name))
	case least:
		a, b := x.a.Format(name), x.b.Format(name)
		return fmt.Sprintf("(%s < %s ? %s : %s)", a, b, a, b)
	}
	if x.op == mul && x.n == -1 && x.a.op == least {
		a, b := x.a.a.Times(-1).Format(name), x.a.b.Times(-1).Format(name)
		return fmt.Sprintf("(%s > %s ? %s : %s)", a, b, a, b)
	}
	if x.op == mul && x.n == 1 {
		return x.a.Format(name)
	}
	sign := map[indexOp]string{mul: "*", div: "/", mod: "%"}[x.op]
	a := x.a.Format(name)
	if x.a.op == add || x.a.op != variable && x.op != mul {
		a = "(" + a + ")"
	}
	n := fmt.Sprint(x.n)
	if x.n < 0 {
		n = "(" + n + ")"
	}
	return fmt.Sprintf("%s %s %s", a, sign, n)
}

// Var gives the variable that x is, nil if it is none.
func (x *Index) Var() *Var {
	if x.op == variable {
		return x.v
	}
	return nil
}

// Multiple gives how much x grows with a variable, if it is linear in it.
func (x *Index) Multiple(v *Var) (n int64, ok bool) {
	l := x.linear()
	n = l.of(v)
	return n, !l.plus(Use(v).linear(), -n).index().Uses(v)
}
