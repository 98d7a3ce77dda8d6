// Package cexpr writes scalar expressions as C, with the exact meaning that ir/scalar gives them and without undefined
// behaviour: integers wrap through unsigned arithmetic, division and shifts are guarded, conversions saturate.
//
// The text is valid C11 and CUDA C++ alike. What does not fit an infix form calls a small function of the prelude (Prelude),
// which is written only when used. Read next: backends/cpu.
package cexpr

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
)

// CType gives the C type that values of an element type are computed in: float for the floats of at most 16 bits, whose values
// are rounded after every operator, and structs of two parts for complex numbers.
func CType(d scalar.DType) string {
	switch d {
	case scalar.Bool:
		return "uint8_t"
	case scalar.Float64:
		return "double"
	case scalar.Complex64:
		return "tapc_c64"
	case scalar.Complex128:
		return "tapc_c128"
	}
	switch {
	case d.IsFloat():
		return "float"
	case d.IsSigned():
		return fmt.Sprintf("int%d_t", 8*d.Size())
	}
	return fmt.Sprintf("uint%d_t", 8*d.Size())
}

// Stored gives the C type of an element in memory.
func Stored(d scalar.DType) string {
	if narrow(d) {
		return fmt.Sprintf("uint%d_t", 8*d.Size())
	}
	return CType(d)
}

// narrow says whether a type is a float of at most 16 bits.
func narrow(d scalar.DType) bool { return d.IsFloat() && d.Bits() < 32 }

// Leaves gives the C text of an expression's leaves.
type Leaves interface {
	Load(ref int) string
	Local(ref int) string
	Loop(ref int) string
	// Reduce gives the name of the variable that holds a reduction's result.
	Reduce(e *scalar.Expr) string
	// Chosen gives the name of the variable that holds a choice's result, or "" for a choice without one.
	Chosen(e *scalar.Expr) string
}

// Writer writes expressions and remembers which functions of the prelude they call.
type Writer struct {
	Fuse  bool // Fold takes in products by MultiplyAdd
	used  map[string]function
	calls bool // of the C library's functions
	err   error
}

// NewWriter makes a writer.
func NewWriter() *Writer { return &Writer{used: map[string]function{}} }

// Err gives the first thing that could not be written: an operator that C code does not do.
func (w *Writer) Err() error { return w.err }

// Calls says whether functions of the C library may be called that processors have no instruction for.
func (w *Writer) Calls() bool { return w.calls }

// Prelude gives the definitions of the functions used so far: each behind those that it calls itself, else by name.
func (w *Writer) Prelude() string {
	names := make([]string, 0, len(w.used))
	for n := range w.used {
		names = append(names, n)
	}
	slices.Sort(names)
	var b strings.Builder
	done := map[string]bool{}
	var write func(f function)
	write = func(f function) {
		if done[f.name] {
			return
		}
		done[f.name] = true
		for _, g := range f.needs {
			write(g)
		}
		b.WriteString(f.text + "\n")
	}
	for _, n := range names {
		write(w.used[n])
	}
	return b.String()
}

func (w *Writer) fail(format string, args ...any) string {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
	return "0"
}

// Type gives the C type of an element type's values, noting what it needs; see CType.
func (w *Writer) Type(d scalar.DType) string {
	if !d.Valid() {
		return w.fail("C code for %v is not possible", d)
	}
	if d.IsComplex() {
		f := complexType(d)
		w.used[f.name] = f
	}
	return CType(d)
}

// Stored gives the C type of an element in memory, noting what it needs.
func (w *Writer) Stored(d scalar.DType) string {
	w.Type(d)
	return Stored(d)
}

// Load makes a value from a stored element's text.
func (w *Writer) Load(d scalar.DType, element string) string {
	if narrow(d) {
		return w.call(decode(d), element)
	}
	return element
}

// Store makes a stored element from a value's text; the value is rounded to the type already or is rounded now.
func (w *Writer) Store(d scalar.DType, value string) string {
	if narrow(d) {
		return w.call(encode(d, scalar.Float32), value)
	}
	return value
}

// Round rounds a text of the type's C type to the type: for the narrow floats, whose C type holds more.
func (w *Writer) Round(d scalar.DType, value string) string {
	if narrow(d) {
		return w.Load(d, w.Store(d, value))
	}
	return value
}

