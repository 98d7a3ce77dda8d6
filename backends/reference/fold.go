package reference

import "tensortapestry.org/tapc/ir/scalar"

// reduce compiles a reduction. Its rules are those of scalar.Expr.Eval: float sums are compensated in float64 and rounded
// once, float products are taken in float64, anything else folds in the type itself, in row-major order.
func (n *nest) reduce(e *scalar.Expr) code {
	body, d := e.Args[0], e.Type
	switch {
	case e.IsAt():
		return n.at(e)
	case e.Monoid == scalar.Add && d.IsFloat():
		return n.floatSum(e)
	case e.Monoid == scalar.Add && d.IsComplex():
		return n.complexSum(e)
	case e.Monoid == scalar.Mul && d.IsFloat():
		x, r := n.compile(body).f, scalar.Rounding(d)
		return code{f: func() float64 {
			p := 1.0
			n.over(e.Over, func() { p *= x() })
			return r(p)
		}}
	case d.IsFloat():
		x, f, start := n.compile(body).f, scalar.FloatBinary(e.Monoid), scalar.Identity(e.Monoid, d).F
		return code{f: fold(n, e.Over, start, f, x)}
	case d.IsComplex():
		x, f, r := n.compile(body).c, scalar.ComplexBinary(e.Monoid), scalar.Rounding(d)
		start := complex(scalar.Identity(e.Monoid, d).F, 0)
		return code{c: fold(n, e.Over, start, func(a, b complex128) complex128 {
			z := f(a, b)
			return complex(r(real(z)), r(imag(z)))
		}, x)}
	}
	x, f, start := n.compile(body).i, scalar.IntBinary(e.Monoid, d), scalar.Identity(e.Monoid, d).I
	return code{i: fold(n, e.Over, start, f, x)}
}

func fold[T any](n *nest, over []int, start T, f func(a, b T) T, x func() T) func() T {
	return func() T {
		acc := start
		n.over(over, func() { acc = f(acc, x()) })
		return acc
	}
}

func (n *nest) floatSum(e *scalar.Expr) code {
	x, r := n.wide(e.Args[0]), scalar.Rounding(e.Type)
	return code{f: func() float64 {
		var s scalar.Sum
		n.over(e.Over, func() { s.Add(x()) })
		return r(s.Total())
	}}
}

// wide gives a summand; a product of narrow floats stays exact.
func (n *nest) wide(e *scalar.Expr) func() float64 {
	if e.Op != scalar.Mul || e.Type == scalar.Float64 {
		return n.compile(e).f
	}
	x, y := n.compile(e.Args[0]).f, n.compile(e.Args[1]).f
	return func() float64 { return x() * y() }
}

func (n *nest) complexSum(e *scalar.Expr) code {
	x, r := n.compile(e.Args[0]).c, scalar.Rounding(e.Type)
	return code{c: func() complex128 {
		var re, im scalar.Sum
		n.over(e.Over, func() {
			z := x()
			re.Add(real(z))
			im.Add(imag(z))
		})
		return complex(r(re.Total()), r(im.Total()))
	}}
}

// at moves one loop to an index, for as long as the body is computed there.
func (n *nest) at(e *scalar.Expr) code {
	index, body := n.compile(e.Args[1]).i, n.compile(e.Args[0])
	loop := e.Over[0]
	lo, hi := n.box.Start[loop], n.box.End[loop]
	there := func() (ok bool, back int64) {
		x, old := index(), n.point[loop]
		if x < lo || x >= hi {
			return false, old
		}
		n.set(loop, x)
		return true, old
	}
	switch {
	case body.f != nil:
		return code{f: visit(n, loop, there, body.f, scalar.Zero(e.Type).F)}
	case body.c != nil:
		return code{c: visit(n, loop, there, body.c, 0)}
	}
	return code{i: visit(n, loop, there, body.i, 0)}
}

// visit computes the body there, and gives what is outside where there is nowhere.
func visit[T any](n *nest, loop int, there func() (bool, int64), body func() T, outside T) func() T {
	return func() T {
		v := outside
		if ok, back := there(); ok {
			v = body()
			n.set(loop, back)
		}
		return v
	}
}
