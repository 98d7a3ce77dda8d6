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
	v, d, n := x.v, x.d, x.n
	t := v.Type(d, n)
	short := strings.TrimPrefix(t, "tapc_")
	name := v.Define("tapc_fma_"+short, func() string {
		double := d == scalar.Float64
		x86, arm, one, fast := "ps", "sf", "__builtin_fmaf", "__FP_FAST_FMAF"
		if double {
			x86, arm, one, fast = "pd", "df", "__builtin_fma", "__FP_FAST_FMA"
		}
		own := ""
		switch n * d.Size() {
		case 64:
			own = fmt.Sprintf("#elif defined(__AVX512F__)\n  return __builtin_ia32_vfmadd%s512_mask(a, b, c, (uint%d_t)-1, 4);\n", x86, max(8, n))
		case 32:
			own = fmt.Sprintf("#elif defined(__FMA__)\n  return __builtin_ia32_vfmadd%s256(a, b, c);\n", x86)
		case 16:
			own = fmt.Sprintf("#elif defined(__FMA__)\n  return __builtin_ia32_vfmadd%s(a, b, c);\n", x86) +
				fmt.Sprintf("#elif defined(__aarch64__) && !defined(__clang__)\n  return __builtin_aarch64_fmav%d%s(a, b, c);\n", n, arm)
		}
		return fmt.Sprintf("#if !defined(__has_builtin)\n#define __has_builtin(x) 0\n#endif\nTAPC_FN %[1]s tapc_fma_%[2]s(%[1]s a, %[1]s b, %[1]s c) {\n"+
			"#if !defined(%[3]s) && !defined(__FMA__) && !defined(__aarch64__)\n  return a * b + c;\n"+
			"#elif __has_builtin(__builtin_elementwise_fma)\n  return __builtin_elementwise_fma(a, b, c);\n%[4]s"+
			"#elif defined(__clang__)\n  _Pragma(\"clang fp contract(fast)\")\n  return a * b + c;\n"+
			"#else\n  for (int i = 0; i < %[5]d; i++) c[i] = %[6]s(a[i], b[i], c[i]);\n  return c;\n#endif\n}\n", t, short, fast, own, n, one)
	})
	return fmt.Sprintf("%s(%s, %s, %s)", name, a, b, c)
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