// Fold writes one step of a reduction: the accumulator, of the type's Wide C type, joined with the body's value. Sums of
// narrow floats keep their products and themselves exact to float32; Folded rounds the result once.
func (w *Writer) Fold(e *scalar.Expr, acc string, l Leaves) string {
	body, wide := e.Args[0], e.Type.Wide()
	if w.Fuse && e.Monoid == scalar.Add && body.Op == scalar.Mul && (wide == scalar.Float32 || wide == scalar.Float64) {
		return w.MultiplyAdd(wide, w.Expr(body.Args[0], l), w.Expr(body.Args[1], l), acc)
	}
	if e.Monoid == scalar.Add && body.Op == scalar.Mul && wide != e.Type {
		product := w.Apply(scalar.Mul, wide, wide, w.Expr(body.Args[0], l), w.Expr(body.Args[1], l))
		return w.Apply(e.Monoid, wide, wide, acc, product)
	}
	return w.Apply(e.Monoid, wide, wide, acc, w.Expr(body, l))
}

// Folded gives the value of a reduction from its accumulator.
func (w *Writer) Folded(e *scalar.Expr, acc string) string {
	if e.Monoid == scalar.Add || e.Monoid == scalar.Mul { // the others give a value of the type
		return w.Round(e.Type, acc)
	}
	return acc
}

// Expr writes an expression; the text is an operand of any C operator.
func (w *Writer) Expr(e *scalar.Expr, l Leaves) string {
	switch e.Op {
	case scalar.Const:
		return w.Const(e.Value)
	case scalar.Load:
		return l.Load(e.Ref)
	case scalar.Local:
		return l.Local(e.Ref)
	case scalar.Loop:
		return l.Loop(e.Ref)
	case scalar.Reduce:
		return l.Reduce(e)
	case scalar.Where:
		if text := l.Chosen(e); text != "" {
			return text
		}
	}
	args := make([]string, len(e.Args))
	for i, a := range e.Args {
		args[i] = w.Expr(a, l)
	}
	return w.Apply(e.Op, e.Type, e.Args[0].Type, args...)
}

// Const writes a value.
func (w *Writer) Const(v scalar.Value) string {
	d := v.DType
	switch {
	case d.IsFloat():
		return w.floatConst(d, v.F)
	case d.IsComplex():
		return w.call(complexMake(d), w.floatConst(d.Part(), v.F), w.floatConst(d.Part(), v.Im))
	case d == scalar.Bool || d.Bits() < 32:
		return parenthesize(strconv.FormatInt(v.I, 10))
	case d == scalar.UInt32:
		return strconv.FormatInt(v.I, 10) + "u"
	case d == scalar.UInt64:
		return "UINT64_C(" + strconv.FormatUint(uint64(v.I), 10) + ")"
	case d == scalar.Int32 && v.I == math.MinInt32:
		return "(-2147483647 - 1)"
	case d == scalar.Int32:
		return parenthesize(strconv.FormatInt(v.I, 10))
	case v.I == math.MinInt64:
		return "(INT64_C(-9223372036854775807) - 1)"
	}
	return "INT64_C(" + strconv.FormatInt(v.I, 10) + ")"
}

func parenthesize(s string) string {
	if s[0] == '-' {
		return "(" + s + ")"
	}
	return s
}

func (w *Writer) floatConst(d scalar.DType, f float64) string {
	suffix := suffixOf(d)
	switch {
	case math.IsNaN(f):
		return "TAPC_NAN" + strings.ToUpper(suffix)
	case math.IsInf(f, 1):
		return "TAPC_INF" + strings.ToUpper(suffix)
	case math.IsInf(f, -1):
		return "(-TAPC_INF" + strings.ToUpper(suffix) + ")"
	case f == math.Trunc(f) && math.Abs(f) < 1e6:
		return parenthesize(signedZero(f) + suffix)
	}
	return parenthesize(strconv.FormatFloat(f, 'x', -1, 64) + suffix)
}

