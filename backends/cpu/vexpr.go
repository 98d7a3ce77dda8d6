package cpu

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
)

// leaves gives the values of an expression's leaves.
type leaves interface {
	load(ref int) value
	local(ref int) value
	loop(ref int) value
	reduce(e *scalar.Expr) value
	// guarded gives the value of a choice between a load and a constant whose condition differs from lane to lane; ok is false if
	// e is none.
	guarded(e *scalar.Expr) (x value, ok bool)
}

// canVectorize says whether an expression, reductions aside, has only types that there are vectors of.
func canVectorize(e *scalar.Expr) bool {
	good := true
	e.Walk(func(e *scalar.Expr) bool {
		good = good && vectorizable(e.Type)
		return good
	})
	return good
}

// expr writes an expression on n lanes. What is the same in all lanes is computed once.
func (v *vectors) expr(e *scalar.Expr, n int, l leaves) value {
	switch e.Op {
	case scalar.Const:
		return value{text: v.w.Const(e.Value), typ: e.Type, uniform: true, number: e.Value.F == e.Value.F,
			zero: e.Value.F == 0}
	case scalar.Load:
		return l.load(e.Ref)
	case scalar.Local:
		return l.local(e.Ref)
	case scalar.Loop:
		return l.loop(e.Ref)
	case scalar.Reduce:
		return l.reduce(e)
	case scalar.IsNaN, scalar.IsInf:
		if !e.Args[0].Type.IsFloat() {
			return value{text: "0", typ: scalar.Bool, uniform: true}
		}
	}
	if x, ok := l.guarded(e); ok {
		return x
	}
	args, uniform := make([]value, len(e.Args)), true
	for i, a := range e.Args {
		args[i] = v.expr(a, n, l)
		uniform = uniform && args[i].uniform
	}
	return v.apply(e.Op, e.Type, n, args, uniform)
}

// apply writes an operator on values.
func (v *vectors) apply(op scalar.Op, to scalar.DType, n int, args []value, uniform bool) value {
	if uniform {
		texts := make([]string, len(args))
		for i, a := range args {
			texts[i] = a.text
		}
		return value{text: v.w.Apply(op, to, args[0].typ, texts...), typ: to, uniform: true}
	}
	if op == scalar.Max || op == scalar.Min {
		if x, ok := v.clamp(op, n, args); ok {
			return x
		}
	}
	if op == scalar.Where && args[0].uniform && to != scalar.Bool {
		return value{text: fmt.Sprintf("(%s ? %s : %s)", args[0].text, v.splat(args[1], n).text, v.splat(args[2], n).text), typ: to}
	}
	if op == scalar.Div && v.allow.Has(permission.Reciprocal) && to.IsFloat() && args[1].uniform { // compilers compute the reciprocal once
		one := v.w.Const(scalar.FloatValue(to, 1))
		op, args[1].text = scalar.Mul, fmt.Sprintf("(%s / %s)", one, args[1].text)
	}
	for i := range args {
		args[i] = v.splat(args[i], n)
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
	case args[0].typ == scalar.Bool:
		return v.logic(op, n, args)
	}
	if x, ok := v.arithmetic(op, n, args); ok {
		return x
	}
	return v.lanewise(op, to, n, args)
}

// maskType is the type of truth vectors with lanes of a size.
func (v *vectors) maskType(size, n int) string { return v.typ(integerOf(size, true), n) }

// mask gives a truth vector lanes of a size.
func (v *vectors) mask(x value, size, n int) string {
	if x.mask == size {
		return x.text
	}
	return fmt.Sprintf("__builtin_convertvector(%s, %s)", x.text, v.maskType(size, n))
}

// choose picks lanes by a truth vector, bit by bit.
func (v *vectors) choose(n int, c, a, b value) value {
	if a.typ == scalar.Bool {
		size := max(a.mask, b.mask)
		t := v.maskType(size, n)
		return value{text: v.pick(t, t, v.mask(c, size, n), v.mask(a, size, n), v.mask(b, size, n)), typ: a.typ, mask: size}
	}
	size := a.typ.Size()
	return value{text: v.pick(v.typ(a.typ, n), v.maskType(size, n), v.mask(c, size, n), a.text, b.text), typ: a.typ}
}

func (v *vectors) pick(t, mask, c, a, b string) string {
	short := strings.TrimPrefix(t, "tapc_")
	name := v.define("tapc_pick_"+short, func() string {
		return fmt.Sprintf("TAPC_FN %s tapc_pick_%s(%s c, %s a, %s b) { return (%s)((c & (%s)a) | (~c & (%s)b)); }\n",
			t, short, mask, t, t, t, mask, mask)
	})
	return fmt.Sprintf("%s(%s, %s, %s)", name, c, a, b)
}

