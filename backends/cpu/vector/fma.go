package vector

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
)

// Programs are compiled without contraction (toolchain.UsualFlags), so a product and the sum that takes it in are one fused multiply-add where it is
// written here, and rounded one after the other elsewhere: bits do not depend on what is joined into a kernel, nor on the C compiler.

// MultiplyAdd writes a·b + c of float vectors, rounded once where the processor has an instruction for it.
func (x Type) MultiplyAdd(a, b, c string) string {
	return fmt.Sprintf("%s(%s, %s, %s)", x.fused()("tapc_fma"), a, b, c)
}

// fused defines the functions of fma.c.
func (x Type) fused() func(function string) string {
	if x.d == scalar.Float64 {
		return x.own("fma.c", "TAPC_FAST_FMA __FP_FAST_FMA", "TAPC_ONE_FMA __builtin_fma", "TAPC_ARM_FMA __builtin_aarch64_fmav2df")
	}
	return x.own("fma.c", "TAPC_FAST_FMA __FP_FAST_FMAF", "TAPC_ONE_FMA __builtin_fmaf", "TAPC_ARM_FMA __builtin_aarch64_fmav4sf")
}

// Fuses says whether a reduction takes in its body as a product of floats.
func Fuses(monoid scalar.Op, body *scalar.Expr) bool {
	return monoid == scalar.Add && body.Op == scalar.Mul && (body.Type == scalar.Float32 || body.Type == scalar.Float64)
}

// Fused joins an accumulator with a product of two values, in the first lanes if only these are live.
func (x Type) Fused(sum, a, b Value, live string) Value {
	if sum.Uniform && a.Uniform && b.Uniform {
		return Value{Text: x.v.W.MultiplyAdd(sum.Type, a.Text, b.Text, sum.Text), Type: sum.Type, Uniform: true}
	}
	sum, a, b = x.v.Splat(sum, x.n), x.v.Splat(a, x.n), x.v.Splat(b, x.n)
	all := Value{Text: x.MultiplyAdd(a.Text, b.Text, sum.Text), Type: sum.Type}
	if live == "" {
		return all
	}
	return x.some(live, all, sum)
}

// Accumulate writes a step of a reduction: an accumulator joined with the value of an expression, in the first lanes if only these are live.
func (x Type) Accumulate(monoid scalar.Op, acc Value, body *scalar.Expr, live string, l Leaves) Value {
	v, n := x.v, x.n
	if Fuses(monoid, body) {
		return x.Fused(acc, v.Expr(body.Args[0], n, l), v.Expr(body.Args[1], n, l), live)
	}
	value := v.Expr(body, n, l)
	if !acc.Uniform {
		value = v.Splat(value, n)
	}
	if live != "" {
		value = v.Only(value, n, live, scalar.Identity(monoid, acc.Type))
	}
	args := []Value{acc, value}
	if monoid == scalar.Min || monoid == scalar.Max {
		args = []Value{value, acc} // where the first is NaN is known before the accumulator is
	}
	return v.Apply(monoid, acc.Type, n, args, acc.Uniform && value.Uniform)
}

// Exchanged writes a vector whose lanes at a distance, a power of 2, have changed places.
func Exchanged(text string, n, distance int) string {
	order := make([]string, n)
	for i := range order {
		order[i] = fmt.Sprint(i ^ distance)
	}
	return fmt.Sprintf("__builtin_shufflevector(%s, %s, %s)", text, text, strings.Join(order, ", "))
}

// Only gives a vector whose first lanes are live, and the others a value.
func (v *Printer) Only(x Value, n int, live string, other scalar.Value) Value {
	return v.Of(x.Type, n).some(live, x, v.Splat(Value{Text: v.W.Const(other), Type: x.Type, Uniform: true}, n))
}

// some gives the live lanes of x, and the others of another value.
func (t Type) some(live string, x, other Value) Value {
	v, n := t.v, t.n
	size := x.Type.Size()
	if x.Type == scalar.Bool {
		size = x.Mask
	}
	lanes := v.MaskType(size, n)
	name := v.Define(fmt.Sprintf("tapc_live_%s", strings.TrimPrefix(lanes, "tapc_")), func() string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprint(i)
		}
		return fmt.Sprintf("TAPC_FN %s tapc_live_%s(int n) { return (%s)((%s){%s} < (%s)n); }\n", lanes, strings.TrimPrefix(lanes, "tapc_"),
			lanes, lanes, strings.Join(list, ", "), v.W.Type(IntegerOf(size, true)))
	})
	c := Value{Text: fmt.Sprintf("%s(%s)", name, live), Type: scalar.Bool, Mask: size}
	return v.choose(n, c, x, other)
}
