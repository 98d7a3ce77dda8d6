package cexpr

import (
	"fmt"

	"tensortapestry.org/tapc/ir/scalar"
)

// Complex numbers are structs of two parts. The formulas are those of ir/scalar, in double.

func complexType(d scalar.DType) function {
	t := CType(d)
	return function{t, fmt.Sprintf("typedef struct { %s re, im; } %s;", CType(d.Part()), t), nil}
}

// complexMake gives the function that makes a complex number from its parts.
func complexMake(d scalar.DType) function {
	name, t, part := "tapc_complex_"+shortName(d), CType(d), CType(d.Part())
	return def(name, fmt.Sprintf("%s %s(%s re, %s im) { %s z; z.re = re; z.im = im; return z; }", t, name, part, part, t), complexType(d))
}

func complexConvert(to, from scalar.DType) function {
	name, part := "tapc_cast_"+shortName(from)+"_"+shortName(to), CType(to.Part())
	return def(name, fmt.Sprintf("%s %s(%s z) { return %s((%s)z.re, (%s)z.im); }", CType(to), name, CType(from),
		complexMake(to).name, part, part), complexType(from), complexMake(to))
}

// complexPart gives a function from a complex number to a real one.
func complexPart(d scalar.DType, what, value string) function {
	name, part := "tapc_"+what+"_"+shortName(d), CType(d.Part())
	return def(name, fmt.Sprintf("%s %s(%s z) { return (%s)(%s); }", part, name, CType(d), part, value), complexType(d))
}

// complexTest gives a function from a complex number to a boolean.
func complexTest(d scalar.DType, value, what string) function {
	name := "tapc_" + what + "_" + shortName(d)
	return def(name, fmt.Sprintf("uint8_t %s(%s z) { return %s; }", name, CType(d), value), complexType(d))
}

// complex1 are the statements that compute re and im from x and y; a table.
var complex1 = map[scalar.Op]string{
	scalar.Neg:   "re = -x; im = -y;",
	scalar.Conj:  "re = x; im = -y;",
	scalar.Exp:   "const double r = exp(x); re = r * cos(y); im = r * sin(y);",
	scalar.Log:   "re = log(hypot(x, y)); im = atan2(y, x);",
	scalar.Sqrt:  complexSqrt,
	scalar.Rsqrt: complexSqrt + " x = re; y = im; { const double a = 1, b = 0, c = x, d = y; " + complexDiv + " }",
	scalar.Sin:   "re = sin(x) * cosh(y); im = cos(x) * sinh(y);",
	scalar.Cos:   "re = cos(x) * cosh(y); im = -sin(x) * sinh(y);",
	scalar.Tanh: "if (fabs(x) > 22) { re = copysign(1, x); im = copysign(0, y); } " +
		"else { const double s = sinh(x), c = cos(y), d = s * s + c * c; re = s * cosh(x) / d; im = sin(y) * c / d; }",
}

const complexSqrt = "const double t = sqrt((fabs(x) + hypot(x, y)) / 2); " +
	"if (x == 0 && y == 0) { re = 0; im = y; } else if (x >= 0) { re = t; im = y / (2 * t); } " +
	"else { re = fabs(y) / (2 * t); im = copysign(t, y); }"

// complexDiv divides a + ib by c + id. Source: R. Smith, "Algorithm 116: Complex Division", CACM 5 (1962).
const complexDiv = "if (fabs(c) >= fabs(d)) { const double r = d / c, e = c + r * d; re = (a + b * r) / e; im = (b - a * r) / e; } " +
	"else { const double r = c / d, e = c * r + d; re = (a * r + b) / e; im = (b * r - a) / e; }"

var complex2 = map[scalar.Op]string{
	scalar.Add: "re = a + c; im = b + d;",
	scalar.Sub: "re = a - c; im = b - d;",
	scalar.Mul: "re = a * c - b * d; im = a * d + b * c;",
	scalar.Div: complexDiv,
}

func (w *Writer) complex(op scalar.Op, d scalar.DType, a []string) string {
	switch op {
	case scalar.Abs:
		return w.call(complexPart(d, "abs", "hypot(z.re, z.im)"), a...)
	case scalar.Real:
		return w.call(complexPart(d, "real", "z.re"), a...)
	case scalar.Imag:
		return w.call(complexPart(d, "imag", "z.im"), a...)
	case scalar.IsNaN:
		return w.call(complexTest(d, "z.re != z.re || z.im != z.im", "isnan"), a...)
	case scalar.IsInf:
		return w.call(complexTest(d, "fabs(z.re) == TAPC_INF || fabs(z.im) == TAPC_INF", "isinf"), a...)
	case scalar.Eq, scalar.Ne:
		return w.complexEqual(op, d, a)
	}
	t, part := CType(d), CType(d.Part())
	name := "tapc_" + op.String() + "_" + shortName(d)
	if body, ok := complex1[op]; ok {
		return w.call(def(name, fmt.Sprintf("%s %s(%s z) { double x = z.re, y = z.im, re, im; %s return %s((%s)re, (%s)im); }",
			t, name, t, body, complexMake(d).name, part, part), complexMake(d)), a...)
	}
	if body, ok := complex2[op]; ok {
		return w.call(def(name, fmt.Sprintf("%s %s(%s z, %s w) { const double a = z.re, b = z.im, c = w.re, d = w.im; double re, im; %s "+
			"return %s((%s)re, (%s)im); }", t, name, t, t, body, complexMake(d).name, part, part), complexMake(d)), a...)
	}
	return w.fail("C code for %v on %v is not possible", op, d)
}

func (w *Writer) complexEqual(op scalar.Op, d scalar.DType, a []string) string {
	name, t := "tapc_eq_"+shortName(d), CType(d)
	text := w.call(def(name, fmt.Sprintf("uint8_t %s(%s z, %s w) { return z.re == w.re && z.im == w.im; }", name, t, t), complexType(d)), a...)
	if op == scalar.Ne {
		return "(!" + text + ")"
	}
	return text
}