func signedZero(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// suffixOf is what the names of the C library's functions and literals on a float type end with.
func suffixOf(d scalar.DType) string {
	if d == scalar.Float64 {
		return ""
	}
	return "f"
}

// Apply writes an operator on written arguments; arg is the type of the first argument, to the type of the result.
func (w *Writer) Apply(op scalar.Op, to, arg scalar.DType, a ...string) string {
	switch op {
	case scalar.Where:
		return "(" + a[0] + " ? " + a[1] + " : " + a[2] + ")"
	case scalar.Cast:
		return w.cast(to, arg, a[0])
	case scalar.Bitcast:
		return w.bitcast(to, arg, a[0])
	case scalar.Complex:
		return w.call(complexMake(to), a...)
	}
	if arg.IsComplex() {
		return w.complex(op, arg, a)
	}
	switch op {
	case scalar.Eq, scalar.Ne, scalar.Lt, scalar.Le, scalar.Gt, scalar.Ge:
		return "(" + a[0] + " " + comparison[op] + " " + a[1] + ")"
	case scalar.Min, scalar.Max:
		return w.call(minMax(op, arg), a...)
	}
	switch {
	case arg.IsFloat() && exact[op] && complete(arg):
		return w.float(op, arg, a)
	case arg.IsFloat():
		return w.Round(to, w.float(op, arg, a))
	case arg == scalar.Bool:
		return w.boolean(op, a)
	}
	return w.integer(op, arg, a)
}

// complete says whether a float type has both -0 and NaN.
func complete(d scalar.DType) bool {
	f, narrow := d.Format()
	return !narrow || f.HasNegativeZero() && f.HasNaN()
}

// exact are the operators whose result on values of a complete type is a value of the type.
var exact = map[scalar.Op]bool{scalar.Neg: true, scalar.Abs: true, scalar.Sign: true, scalar.Floor: true, scalar.Ceil: true,
	scalar.Round: true, scalar.Trunc: true, scalar.Rem: true, scalar.Copysign: true, scalar.IsNaN: true, scalar.IsInf: true}

var comparison = map[scalar.Op]string{scalar.Eq: "==", scalar.Ne: "!=", scalar.Lt: "<", scalar.Le: "<=", scalar.Gt: ">", scalar.Ge: ">="}

var infix = map[scalar.Op]string{scalar.Add: "+", scalar.Sub: "-", scalar.Mul: "*", scalar.Div: "/",
	scalar.And: "&", scalar.Or: "|", scalar.Xor: "^"}

// libm are the operators that the C library has, by their names there for float64.
var libm = map[scalar.Op]string{scalar.Exp: "exp", scalar.Exp2: "exp2", scalar.Expm1: "expm1", scalar.Log: "log", scalar.Log2: "log2",
	scalar.Log10: "log10", scalar.Log1p: "log1p", scalar.Sqrt: "sqrt", scalar.Cbrt: "cbrt", scalar.Sin: "sin", scalar.Cos: "cos",
	scalar.Tan: "tan", scalar.Asin: "asin", scalar.Acos: "acos", scalar.Atan: "atan", scalar.Sinh: "sinh", scalar.Cosh: "cosh",
	scalar.Tanh: "tanh", scalar.Asinh: "asinh", scalar.Acosh: "acosh", scalar.Atanh: "atanh", scalar.Erf: "erf", scalar.Erfc: "erfc",
	scalar.Floor: "floor", scalar.Ceil: "ceil", scalar.Round: "rint", scalar.Trunc: "trunc", scalar.Abs: "fabs", scalar.Rem: "fmod",
	scalar.Pow: "pow", scalar.Atan2: "atan2", scalar.Copysign: "copysign"}

// instructions are those of libm that are one or a few of all processors.
var instructions = map[scalar.Op]bool{scalar.Sqrt: true, scalar.Abs: true, scalar.Copysign: true}

func (w *Writer) float(op scalar.Op, d scalar.DType, a []string) string {
	suffix := suffixOf(d)
	if name, ok := libm[op]; ok {
		w.calls = w.calls || !instructions[op]
		return name + suffix + "(" + strings.Join(a, ", ") + ")"
	}
	switch op {
	case scalar.Neg:
		return "(-" + a[0] + ")"
	case scalar.Add, scalar.Sub, scalar.Mul, scalar.Div:
		return "(" + a[0] + " " + infix[op] + " " + a[1] + ")"
	case scalar.IsNaN:
		return "(" + a[0] + " != " + a[0] + ")"
	case scalar.IsInf:
		return "(fabs" + suffix + "(" + a[0] + ") == " + w.floatConst(d, math.Inf(1)) + ")"
	case scalar.Rsqrt:
		return "(" + w.Const(scalar.FloatValue(d, 1)) + " / sqrt" + suffix + "(" + a[0] + "))"
	case scalar.Sign:
		return w.call(floatSign(d), a...)
	case scalar.Mod:
		return w.call(floatMod(d, suffix), a...)
	}
	return w.fail("C code for %v on %v is not possible", op, d)
}

func (w *Writer) boolean(op scalar.Op, a []string) string {
	switch op {
	case scalar.Not:
		return "(!" + a[0] + ")"
	case scalar.And, scalar.Or, scalar.Xor: // a number: compilers take & of two truths for a mistyped &&
		return "((int)" + a[0] + " " + infix[op] + " " + a[1] + ")"
	case scalar.IsNaN, scalar.IsInf:
		return "0"
	}
	return w.fail("C code for %v on booleans is not possible", op)
}

func (w *Writer) integer(op scalar.Op, d scalar.DType, a []string) string {
	t := CType(d)
	u := "uint32_t"
	if d.Bits() == 64 {
		u = "uint64_t"
	}
	switch op {
	case scalar.Add, scalar.Sub, scalar.Mul:
		return wrap(d, fmt.Sprintf("(%s)((%s)%s %s (%s)%s)", t, u, a[0], infix[op], u, a[1]))
	case scalar.Neg:
		return wrap(d, fmt.Sprintf("(%s)(0u - (%s)%s)", t, u, a[0]))
	case scalar.And, scalar.Or, scalar.Xor:
		return fmt.Sprintf("(%s)(%s %s %s)", t, a[0], infix[op], a[1])
	case scalar.Not:
		return wrap(d, fmt.Sprintf("(%s)(~%s)", t, a[0]))
	case scalar.IsNaN, scalar.IsInf:
		return "0"
	}
	if slices.Contains(integerFunctions, op) {
		return wrap(d, w.call(integerFunction(op, d, t), a...))
	}
	return w.fail("C code for %v on %v is not possible", op, d)
}

// wrap reduces the text of an integer narrower than a byte, whose C type has 8 bits; other types wrap by themselves.
func wrap(d scalar.DType, text string) string {
	switch {
	case d.Bits() >= 8:
		return text
	case d.IsSigned():
		return fmt.Sprintf("((int8_t)((uint32_t)%s << %d) >> %[2]d)", text, 8-d.Bits())
	}
	return fmt.Sprintf("(%s & %d)", text, 1<<d.Bits()-1)
}

// bitcast reads a value's bits as those of another type. Types of at most 16 bits go through the code that is stored.
func (w *Writer) bitcast(to, from scalar.DType, a string) string {
	if narrow(from) {
		a = w.Store(from, a)
	}
	switch {
	case narrow(to):
		return w.Load(to, fmt.Sprintf("(%s)%s", Stored(to), a))
	case to == scalar.Bool:
		return "(" + a + " != 0)"
	case to.IsInt() && (from.IsInt() || from.Bits() <= 16):
		return wrap(to, "(("+CType(to)+")"+a+")")
	}
	return w.call(bits(to, from), a)
}

// cast converts: integers wrap, floats to integers truncate and saturate with NaN as 0, to boolean tests for not zero, complex
// numbers to others give their real part.
func (w *Writer) cast(to, from scalar.DType, a string) string {
	switch {
	case to == from:
		return a
	case from.IsComplex() && to == scalar.Bool:
		return w.call(complexTest(from, "z.re != 0 || z.im != 0", "truth"), a)
	case from.IsComplex() && to.IsComplex():
		return w.call(complexConvert(to, from), a)
	case from.IsComplex():
		return w.cast(to, from.Part(), w.call(complexPart(from, "real", "z.re"), a))
	case to.IsComplex():
		return w.call(complexMake(to), "("+CType(to.Part())+")"+w.cast(scalar.Float64, from, a), w.floatConst(to.Part(), 0))
	case to == scalar.Bool:
		return "(" + a + " != 0)"
	case to.IsInt() && from.IsFloat():
		return w.call(saturate(to, from), a)
	case narrow(to) && (from == scalar.Float64 || from.IsInt()):
		return w.call(decode(to), w.call(encode(to, scalar.Float64), "(double)"+a))
	case narrow(to):
		return w.Round(to, "(float)"+a)
	case to.IsInt():
		return wrap(to, "(("+CType(to)+")"+a+")")
	}
	return "((" + CType(to) + ")" + a + ")"
}
