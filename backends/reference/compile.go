package reference

import (
	"math"

	"tensortapestry.org/tapc/ir/scalar"
)

// code computes an expression at the present point of a nest. The function of its type's class is set: i for integers and
// booleans (as 0 and 1), f for floats, c for complex numbers; numbers are rounded to the type already.
type code struct {
	i func() int64
	f func() float64
	c func() complex128
}

// value gives the code as one that makes whole values of a type.
func (c code) value(d scalar.DType) func() scalar.Value {
	switch {
	case c.f != nil:
		return func() scalar.Value { return scalar.Value{DType: d, F: c.f()} }
	case c.c != nil:
		return func() scalar.Value {
			z := c.c()
			return scalar.Value{DType: d, F: real(z), Im: imag(z)}
		}
	}
	return func() scalar.Value { return scalar.Value{DType: d, I: c.i()} }
}

// of makes code from a function that gives whole values; it is for what is rare.
func of(d scalar.DType, f func() scalar.Value) code {
	switch {
	case d.IsFloat():
		return code{f: func() float64 { return f().F }}
	case d.IsComplex():
		return code{c: func() complex128 { v := f(); return complex(v.F, v.Im) }}
	}
	return code{i: func() int64 { return f().I }}
}

// compile makes the code of an expression. It means exactly what scalar.Expr.Eval does.
func (n *nest) compile(e *scalar.Expr) code {
	switch e.Op {
	case scalar.Const:
		v := e.Value
		switch {
		case v.DType.IsFloat():
			return code{f: func() float64 { return v.F }}
		case v.DType.IsComplex():
			z := complex(v.F, v.Im)
			return code{c: func() complex128 { return z }}
		}
		return code{i: func() int64 { return v.I }}
	case scalar.Load:
		return n.load(e.Ref)
	case scalar.Local:
		return n.local(e.Ref)
	case scalar.Loop:
		return code{i: func() int64 { return n.point[e.Ref] }}
	case scalar.Reduce:
		return n.reduce(e)
	case scalar.Where:
		return n.where(e)
	case scalar.Cast:
		return n.cast(e)
	case scalar.Bitcast:
		return n.apply(e)
	}
	switch a := e.Args[0].Type; {
	case a.IsFloat() && e.Type.IsFloat() && len(e.Args) == 2:
		return n.floatBinary(e)
	case a.IsFloat() && e.Type.IsFloat():
		return n.floatUnary(e)
	case a.IsComplex() && e.Type.IsComplex():
		return n.complexOperator(e)
	case (a.IsInt() || a.IsBool()) && len(e.Args) == 2:
		return n.intBinary(e)
	case a.IsFloat() && e.Op >= scalar.Eq && e.Op <= scalar.Ge:
		x, y, f := n.compile(e.Args[0]).f, n.compile(e.Args[1]).f, scalar.FloatComparison(e.Op)
		return code{i: func() int64 { return truth(f(x(), y())) }}
	}
	return n.apply(e)
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// apply computes an operator on whole values.
func (n *nest) apply(e *scalar.Expr) code {
	x := n.compile(e.Args[0]).value(e.Args[0].Type)
	if len(e.Args) == 1 {
		return of(e.Type, func() scalar.Value { return scalar.Apply(e.Op, e.Type, x()) })
	}
	y := n.compile(e.Args[1]).value(e.Args[1].Type)
	return of(e.Type, func() scalar.Value { return scalar.Apply(e.Op, e.Type, x(), y()) })
}

func (n *nest) load(ref int) code {
	v := &n.views[ref]
	size := int64(v.typ.Size())
	if v.typ == scalar.Float32 {
		return code{f: func() float64 {
			at, ok := n.element(ref)
			if !ok {
				return 0
			}
			b := v.data[at*4 : at*4+4]
			return float64(math.Float32frombits(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24))
		}}
	}
	return of(v.typ, func() scalar.Value {
		at, ok := n.element(ref)
		if !ok {
			return scalar.Zero(v.typ)
		}
		return scalar.Decode(v.typ, v.data[at*size:(at+1)*size])
	})
}

func (n *nest) local(ref int) code {
	l, cursor := n.locals[ref], len(n.views)+ref
	switch {
	case l.f != nil:
		return code{f: func() float64 { return l.f[n.cursors[cursor]] }}
	case l.c != nil:
		return code{c: func() complex128 { return l.c[n.cursors[cursor]] }}
	}
	return code{i: func() int64 { return l.i[n.cursors[cursor]] }}
}

func (n *nest) where(e *scalar.Expr) code {
	cond, a, b := n.compile(e.Args[0]).i, n.compile(e.Args[1]), n.compile(e.Args[2])
	switch {
	case a.f != nil:
		return code{f: choose(cond, a.f, b.f)}
	case a.c != nil:
		return code{c: choose(cond, a.c, b.c)}
	}
	return code{i: choose(cond, a.i, b.i)}
}

func choose[T any](cond func() int64, a, b func() T) func() T {
	return func() T {
		if cond() != 0 {
			return a()
		}
		return b()
	}
}

func (n *nest) cast(e *scalar.Expr) code {
	from := e.Args[0].Type
	x := n.compile(e.Args[0])
	if from.IsFloat() && e.Type.IsFloat() {
		r := scalar.Rounding(e.Type)
		return code{f: func() float64 { return r(x.f()) }}
	}
	value := x.value(from)
	return of(e.Type, func() scalar.Value { return scalar.Convert(value(), e.Type) })
}

func (n *nest) floatUnary(e *scalar.Expr) code {
	x, f := n.compile(e.Args[0]).f, scalar.FloatUnary(e.Op)
	if e.Type == scalar.Float64 {
		return code{f: func() float64 { return f(x()) }}
	}
	r := scalar.Rounding(e.Type)
	return code{f: func() float64 { return r(f(x())) }}
}

// floatBinary has short forms for what is frequent.
func (n *nest) floatBinary(e *scalar.Expr) code {
	x, y := n.compile(e.Args[0]).f, n.compile(e.Args[1]).f
	if e.Type == scalar.Float32 {
		switch e.Op {
		case scalar.Add:
			return code{f: func() float64 { return float64(float32(x() + y())) }}
		case scalar.Sub:
			return code{f: func() float64 { return float64(float32(x() - y())) }}
		case scalar.Mul:
			return code{f: func() float64 { return float64(float32(x() * y())) }}
		}
	}
	f, r := scalar.FloatBinary(e.Op), scalar.Rounding(e.Type)
	return code{f: func() float64 { return r(f(x(), y())) }}
}

func (n *nest) complexOperator(e *scalar.Expr) code {
	if e.Op >= scalar.Eq && e.Op <= scalar.Ge {
		return n.apply(e)
	}
	r := scalar.Rounding(e.Type)
	round := func(z complex128) complex128 { return complex(r(real(z)), r(imag(z))) }
	x := n.compile(e.Args[0]).c
	if len(e.Args) == 1 {
		f := scalar.ComplexUnary(e.Op)
		return code{c: func() complex128 { return round(f(x())) }}
	}
	y, f := n.compile(e.Args[1]).c, scalar.ComplexBinary(e.Op)
	return code{c: func() complex128 { return round(f(x(), y())) }}
}

func (n *nest) intBinary(e *scalar.Expr) code {
	x, y := n.compile(e.Args[0]).i, n.compile(e.Args[1]).i
	d := e.Args[0].Type
	if e.Op >= scalar.Eq && e.Op <= scalar.Ge {
		f := scalar.IntComparison(e.Op, d)
		return code{i: func() int64 { return truth(f(x(), y())) }}
	}
	if d == scalar.Int64 {
		switch e.Op {
		case scalar.Add:
			return code{i: func() int64 { return x() + y() }}
		case scalar.Mul:
			return code{i: func() int64 { return x() * y() }}
		}
	}
	if d == scalar.Bool && e.Op == scalar.And {
		return code{i: func() int64 { return x() & y() }}
	}
	f := scalar.IntBinary(e.Op, d)
	return code{i: func() int64 { return f(x(), y()) }}
}