// greater gives a where it is greater (or with "<" less) than b, else b, which processors have an instruction for.
func (v *vectors) greater(d scalar.DType, n int, sign, a, b string) string {
	short := fmt.Sprintf("%sx%d", elementName(d), n)
	t, word := v.typ(d, n), map[string]string{">": "greater", "<": "less"}[sign]
	name := v.define(fmt.Sprintf("tapc_%s_%s", word, short), func() string {
		plain := "  return " + v.pick(t, v.maskType(d.Size(), n), fmt.Sprintf("a %s b", sign), "a", "b") + ";\n"
		do := map[string]string{">": "max", "<": "min"}[sign] + map[scalar.DType]string{scalar.Float32: "ps", scalar.Float64: "pd"}[d]
		switch n * d.Size() {
		case 64:
			plain = fmt.Sprintf("#if !defined(__AVX512F__)\n%s#elif defined(__clang__)\n  return __builtin_ia32_%s512(a, b, 4);\n"+
				"#else\n  return __builtin_ia32_%s512_mask(a, b, a, -1, 4);\n#endif\n", plain, do, do)
		case 32:
			plain = fmt.Sprintf("#if defined(__AVX__)\n  return __builtin_ia32_%s256(a, b);\n#else\n%s#endif\n", do, plain)
		case 16:
			plain = fmt.Sprintf("#if defined(__SSE2__)\n  return __builtin_ia32_%s(a, b);\n#else\n%s#endif\n", do, plain)
		}
		return fmt.Sprintf("TAPC_FN %s tapc_%s_%s(%s a, %s b) {\n%s}\n", t, word, short, t, t, plain)
	})
	return fmt.Sprintf("%s(%s, %s)", name, a, b)
}

// compare gives a truth vector.
func (v *vectors) compare(op scalar.Op, n int, a, b value) value {
	if a.typ == scalar.Bool {
		size := max(a.mask, b.mask)
		u := v.typ(integerOf(size, false), n) // as unsigned numbers, true is the greater
		text := fmt.Sprintf("((%s)%s %s (%s)%s)", u, v.mask(a, size, n), cComparison[op], u, v.mask(b, size, n))
		return value{text: text, typ: scalar.Bool, mask: size}
	}
	size := a.typ.Size()
	return value{text: fmt.Sprintf("((%s)(%s %s %s))", v.maskType(size, n), a.text, cComparison[op], b.text), typ: scalar.Bool, mask: size}
}

var cComparison = map[scalar.Op]string{scalar.Eq: "==", scalar.Ne: "!=", scalar.Lt: "<", scalar.Le: "<=", scalar.Gt: ">", scalar.Ge: ">="}

var cInfix = map[scalar.Op]string{scalar.Add: "+", scalar.Sub: "-", scalar.Mul: "*", scalar.Div: "/",
	scalar.And: "&", scalar.Or: "|", scalar.Xor: "^"}

// logic writes an operator on truth vectors.
func (v *vectors) logic(op scalar.Op, n int, args []value) value {
	size := args[0].mask
	for _, a := range args {
		size = max(size, a.mask)
	}
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = v.mask(a, size, n)
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
	return value{text: text, typ: scalar.Bool, mask: size}
}

// arithmetic writes what an infix operator does.
func (v *vectors) arithmetic(op scalar.Op, n int, args []value) (value, bool) {
	d := args[0].typ
	t := v.typ(d, n)
	infix, ok := cInfix[op]
	switch {
	case d.IsFloat():
		switch op {
		case scalar.Add, scalar.Sub, scalar.Mul, scalar.Div:
			return value{text: fmt.Sprintf("(%s %s %s)", args[0].text, infix, args[1].text), typ: d}, true
		case scalar.Neg:
			return value{text: "(-" + args[0].text + ")", typ: d}, true
		case scalar.Abs:
			m := v.maskType(d.Size(), n)
			return value{text: fmt.Sprintf("((%s)((%s)%s & ~(%s)-(%s){0}))", t, m, args[0].text, m, t), typ: d}, true
		case scalar.IsNaN:
			return v.compare(scalar.Ne, n, args[0], args[0]), true
		case scalar.Min, scalar.Max:
			return v.extreme(op, n, args[0], args[1]), true
		}
		return v.function(op, n, args)
	case op == scalar.Min || op == scalar.Max:
		c := v.compare(map[scalar.Op]scalar.Op{scalar.Min: scalar.Lt, scalar.Max: scalar.Gt}[op], n, args[0], args[1])
		return v.choose(n, c, args[0], args[1]), true
	case op == scalar.And || op == scalar.Or || op == scalar.Xor:
		return value{text: fmt.Sprintf("(%s %s %s)", args[0].text, infix, args[1].text), typ: d}, true
	case op == scalar.Not:
		return value{text: "(~" + args[0].text + ")", typ: d}, true
	case ok && op != scalar.Div: // unsigned, as they wrap
		u := v.typ(unsignedOf(d), n)
		return value{text: fmt.Sprintf("((%s)((%s)%s %s (%s)%s))", t, u, args[0].text, infix, u, args[1].text), typ: d}, true
	case op == scalar.Neg:
		u := v.typ(unsignedOf(d), n)
		return value{text: fmt.Sprintf("((%s)-(%s)%s)", t, u, args[0].text), typ: d}, true
	}
	return value{}, false
}

