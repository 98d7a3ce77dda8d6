package vector

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
)

// Leaves gives the values of an expression's leaves.
type Leaves interface {
	Load(ref int) Value
	Local(ref int) Value
	Loop(ref int) Value
	Reduce(e *scalar.Expr) Value
	// guarded gives the value of a choice between a load and a constant whose condition differs from lane to lane; ok is false if
	// e is none.
	Guarded(e *scalar.Expr) (x Value, ok bool)
}

// VectorKernel says whether all that a kernel computes can be written with vectors: of types that there are vectors of, and
// reading only elements that exist wherever its loops stand, since lanes that a choice does not pick are read too; one operand
// aside.
func VectorKernel(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, aside int) bool {
	return nest.VectorsOnly(k) && VectorBounds(k, buffers, aside)
}

// VectorBounds says whether operands are read only inside their buffers, wherever the loops stand; one operand aside.
func VectorBounds(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, aside int) bool {
	for i := range k.Operands {
		if i != aside && !nest.Inside(k, buffers, i) {
			return false
		}
	}
	return true
}

// Expr writes an expression on n lanes. What is the same in all lanes is computed once.
func (v *Printer) Expr(e *scalar.Expr, n int, l Leaves) Value {
	switch e.Op {
	case scalar.Const:
		return Value{Text: v.W.Const(e.Value), Type: e.Type, Uniform: true, number: e.Value.F == e.Value.F,
			zero: e.Value.F == 0}
	case scalar.Load:
		return l.Load(e.Ref)
	case scalar.Local:
		return l.Local(e.Ref)
	case scalar.Loop:
		return l.Loop(e.Ref)
	case scalar.Reduce:
		return l.Reduce(e)
	case scalar.IsNaN, scalar.IsInf:
		if !e.Args[0].Type.IsFloat() {
			return Value{Text: "0", Type: scalar.Bool, Uniform: true}
		}
	}
	if x, ok := l.Guarded(e); ok {
		return x
	}
	args, uniform := make([]Value, len(e.Args)), true
	for i, a := range e.Args {
		args[i] = v.Expr(a, n, l)
		uniform = uniform && args[i].Uniform
	}
	return v.Apply(e.Op, e.Type, n, args, uniform)
}

// Apply writes an operator on values.
func (v *Printer) Apply(op scalar.Op, to scalar.DType, n int, args []Value, uniform bool) Value {
	if uniform {
		texts := make([]string, len(args))
		for i, a := range args {
			texts[i] = a.Text
		}
		return Value{Text: v.W.Apply(op, to, args[0].Type, texts...), Type: to, Uniform: true}
	}
	if op == scalar.Max || op == scalar.Min {
		if x, ok := v.clamp(op, n, args); ok {
			return x
		}
	}
	if op == scalar.Where && args[0].Uniform && to != scalar.Bool {
		return Value{Text: fmt.Sprintf("(%s ? %s : %s)", args[0].Text, v.Splat(args[1], n).Text, v.Splat(args[2], n).Text), Type: to}
	}
	if (op == scalar.Shl || op == scalar.Shr) && args[1].Uniform && to.Size() >= 4 {
		return shift(v, op, n, args[0], args[1].Text)
	}
	if op == scalar.Div && v.Allow.Has(permission.Reciprocal) && to.IsFloat() && args[1].Uniform { // compilers compute the reciprocal once
		one := v.W.Const(scalar.FloatValue(to, 1))
		op, args[1].Text = scalar.Mul, fmt.Sprintf("(%s / %s)", one, args[1].Text)
	}
	for i := range args {
		args[i] = v.Splat(args[i], n)
	}
	switch {
	case op == scalar.Where:
		return v.choose(n, args[0], args[1], args[2])
	case op == scalar.Cast:
		return v.cast(to, n, args[0])
	case op == scalar.Bitcast:
		return v.bitcast(to, n, args[0])
	case op >= scalar.Eq && op <= scalar.Ge:
		return v.compare(op, n, args[0], args[1])
	case args[0].Type == scalar.Bool:
		return v.logic(op, n, args)
	}
	if x, ok := v.arithmetic(op, n, args); ok {
		return x
	}
	return v.lanewise(op, to, n, args)
}

// Mask gives a truth vector lanes of a size.
func (v *Printer) Mask(x Value, size, n int) string {
	if x.Mask == size {
		return x.Text
	}
	return fmt.Sprintf("__builtin_convertvector(%s, %s)", x.Text, v.MaskType(size, n))
}

