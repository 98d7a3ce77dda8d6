package cexpr

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
)

// function is one function of the prelude, or a type that functions need; needs are those that stand before it.
type function struct {
	name, text string
	needs      []function
}

// def makes a function from the text behind its storage class: "TYPE NAME(PARAMETERS) { BODY }".
func def(name, text string, needs ...function) function {
	return function{name, "TAPC_FN " + text, needs}
}

// call writes a call and notes that the function is needed.
func (w *Writer) call(f function, args ...string) string {
	w.used[f.name] = f
	return f.name + "(" + strings.Join(args, ", ") + ")"
}

// shortName names an element type in the names of functions. A float of at most 16 bits has functions of its own only where it
// is stored: otherwise it goes as float32.
func shortName(d scalar.DType) string {
	switch {
	case d == scalar.Bool:
		return "b"
	case narrow(d):
		return "f32"
	case d.IsComplex():
		return fmt.Sprintf("c%d", d.Bits())
	case d.IsFloat():
		return fmt.Sprintf("f%d", d.Bits())
	case d.IsSigned():
		return fmt.Sprintf("i%d", d.Bits())
	}
	return fmt.Sprintf("u%d", d.Bits())
}

// bits gives the function that reads the bits of a value of 32 bits or more as another type.
func bits(to, from scalar.DType) function {
	name := "tapc_bits_" + shortName(from) + "_" + shortName(to)
	var needs []function
	for _, d := range []scalar.DType{to, from} {
		if d.IsComplex() {
			needs = append(needs, complexType(d))
		}
	}
	return def(name, fmt.Sprintf("%s %s(%s a) { union { %[3]s a; %[1]s b; } x; x.a = a; return x.b; }", CType(to), name, CType(from)), needs...)
}

func minMax(op scalar.Op, d scalar.DType) function {
	t := CType(d)
	name := "tapc_" + op.String() + "_" + shortName(d)
	sign := "<"
	if op == scalar.Max {
		sign = ">"
	}
	nan := ""
	if d.IsFloat() {
		nan = " || a != a"
	}
	return def(name, fmt.Sprintf("%s %s(%s a, %s b) { return a %s b%s ? a : b; }", t, name, t, t, sign, nan))
}

func floatSign(d scalar.DType) function {
	t := CType(d)
	name := "tapc_sign_" + shortName(d)
	return def(name, fmt.Sprintf("%s %s(%s a) { return a > 0 ? 1 : a < 0 ? -1 : a; }", t, name, t))
}

func floatMod(d scalar.DType, suffix string) function {
	t := CType(d)
	name := "tapc_mod_" + shortName(d)
	return def(name, fmt.Sprintf("%s %s(%s a, %s b) { %s r = fmod%s(a, b); "+
		"return r == 0 ? copysign%s(0, b) : (r < 0) != (b < 0) ? r + b : r; }", t, name, t, t, t, suffix, suffix))
}

// saturate converts a float to an integer. The bounds are powers of two, exact in every float type that C computes in: values at
// or beyond them give the lowest and the highest integer.
func saturate(to, from scalar.DType) function {
	toType, fromType := CType(to), CType(from)
	name := "tapc_cast_" + shortName(from) + "_" + shortName(to)
	lo, hi := scalar.Lowest(to), scalar.Highest(to)
	w := NewWriter()
	bound := hi.Float() + 1
	if to.Bits() == 64 { // the highest value rounds up to the power of two already
		bound = hi.Float()
	}
	return def(name, fmt.Sprintf("%s %s(%s a) { return a != a ? 0 : a <= %s ? %s : a >= %s ? %s : (%s)a; }", toType, name, fromType,
		w.floatConst(from, lo.Float()), w.Const(lo), w.floatConst(from, bound), w.Const(hi), toType))
}

// integerFunctions are the integer operators that are functions.
var integerFunctions = []scalar.Op{scalar.Abs, scalar.Sign, scalar.Div, scalar.Rem, scalar.Mod, scalar.Shl, scalar.Shr, scalar.Pow,
	scalar.Popcount, scalar.Clz}

// integerFunction gives the guarded integer operators. Promotion to int makes 8 and 16 bit arithmetic safe.
func integerFunction(op scalar.Op, d scalar.DType, t string) function {
	name := "tapc_" + op.String() + "_" + shortName(d)
	def := func(args, body string) function {
		return def(name, fmt.Sprintf("%s %s(%s) { %s }", t, name, args, body))
	}
	two := t + " a, " + t + " b"
	u := "u" + strings.TrimPrefix(t, "u")
	signed := d.IsSigned()
	switch op {
	case scalar.Popcount:
		return def(t+" a", fmt.Sprintf("uint64_t x = (uint64_t)a << %d; %s n = 0; for (; x; x &= x - 1) n++; return n;", 64-d.Bits(), t))
	case scalar.Clz:
		return def(t+" a", fmt.Sprintf("uint64_t x = (uint64_t)a << %d; %s n = 0; for (; n < %d && !(x >> 63); x <<= 1) n++; return n;",
			64-d.Bits(), t, d.Bits()))
	case scalar.Abs:
		if !signed {
			return def(t+" a", "return a;")
		}
		return def(t+" a", fmt.Sprintf("return a < 0 ? (%s)(0u - (%s)a) : a;", t, u))
	case scalar.Sign:
		if !signed {
			return def(t+" a", "return a != 0;")
		}
		return def(t+" a", "return (a > 0) - (a < 0);")
	case scalar.Div:
		if !signed {
			return def(two, fmt.Sprintf("return b == 0 ? 0 : (%s)(a / b);", t))
		}
		return def(two, fmt.Sprintf("return b == 0 ? 0 : b == -1 ? (%s)(0u - (%s)a) : (%s)(a / b);", t, u, t))
	case scalar.Rem, scalar.Mod:
		if !signed {
			return def(two, fmt.Sprintf("return b == 0 ? 0 : (%s)(a %% b);", t))
		}
		if op == scalar.Rem {
			return def(two, fmt.Sprintf("return b == 0 || b == -1 ? 0 : (%s)(a %% b);", t))
		}
		return def(two, fmt.Sprintf("if (b == 0 || b == -1) return 0; %s r = (%s)(a %% b); return r != 0 && (r < 0) != (b < 0) ? (%s)(r + b) : r;", t, t, t))
	case scalar.Shl:
		return def(two, fmt.Sprintf("return (%s)b >= %d ? 0 : (%s)((uint64_t)a << b);", u, d.Bits(), t))
	case scalar.Shr:
		if signed {
			return def(two, fmt.Sprintf("return (%s)b >= %d ? (%s)(a < 0 ? -1 : 0) : (%s)(a >> b);", u, d.Bits(), t, t))
		}
		return def(two, fmt.Sprintf("return b >= %d ? 0 : (%s)(a >> b);", d.Bits(), t))
	}
	negative := ""
	if signed {
		negative = "if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0; "
	}
	return def(two, fmt.Sprintf("%suint64_t r = 1, x = (uint64_t)a; for (uint64_t e = (uint64_t)b; e > 0; e >>= 1, x *= x) if (e & 1) r *= x; return (%s)r;", negative, t))
}