// extreme is the least or greatest of two floats: NaN if either is NaN, and of equal values the second.
//
// Where NaN may be lost it is the processor's instruction, which gives the second of two values that do not compare.
func (v *vectors) extreme(op scalar.Op, n int, a, b value) value {
	t, m := v.typ(a.typ, n), v.maskType(a.typ.Size(), n)
	sign := "<"
	if op == scalar.Max {
		sign = ">"
	}
	if v.allow.Has(permission.LostNaN) {
		return value{text: v.greater(a.typ, n, sign, a.text, b.text), typ: a.typ}
	}
	name := v.define(fmt.Sprintf("tapc_%v_%sx%d", op, elementName(a.typ), n), func() string {
		return fmt.Sprintf("TAPC_FN %s tapc_%v_%sx%d(%s a, %s b) { return %s; }\n", t, op, elementName(a.typ), n, t, t,
			v.pick(t, m, "a != a", "a", v.greater(a.typ, n, sign, "a", "b")))
	})
	return value{text: fmt.Sprintf("%s(%s, %s)", name, a.text, b.text), typ: a.typ}
}

// clamp is extreme with a constant on one side, which is not NaN.
func (v *vectors) clamp(op scalar.Op, n int, args []value) (value, bool) {
	x, bound := args[0], args[1]
	if !x.typ.IsFloat() || x.uniform || !bound.number {
		return value{}, false
	}
	sign := "<"
	if op == scalar.Max {
		sign = ">"
	}
	text := v.greater(x.typ, n, sign, v.splat(bound, n).text, x.text)
	if bound.zero { // of -0 and 0 the second
		text = fmt.Sprintf("(%s + %s)", text, bound.text)
	}
	return value{text: text, typ: x.typ}, true
}

// cast converts; what C does not define is left to lanewise.
func (v *vectors) cast(to scalar.DType, n int, a value) value {
	from := a.typ
	switch {
	case to == from:
		return a
	case to == scalar.BFloat16 || from == scalar.BFloat16:
		return v.bf16(to, n, a)
	case to == scalar.Bool:
		zero := value{text: fmt.Sprintf("(%s){0}", v.typ(from, n)), typ: from}
		return v.compare(scalar.Ne, n, a, zero)
	case from == scalar.Bool:
		m := v.maskType(a.mask, n)
		return value{text: fmt.Sprintf("__builtin_convertvector((%s)-%s, %s)", m, a.text, v.typ(to, n)), typ: to}
	case to.IsInt() && to.Size() <= 2 && from == scalar.Float32:
		return v.saturate(to, n, a)
	case to.IsInt() && from.IsFloat():
		return v.lanewise(scalar.Cast, to, n, []value{a})
	case from.IsInt() && from.Size() < 4 && (to == scalar.Int32 || to == scalar.UInt32) && (n == 8 || n == 16):
		return v.wide(to, n, a)
	case from.IsInt() && from.Size() < 4 && (to.IsFloat() || to.Size() == 8) && (n == 8 || n == 16):
		return v.cast(to, n, v.wide(scalar.Int32, n, a))
	case from.IsInt() && from.Size() < 4 && (to.IsFloat() || to.Size() > 2*from.Size()): // step by step, which GCC 12 has instructions for
		return v.cast(to, n, v.cast(integerOf(2*from.Size(), from.IsSigned() || from.Size() == 2), n, a))
	}
	return value{text: fmt.Sprintf("__builtin_convertvector(%s, %s)", a.text, v.typ(to, n)), typ: to}
}

// bitcast reads lanes as those of a type of the same size; booleans are the numbers 0 and 1.
func (v *vectors) bitcast(to scalar.DType, n int, a value) value {
	switch {
	case a.typ == scalar.Bool:
		a = v.cast(scalar.UInt8, n, a)
	case to == scalar.Bool:
		return v.cast(to, n, a)
	}
	return value{text: fmt.Sprintf("((%s)%s)", v.typ(to, n), a.text), typ: to}
}