// choose picks lanes by a truth vector, bit by bit.
func (v *Printer) choose(n int, c, a, b Value) Value {
	if a.Type == scalar.Bool {
		size := max(a.Mask, b.Mask)
		t := v.MaskType(size, n)
		return Value{Text: v.Pick(t, t, v.Mask(c, size, n), v.Mask(a, size, n), v.Mask(b, size, n)), Type: a.Type, Mask: size}
	}
	size := a.Type.Size()
	return Value{Text: v.Pick(v.Type(a.Type, n), v.MaskType(size, n), v.Mask(c, size, n), a.Text, b.Text), Type: a.Type}
}

// greater gives a where it is greater (or with "<" less) than b, else b, which processors have an instruction for.
func (v *Printer) greater(d scalar.DType, n int, sign, a, b string) string {
	return fmt.Sprintf("%s(%s, %s)", v.Of(d, n).extremes()(map[string]string{">": "tapc_greater", "<": "tapc_less"}[sign]), a, b)
}

// compare gives a truth vector.
func (v *Printer) compare(op scalar.Op, n int, a, b Value) Value {
	if a.Type == scalar.Bool {
		size := max(a.Mask, b.Mask)
		u := v.Type(IntegerOf(size, false), n) // as unsigned numbers, true is the greater
		text := fmt.Sprintf("((%s)%s %s (%s)%s)", u, v.Mask(a, size, n), cComparison[op], u, v.Mask(b, size, n))
		return Value{Text: text, Type: scalar.Bool, Mask: size}
	}
	size := a.Type.Size()
	return Value{Text: fmt.Sprintf("((%s)(%s %s %s))", v.MaskType(size, n), a.Text, cComparison[op], b.Text), Type: scalar.Bool, Mask: size}
}

var cComparison = map[scalar.Op]string{scalar.Eq: "==", scalar.Ne: "!=", scalar.Lt: "<", scalar.Le: "<=", scalar.Gt: ">", scalar.Ge: ">="}

var cInfix = map[scalar.Op]string{scalar.Add: "+", scalar.Sub: "-", scalar.Mul: "*", scalar.Div: "/",
	scalar.And: "&", scalar.Or: "|", scalar.Xor: "^"}

// logic writes an operator on truth vectors.
func (v *Printer) logic(op scalar.Op, n int, args []Value) Value {
	size := args[0].Mask
	for _, a := range args {
		size = max(size, a.Mask)
	}
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = v.Mask(a, size, n)
	}
	var text string
	switch op {
	case scalar.Not:
		text = "(~" + texts[0] + ")"
	case scalar.And, scalar.Or, scalar.Xor:
		text = fmt.Sprintf("(%s %s %s)", texts[0], cInfix[op], texts[1])
	case scalar.Min: // true is -1
		text = fmt.Sprintf("(%s & %s)", texts[0], texts[1])
	case scalar.Max:
		text = fmt.Sprintf("(%s | %s)", texts[0], texts[1])
	default:
		return v.lanewise(op, scalar.Bool, n, args)
	}
	return Value{Text: text, Type: scalar.Bool, Mask: size}
}

// arithmetic writes what an infix operator does.
func (v *Printer) arithmetic(op scalar.Op, n int, args []Value) (Value, bool) {
	d := args[0].Type
	t := v.Type(d, n)
	infix, ok := cInfix[op]
	switch {
	case d.IsFloat():
		switch op {
		case scalar.Add, scalar.Sub, scalar.Mul, scalar.Div:
			return Value{Text: fmt.Sprintf("(%s %s %s)", args[0].Text, infix, args[1].Text), Type: d}, true
		case scalar.Neg:
			return Value{Text: "(-" + args[0].Text + ")", Type: d}, true
		case scalar.Abs:
			m := v.MaskType(d.Size(), n)
			return Value{Text: fmt.Sprintf("((%s)((%s)%s & ~(%s)-(%s){0}))", t, m, args[0].Text, m, t), Type: d}, true
		case scalar.IsNaN:
			return v.compare(scalar.Ne, n, args[0], args[0]), true
		case scalar.Min, scalar.Max:
			return v.extreme(op, n, args[0], args[1]), true
		}
		return Function(v, op, n, args)
	case op == scalar.Min || op == scalar.Max:
		c := v.compare(map[scalar.Op]scalar.Op{scalar.Min: scalar.Lt, scalar.Max: scalar.Gt}[op], n, args[0], args[1])
		return v.choose(n, c, args[0], args[1]), true
	case op == scalar.And || op == scalar.Or || op == scalar.Xor:
		return Value{Text: fmt.Sprintf("(%s %s %s)", args[0].Text, infix, args[1].Text), Type: d}, true
	case op == scalar.Not:
		return Value{Text: "(~" + args[0].Text + ")", Type: d}, true
	case ok && op != scalar.Div: // unsigned, as they wrap
		u := v.Type(UnsignedOf(d), n)
		return Value{Text: fmt.Sprintf("((%s)((%s)%s %s (%s)%s))", t, u, args[0].Text, infix, u, args[1].Text), Type: d}, true
	case op == scalar.Neg:
		u := v.Type(UnsignedOf(d), n)
		return Value{Text: fmt.Sprintf("((%s)-(%s)%s)", t, u, args[0].Text), Type: d}, true
	}
	return Value{}, false
}

