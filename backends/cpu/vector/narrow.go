package vector

import (
	"fmt"

	"tensortapestry.org/tapc/ir/scalar"
)

// wide converts 8 or 16 integers of one or two bytes to four.
func (v *Printer) wide(to scalar.DType, n int, a Value) Value {
	x, size, sign := v.Of(a.Type, n), a.Type.Size(), map[bool]string{true: "s", false: "z"}[a.Type.IsSigned()]
	name := x.File(own, "wide.c", "_"+ElementName(to), "TAPC_WIDE "+v.Type(to, n), "TAPC_SHORTS "+v.Type(IntegerOf(2, a.Type.IsSigned()), n), fmt.Sprintf("TAPC_SIZE %d", size),
		"TAPC_IN "+map[int]string{1: "char", 2: "short"}[size], "TAPC_MOVE(bits) __builtin_ia32_pmov"+sign+"x"+map[int]string{1: "b", 2: "w"}[size]+"d##bits")("tapc_wide")
	return Value{Text: fmt.Sprintf("%s(%s)", name, a.Text), Type: to}
}

// saturate converts float32 to integers of at most 16 bits.
func (v *Printer) saturate(to scalar.DType, n int, a Value) Value {
	lo, hi := int64(0), int64(1)<<to.Bits()-1
	if to.IsSigned() {
		lo, hi = -1<<(to.Bits()-1), 1<<(to.Bits()-1)-1
	}
	bound := func(x int64) string {
		return v.Splat(Value{Text: v.W.Const(scalar.FloatValue(scalar.Float32, float64(x))), Type: scalar.Float32, Uniform: true}, n).Text
	}
	within := v.greater(scalar.Float32, n, "<", v.greater(scalar.Float32, n, ">", "x", bound(lo)), bound(hi))
	name := v.Of(to, n).File(own, "saturate.c", "", append(floats(v, n), "TAPC_WITHIN(x) "+within, fmt.Sprintf("TAPC_SIZE %d", to.Size()), "TAPC_LOW "+listed(n, func(i int) int { return 4 * i }))...)("tapc_saturate")
	return Value{Text: fmt.Sprintf("%s(%s)", name, a.Text), Type: to}
}

// floats are the macros of vectors of float32 and of integers of the same size.
func floats(v *Printer, n int) []string {
	return []string{"TAPC_FLOATS " + v.Type(scalar.Float32, n), "TAPC_WHOLE " + v.Type(scalar.Int32, n), "TAPC_BITS " + v.Type(scalar.UInt32, n)}
}

// BF16 converts vectors between float32 and bfloat16, whose values are their bits.
func (v *Printer) BF16(to scalar.DType, n int, a Value) Value {
	if to == scalar.Float32 {
		return Value{Text: bf16(v, n)("tapc_from") + "(" + a.Text + ")", Type: to}
	}
	return Value{Text: fmt.Sprintf("__builtin_convertvector(%s((%s)%s), %s)", v.ToBF16(n), v.Type(scalar.UInt32, n), a.Text, v.Type(scalar.BFloat16, n)), Type: to}
}

// ToBF16 names the function that rounds the bits of float32 numbers to those of bfloat16.
func (v *Printer) ToBF16(n int) string { return bf16(v, n)("tapc_to") }

// bf16 defines the functions of bf16.c.
func bf16(v *Printer, n int) func(function string) string {
	return v.Of(scalar.BFloat16, n).File(own, "bf16.c", "", floats(v, n)...)
}

// Bits gives the truth of lanes of four bytes, a bit for each.
func (v *Printer) Bits(mask string, n int) string {
	return fmt.Sprintf("%s(%s)", v.Of(scalar.Int32, n).File(own, "bits.c", "")("tapc_bits"), mask)
}
