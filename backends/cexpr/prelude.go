package cexpr

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
)

// function is one function of the prelude.
type function struct{ name, text string }

// call writes a call and notes that the function is needed.
func (w *Writer) call(f function, args ...string) string {
	w.used[f.name] = "TAPC_FN " + f.text + "\n"
	return f.name + "(" + strings.Join(args, ", ") + ")"
}

func shortName(d scalar.DType) string {
	switch {
	case d == scalar.Bool:
		return "b"
	case d.IsFloat():
		return fmt.Sprintf("f%d", d.Bits())
	case d.IsSigned():
		return fmt.Sprintf("i%d", d.Bits())
	}
	return fmt.Sprintf("u%d", d.Bits())
}

func minMax(op scalar.Op, d scalar.DType) function {
	t, _ := CType(d)
	name := "tapc_" + op.String() + "_" + shortName(d)
	sign := "<"
	if op == scalar.Max {
		sign = ">"
	}
	nan := ""
	if d.IsFloat() {
		nan = " || a != a"
	}
	return function{name, fmt.Sprintf("%s %s(%s a, %s b) { return a %s b%s ? a : b; }", t, name, t, t, sign, nan)}
}

func floatSign(d scalar.DType) function {
	t, _ := CType(d)
	name := "tapc_sign_" + shortName(d)
	return function{name, fmt.Sprintf("%s %s(%s a) { return a > 0 ? 1 : a < 0 ? -1 : a; }", t, name, t)}
}

func floatMod(d scalar.DType, suffix string) function {
	t, _ := CType(d)
	name := "tapc_mod_" + shortName(d)
	return function{name, fmt.Sprintf("%s %s(%s a, %s b) { %s r = fmod%s(a, b); "+
		"return r == 0 ? copysign%s(0, b) : (r < 0) != (b < 0) ? r + b : r; }", t, name, t, t, t, suffix, suffix)}
}

func saturate(to, from scalar.DType, toType, fromType string) function {
	name := "tapc_cast_" + shortName(from) + "_" + shortName(to)
	lo, hi := scalar.Lowest(to), scalar.Highest(to)
	w := NewWriter()
	// The bounds are powers of two, exact in every float type: the values at or beyond them saturate.
	text := fmt.Sprintf("%s %s(%s a) { return a != a ? 0 : a <= %s ? %s : a >= %s ? %s : (%s)a; }", toType, name, fromType,
		w.floatConst(from, lo.Float()), w.Const(lo), w.floatConst(from, hi.Float()+1), w.Const(hi), toType)
	if to.Bits() == 64 { // the highest value rounds up to the power of two already
		text = fmt.Sprintf("%s %s(%s a) { return a != a ? 0 : a <= %s ? %s : a >= %s ? %s : (%s)a; }", toType, name, fromType,
			w.floatConst(from, lo.Float()), w.Const(lo), w.floatConst(from, hi.Float()), w.Const(hi), toType)
	}
	return function{name, text}
}

// integerFunction gives the guarded integer operators. Promotion to int makes 8 and 16 bit arithmetic safe.
func integerFunction(op scalar.Op, d scalar.DType, t string) function {
	name := "tapc_" + op.String() + "_" + shortName(d)
	def := func(args, body string) function {
		return function{name, fmt.Sprintf("%s %s(%s) { %s }", t, name, args, body)}
	}
	two := t + " a, " + t + " b"
	u := "u" + strings.TrimPrefix(t, "u")
	signed := d.IsSigned()
	switch op {
	case scalar.Abs:
		if !signed {
			return def(t+" a", "return a;")
		}
		return def(t+" a", fmt.Sprintf("return a < 0 ? (%s)(0u - (%s)a) : a;", t, u))
	case scalar.Sign:
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