// shift moves the bits of all lanes by as many places, for which processors have an instruction.
func shift(v *Printer, op scalar.Op, n int, a Value, places string) Value {
	d := a.Type
	t, u, part := v.Type(d, n), v.Type(UnsignedOf(d), n), v.W.Type(UnsignedOf(d))
	name := v.Define(fmt.Sprintf("tapc_%v_%sx%d_by", op, ElementName(d), n), func() string {
		body := fmt.Sprintf("return b < %d ? (%s)((%s)a %s b) : (%s){0};", d.Bits(), t, u, map[scalar.Op]string{scalar.Shl: "<<", scalar.Shr: ">>"}[op], t)
		if op == scalar.Shr && d.IsSigned() {
			body = fmt.Sprintf("return a >> (%s)(b < %d ? b : %d);", v.W.Type(d), d.Bits(), d.Bits()-1)
		}
		return fmt.Sprintf("TAPC_FN %s tapc_%v_%sx%d_by(%s a, %s b) { %s }\n", t, op, ElementName(d), n, t, part, body)
	})
	return Value{Text: fmt.Sprintf("%s(%s, (%s)(%s))", name, a.Text, part, places), Type: d}
}

// extreme is the least or greatest of two floats: NaN if either is NaN, and of equal values the second.
//
// Where NaN may be lost it is the processor's instruction, which gives the second of two values that do not compare.
func (v *Printer) extreme(op scalar.Op, n int, a, b Value) Value {
	functions := v.Of(a.Type, n).extremes()
	name := functions(fmt.Sprintf("tapc_%v", op))
	if v.Allow.Has(permission.LostNaN) {
		name = functions(map[scalar.Op]string{scalar.Max: "tapc_greater", scalar.Min: "tapc_less"}[op])
	}
	return Value{Text: fmt.Sprintf("%s(%s, %s)", name, a.Text, b.Text), Type: a.Type}
}

// clamp is extreme with a constant on one side, which is not NaN.
func (v *Printer) clamp(op scalar.Op, n int, args []Value) (Value, bool) {
	x, bound := args[0], args[1]
	if !x.Type.IsFloat() || x.Uniform || !bound.number {
		return Value{}, false
	}
	sign := "<"
	if op == scalar.Max {
		sign = ">"
	}
	text := v.greater(x.Type, n, sign, v.Splat(bound, n).Text, x.Text)
	if bound.zero { // of -0 and 0 the second
		text = fmt.Sprintf("(%s + %s)", text, bound.Text)
	}
	return Value{Text: text, Type: x.Type}, true
}