// lanewise applies the scalar operator lane by lane. The lanes go through an array: GCC 12 fails on some vectors that are set
// lane by lane.
func (v *vectors) lanewise(op scalar.Op, to scalar.DType, n int, args []value) value {
	var name, params strings.Builder
	fmt.Fprintf(&name, "tapc_%v_%sx%d", op, elementName(to), n)
	texts, lane := make([]string, len(args)), make([]string, len(args))
	for i, a := range args {
		t, letter := v.typ(a.typ, n), string(rune('a'+i))
		lane[i] = letter + "[i]"
		if a.typ == scalar.Bool {
			t = v.maskType(a.mask, n)
			lane[i] = "(uint8_t)-" + lane[i]
			fmt.Fprintf(&name, "_m%d", a.mask)
		} else {
			name.WriteString("_" + elementName(a.typ))
		}
		if i > 0 {
			params.WriteString(", ")
		}
		params.WriteString(t + " " + letter)
		texts[i] = a.text
	}
	out := value{typ: to}
	t, lanes, sign := v.typ(to, n), v.w.Type(to), ""
	if to == scalar.Bool {
		out.mask = args[0].typ.Size()
		t, lanes, sign = v.maskType(out.mask, n), fmt.Sprintf("int%d_t", 8*out.mask), "-"
	}
	v.define(name.String(), func() string {
		return fmt.Sprintf("TAPC_FN %s %s(%s) {\n  %s x[%d];\n  %s r;\n  for (int i = 0; i < %d; i++) x[i] = %s%s;\n  __builtin_memcpy(&r, x, sizeof r);\n  return r;\n}\n",
			t, name.String(), params.String(), lanes, n, t, n, sign, v.w.Apply(op, to, args[0].typ, lane...))
	})
	out.text = fmt.Sprintf("%s(%s)", name.String(), strings.Join(texts, ", "))
	return out
}

// truth makes a truth vector of loaded booleans, and back: bytes 0 or 1.
func (v *vectors) truth(bytes string, n int) value {
	return value{text: fmt.Sprintf("((%s)(%s != 0))", v.maskType(1, n), bytes), typ: scalar.Bool, mask: 1}
}

func (v *vectors) bytes(x value, n int) string {
	return fmt.Sprintf("((%s)-%s)", v.typ(scalar.UInt8, n), v.mask(x, 1, n))
}

// wide converts 8 or 16 integers of one or two bytes to four, with one instruction where there is one: GCC 12 does not find those by
// itself.
func (v *vectors) wide(to scalar.DType, n int, a value) value {
	from, t, lanes := a.typ, v.typ(to, n), v.typ(a.typ, n)
	name := v.define(fmt.Sprintf("tapc_wide_%s_%s", elementName(to), strings.TrimPrefix(lanes, "tapc_")), func() string {
		sign := map[bool]string{true: "s", false: "z"}[from.IsSigned()]
		element := map[int]string{1: "char", 2: "short"}[from.Size()]
		steps := "x"
		if from.Size() == 1 {
			steps = fmt.Sprintf("__builtin_convertvector(x, %s)", v.typ(integerOf(2, from.IsSigned()), n))
		}
		var b strings.Builder
		fmt.Fprintf(&b, "TAPC_FN %s %s(%s x) {\n", t, "tapc_wide_"+elementName(to)+"_"+strings.TrimPrefix(lanes, "tapc_"), lanes)
		letter := map[int]string{1: "b", 2: "w"}[from.Size()]
		if n == 16 {
			fmt.Fprintf(&b, "#if defined(__AVX512F__) && !defined(__clang__)\n  typedef %s in __attribute__((vector_size(%d)));\n"+
				"  typedef int out __attribute__((vector_size(64)));\n  return (%s)__builtin_ia32_pmov%sx%sd512_mask((in)x, (out){0}, (unsigned short)-1);\n#else\n",
				element, n*from.Size(), t, sign, letter)
		} else {
			whole := "(in)x"
			if from.Size() == 1 {
				whole = "(in)__builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)"
			}
			fmt.Fprintf(&b, "#if defined(__AVX2__) && !defined(__clang__)\n  typedef %s in __attribute__((vector_size(16)));\n"+
				"  return (%s)__builtin_ia32_pmov%sx%sd256(%s);\n#else\n", element, t, sign, letter, whole)
		}
		fmt.Fprintf(&b, "  return __builtin_convertvector(%s, %s);\n#endif\n}\n", steps, t)
		return b.String()
	})
	return value{text: fmt.Sprintf("%s(%s)", name, a.text), typ: to}
}
