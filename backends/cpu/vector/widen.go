package vector

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// Widened gives a kernel that computes the same with numbers of bfloat16 held as float32: each operator's result is rounded, and only
// operands have bfloat16 elements. The sum becomes a leaf of float32, which wide is. ok is false for what has no such form.
func Widened(k *schedule.Kernel, sum *scalar.Expr) (out *schedule.Kernel, wide *scalar.Expr, ok bool) {
	copied := *k
	out, copied.Statements = &copied, slices.Clone(k.Statements)
	w := &widener{sum: sum, good: true}
	if w.wide = sum; sum.Type == scalar.BFloat16 {
		c := *sum
		c.Type = scalar.Float32
		w.wide = &c
	}
	for i := range out.Statements {
		s := &out.Statements[i]
		value := w.expr(k.Statements[i].Value)
		if s.Store >= 0 && k.Operands[s.Store].Type() == scalar.BFloat16 {
			value = narrowed(value)
		}
		s.Value = value
	}
	return out, w.wide, w.good
}

type widener struct {
	sum, wide *scalar.Expr
	good      bool
}

// roundBF16 gives a value of float32 rounded to bfloat16.
func roundBF16(e *scalar.Expr) *scalar.Expr { return cast(scalar.Float32, narrowed(e)) }

func cast(to scalar.DType, e *scalar.Expr) *scalar.Expr {
	return &scalar.Expr{Op: scalar.Cast, Type: to, Args: []*scalar.Expr{e}}
}

// narrowed gives a value of float32 as bfloat16; what was just made float32 of bfloat16 is as it was.
func narrowed(e *scalar.Expr) *scalar.Expr {
	if e.Op == scalar.Cast && e.Args[0].Type == scalar.BFloat16 {
		return e.Args[0]
	}
	return cast(scalar.BFloat16, e)
}

// exactOnFloats are the operators whose result on values of a narrow float is a value of it.
var exactOnFloats = []scalar.Op{scalar.Neg, scalar.Abs, scalar.Sign, scalar.Floor, scalar.Ceil, scalar.Round, scalar.Trunc,
	scalar.Min, scalar.Max, scalar.Where}

func (w *widener) expr(e *scalar.Expr) *scalar.Expr {
	narrow := e.Type == scalar.BFloat16
	switch {
	case e == w.sum && narrow:
		return roundBF16(w.wide)
	case e == w.sum:
		return e
	case e.Op == scalar.Load && narrow:
		return cast(scalar.Float32, e)
	case e.Op == scalar.Const && narrow:
		return scalar.NewConst(scalar.FloatValue(scalar.Float32, e.Value.F))
	}
	c := *e
	c.Args = make([]*scalar.Expr, len(e.Args))
	for i, a := range e.Args {
		c.Args[i] = w.expr(a)
	}
	switch {
	case e.Op == scalar.Cast && e.Args[0].Type == scalar.BFloat16 && e.Type == scalar.Float32:
		return c.Args[0]
	case e.Op == scalar.Cast && narrow:
		return w.cast(c.Args[0])
	case narrow:
		c.Type = scalar.Float32
		if e.Op != scalar.Local && !slices.Contains(exactOnFloats, e.Op) {
			return roundBF16(&c)
		}
	}
	w.good = w.good && nest.Vectorizable(c.Type)
	return &c
}

// cast makes bfloat16 of a value that float32 holds exactly: others would be rounded twice.
func (w *widener) cast(from *scalar.Expr) *scalar.Expr {
	switch d := from.Type; {
	case d == scalar.Float32:
		return roundBF16(from)
	case d == scalar.Bool || d.IsInt() && d.Bits() <= 16:
		return roundBF16(cast(scalar.Float32, from))
	}
	w.good = false
	return from
}

// saturate converts float32 to integers of at most 16 bits: truncated, the nearest that there is, 0 of NaN.
func (v *Printer) saturate(to scalar.DType, n int, a Value) Value {
	t, whole, result := v.Type(scalar.Float32, n), v.Type(scalar.Int32, n), v.Type(to, n)
	lo, hi := int64(0), int64(1)<<to.Bits()-1
	if to.IsSigned() {
		lo, hi = -1<<(to.Bits()-1), 1<<(to.Bits()-1)-1
	}
	bound := func(x int64) string {
		return v.Splat(Value{Text: v.W.Const(scalar.FloatValue(scalar.Float32, float64(x))), Type: scalar.Float32, Uniform: true}, n).Text
	}
	name := fmt.Sprintf("tapc_saturate_%s", shortName(to, n))
	v.Define(name, func() string {
		inside := v.greater(scalar.Float32, n, "<", v.greater(scalar.Float32, n, ">", "x", bound(lo)), bound(hi))
		return fmt.Sprintf("TAPC_FN %s %s(%s x) {\n  const %s r = (%s)%s & (%s)(x == x);\n"+
			"  const %s i = __builtin_convertvector((%s)r, %s);\n%s}\n", result, name, t, whole, whole, inside, whole, whole, t, whole, low(to, n, result))
	})
	return Value{Text: fmt.Sprintf("%s(%s)", name, a.Text), Type: to}
}

// low writes how the low bytes of 32-bit integers i are returned. Below AVX-512 GCC 12 takes them out of the vector one by one, unless they are
// told to be moved.
func low(to scalar.DType, n int, result string) string {
	plain := fmt.Sprintf("  return __builtin_convertvector(i, %s);\n", result)
	if to.Size() != 1 {
		return plain
	}
	lanes := make([]string, n)
	for l := range lanes {
		lanes[l] = fmt.Sprint(4 * l)
	}
	return fmt.Sprintf("#if defined(__AVX2__) && !defined(__AVX512VL__)\n  typedef %s bytes __attribute__((vector_size(%d)));\n"+
		"  return __builtin_shufflevector((bytes)i, (bytes)i, %s);\n#else\n%s#endif\n", cexpr.CType(to), 4*n, strings.Join(lanes, ", "), plain)
}

// BF16 converts vectors between float32 and bfloat16, whose values are held as their bits.
func (v *Printer) BF16(to scalar.DType, n int, a Value) Value {
	bits, floats, ints := v.Type(scalar.BFloat16, n), v.Type(scalar.Float32, n), v.Type(scalar.UInt32, n)
	name := "tapc_from_" + shortName(scalar.BFloat16, n)
	if to == scalar.Float32 {
		v.Define(name, func() string {
			return "TAPC_FN " + floats + " " + name + "(" + bits + " x) {\n  return (" + floats + ")(__builtin_convertvector(x, " + ints + ") << 16);\n}\n"
		})
		return Value{Text: name + "(" + a.Text + ")", Type: to}
	}
	return Value{Text: "__builtin_convertvector(" + v.ToBF16(n) + "((" + ints + ")" + a.Text + "), " + bits + ")", Type: to}
}

// ToBF16 names the function that rounds the bits of float32 numbers to those of bfloat16, to nearest even; NaN stays NaN.
func (v *Printer) ToBF16(n int) string {
	t, ints := v.Type(scalar.UInt32, n), v.Type(scalar.Int32, n)
	name := "tapc_to_" + shortName(scalar.BFloat16, n)
	return v.Define(name, func() string {
		return "TAPC_FN " + t + " " + name + "(" + t + " x) {\n" +
			"  const " + t + " nan = (" + t + ")((" + ints + ")(x & 0x7fffffffu) > 0x7f800000);\n" +
			"  return ((x + 0x7fffu + (x >> 16 & 1u)) >> 16 & ~nan) | ((x >> 16 | 0x40u) & nan);\n}\n"
	})
}