// cast converts; what C does not define is left to lanewise.
func (v *Printer) cast(to scalar.DType, n int, a Value) Value {
	from := a.Type
	switch {
	case to == from:
		return a
	case to == scalar.BFloat16 || from == scalar.BFloat16:
		return v.BF16(to, n, a)
	case to == scalar.Bool:
		zero := Value{Text: fmt.Sprintf("(%s){0}", v.Type(from, n)), Type: from}
		return v.compare(scalar.Ne, n, a, zero)
	case from == scalar.Bool:
		m := v.MaskType(a.Mask, n)
		return Value{Text: fmt.Sprintf("__builtin_convertvector((%s)-%s, %s)", m, a.Text, v.Type(to, n)), Type: to}
	case to.IsInt() && to.Size() <= 2 && from == scalar.Float32:
		return v.saturate(to, n, a)
	case to.IsInt() && from.IsFloat():
		return v.lanewise(scalar.Cast, to, n, []Value{a})
	case from.IsInt() && from.Size() < 4 && (to == scalar.Int32 || to == scalar.UInt32) && (n == 8 || n == 16):
		return v.wide(to, n, a)
	case from.IsInt() && from.Size() < 4 && (to.IsFloat() || to.Size() == 8) && (n == 8 || n == 16):
		return v.cast(to, n, v.wide(scalar.Int32, n, a))
	case from.IsInt() && from.Size() < 4 && (to.IsFloat() || to.Size() > 2*from.Size()): // step by step, which GCC 12 has instructions for
		return v.cast(to, n, v.cast(IntegerOf(2*from.Size(), from.IsSigned() || from.Size() == 2), n, a))
	}
	return Value{Text: fmt.Sprintf("__builtin_convertvector(%s, %s)", a.Text, v.Type(to, n)), Type: to}
}

// bitcast reads lanes as those of a type of the same size; booleans are the numbers 0 and 1.
func (v *Printer) bitcast(to scalar.DType, n int, a Value) Value {
	switch {
	case a.Type == scalar.Bool:
		a = v.cast(scalar.UInt8, n, a)
	case to == scalar.Bool:
		return v.cast(to, n, a)
	}
	return Value{Text: fmt.Sprintf("((%s)%s)", v.Type(to, n), a.Text), Type: to}
}

// lanewise applies the scalar operator lane by lane. The lanes go through an array: GCC 12 fails on some vectors that are set
// lane by lane.
func (v *Printer) lanewise(op scalar.Op, to scalar.DType, n int, args []Value) Value {
	var name, params strings.Builder
	fmt.Fprintf(&name, "tapc_%v_%sx%d", op, ElementName(to), n)
	texts, lane := make([]string, len(args)), make([]string, len(args))
	for i, a := range args {
		t, letter := v.Type(a.Type, n), string(rune('a'+i))
		lane[i] = letter + "[i]"
		if a.Type == scalar.Bool {
			t = v.MaskType(a.Mask, n)
			lane[i] = "(uint8_t)-" + lane[i]
			fmt.Fprintf(&name, "_m%d", a.Mask)
		} else {
			name.WriteString("_" + ElementName(a.Type))
		}
		if i > 0 {
			params.WriteString(", ")
		}
		params.WriteString(t + " " + letter)
		texts[i] = a.Text
	}
	out := Value{Type: to}
	t, lanes, sign := v.Type(to, n), v.W.Type(to), ""
	if to == scalar.Bool {
		out.Mask = args[0].Type.Size()
		t, lanes, sign = v.MaskType(out.Mask, n), fmt.Sprintf("int%d_t", 8*out.Mask), "-"
	}
	v.Define(name.String(), func() string {
		return fmt.Sprintf("TAPC_FN %s %s(%s) {\n  %s x[%d];\n  %s r;\n  for (int i = 0; i < %d; i++) x[i] = %s%s;\n  __builtin_memcpy(&r, x, sizeof r);\n  return r;\n}\n",
			t, name.String(), params.String(), lanes, n, t, n, sign, v.W.Apply(op, to, args[0].Type, lane...))
	})
	out.Text = fmt.Sprintf("%s(%s)", name.String(), strings.Join(texts, ", "))
	return out
}

// Truth makes a truth vector of loaded booleans, and back: bytes 0 or 1.
func (v *Printer) Truth(bytes string, n int) Value {
	return Value{Text: fmt.Sprintf("((%s)(%s != 0))", v.MaskType(1, n), bytes), Type: scalar.Bool, Mask: 1}
}

// Bytes makes bytes 0 or 1 of a truth vector.
func (v *Printer) Bytes(x Value, n int) string {
	return fmt.Sprintf("((%s)-%s)", v.Type(scalar.UInt8, n), v.Mask(x, 1, n))
}

// Extent writes the lesser or greater of two numbers.
func (v *Printer) Extent(which, a, b string) string {
	sign := map[string]string{"least": "<", "most": ">"}[which]
	name := v.Define("tapc_"+which, func() string {
		return fmt.Sprintf("TAPC_FN int64_t tapc_%s(int64_t a, int64_t b) { return a %s b ? a : b; }\n", which, sign)
	})
	return fmt.Sprintf("%s(%s, %s)", name, a, b)
}
