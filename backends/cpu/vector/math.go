package vector

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
)

// MaxULP is the greatest error of the functions of vectors, in units in the last place. NaN, infinities and signed zeros come
// out as the C library gives them.
const MaxULP = 2

// Function writes a function of one float vector; ok is false for those that are computed lane by lane.
func Function(v *Printer, op scalar.Op, n int, args []Value) (x Value, ok bool) {
	t := v.Of(args[0].Type, n)
	if n == 2 && (t.d == scalar.Float32 || t.d == scalar.Float64) {
		return t.pair(op, args[0])
	}
	if n < 4 || t.d != scalar.Float32 && (t.d != scalar.Float64 || op == scalar.Erf) {
		return Value{}, false
	}
	name := ""
	switch op {
	case scalar.Exp, scalar.Exp2:
		name = t.math("exp.c")("tapc_" + op.String())
	case scalar.Log, scalar.Tanh:
		name = t.math(op.String() + ".c")("tapc_" + op.String())
	case scalar.Erf:
		t.math("exp.c")
		name = t.math("erf.c")("tapc_erf")
	case scalar.Sin, scalar.Cos:
		name = t.wave(op)
	default:
		return Value{}, false
	}
	return Value{Text: fmt.Sprintf("%s(%s)", name, args[0].Text), Type: t.d}, true
}

// pair writes a function of two numbers: that of four where the processor has such registers, which for float32 all have that are known.
func (x Type) pair(op scalar.Op, arg Value) (Value, bool) {
	four, ok := Function(x.v, op, 4, []Value{{Text: "x", Type: x.d}})
	if !ok {
		return Value{}, false
	}
	name := fmt.Sprintf("tapc_%v_%s", op, shortName(x.d, x.n))
	x.v.Define(name, func() string {
		of, _, _ := strings.Cut(four.Text, "(")
		return x.text(own, "pair.c", "_"+shortName(x.d, x.n), "TAPC_PAIR "+name, fmt.Sprintf("TAPC_BYTES %d", x.n*x.d.Size()), "TAPC_FOUR "+x.v.Type(x.d, 4), "TAPC_OF_FOUR "+of,
			"TAPC_PLAIN(x) "+x.v.lanewise(op, x.d, x.n, []Value{{Text: "x", Type: x.d}}).Text)
	})
	return Value{Text: fmt.Sprintf("%s(%s)", name, arg.Text), Type: x.d}, true
}

// math defines the functions of a file, and of power.c, where TAPC_FD(f, d) is f for float32 and d for float64.
func (x Type) math(file string) func(function string) string {
	x.v.Define("polynomial.c", func() string { return Text(own, "polynomial.c") })
	x.fused()
	x.extremes()
	by, format := "f", []string{"TAPC_MANTISSA 23", "TAPC_BIAS 127", "TAPC_LN2_HIGH 0x1.63p-1", "TAPC_LN2_LOW (-0x1.bd0105c610ca8p-13)"}
	if x.d == scalar.Float64 {
		by, format = "d", []string{"TAPC_MANTISSA 52", "TAPC_BIAS 1023", "TAPC_LN2_HIGH 0x1.62e42feep-1", "TAPC_LN2_LOW 0x1.a39ef35793c76p-33"}
	}
	format = append(format, "TAPC_FD(f, d) "+by)
	x.own("power.c", format...)
	return x.own(file, format...)
}

// wave defines sin or cos. Angles of float32 are reduced in float64, half of the lanes at a time.
func (x Type) wave(op scalar.Op) string {
	name, half := fmt.Sprintf("tapc_%v_%s", op, shortName(x.d, x.n)), x.n
	return x.v.Define(name, func() string {
		macros := []string{"TAPC_WAVE " + name, fmt.Sprintf("TAPC_QUARTER %d", map[scalar.Op]int{scalar.Cos: 1}[op]),
			"TAPC_PLAIN(x) " + x.v.lanewise(op, x.d, x.n, []Value{{Text: "x", Type: x.d}}).Text}
		x.math("power.c")
		if x.d == scalar.Float32 {
			half /= 2
		}
		turns := []string{"TAPC_FEW " + x.v.Type(scalar.Float32, half), "TAPC_FEW_WHOLE " + x.v.Type(scalar.Int32, half)}
		wide := x.v.Of(scalar.Float64, half)
		wide.math("power.c")
		if reduced := wide.own("turns.c", turns...); x.d == scalar.Float32 {
			macros = append(append(macros, turns...), "TAPC_TURNS "+reduced("tapc_turns"))
		}
		return x.text(own, "wave.c", "_"+shortName(x.d, x.n), append(x.ownMacros(), macros...)...)
	})
}

// extremes defines the functions of extremes.c.
func (x Type) extremes() func(function string) string {
	x.v.Pick(x.v.Type(x.d, x.n), x.v.MaskType(x.d.Size(), x.n), "", "", "")
	return x.own("extremes.c")
}
