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

// CType gives the C type of an element; ok is false for types that C code does not compute with.
func CType(d scalar.DType) (string, bool) {
	switch d {
	case scalar.Bool:
		return "uint8_t", true
	case scalar.Float32:
		return "float", true
	case scalar.Float64:
		return "double", true
	case scalar.Int8, scalar.Int16, scalar.Int32, scalar.Int64, scalar.UInt8, scalar.UInt16, scalar.UInt32, scalar.UInt64:
		return d.String() + "_t", true
	}
	return "", false
}

// Leaves gives the C text of an expression's leaves.
type Leaves interface {
	Load(ref int) string
	Local(ref int) string
	Loop(ref int) string
	// Reduce gives the name of the variable that holds a reduction's result.
	Reduce(e *scalar.Expr) string
}

// Writer writes expressions and remembers which functions of the prelude they call.
type Writer struct {
	used map[string]string // name to definition
	err  error
}

// NewWriter makes a writer.
func NewWriter() *Writer { return &Writer{used: map[string]string{}} }

// Err gives the first thing that could not be written: an operator or type that C code does not do yet.
func (w *Writer) Err() error { return w.err }

// Prelude gives the definitions of the functions used so far, sorted by name.
func (w *Writer) Prelude() string {
	names := make([]string, 0, len(w.used))
	for n := range w.used {
		names = append(names, n)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, n := range names {
		b.WriteString(w.used[n])
	}
	return b.String()
}

func (w *Writer) fail(format string, args ...any) string {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
	return "0"
}

// Type gives the C type of an element type, or fails.
func (w *Writer) Type(d scalar.DType) string {
	t, ok := CType(d)
	if !ok {
		w.fail("C code for %v is not supported yet", d)
		return "float"
	}
	return t
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
	case d == scalar.Float32 || d == scalar.Float64:
		return w.floatConst(d, v.F)
	case d == scalar.Bool || d == scalar.Int8 || d == scalar.Int16 || d == scalar.UInt8 || d == scalar.UInt16:
		return strconv.FormatInt(v.I, 10)
	case d == scalar.UInt32:
		return strconv.FormatInt(v.I, 10) + "u"
	case d == scalar.UInt64:
		return "UINT64_C(" + strconv.FormatUint(uint64(v.I), 10) + ")"
	case d == scalar.Int32 && v.I == math.MinInt32:
		return "(-2147483647 - 1)"
	case d == scalar.Int32:
		return parenthesize(strconv.FormatInt(v.I, 10))
	case d == scalar.Int64 && v.I == math.MinInt64:
		return "(INT64_C(-9223372036854775807) - 1)"
	case d == scalar.Int64:
		return "INT64_C(" + strconv.FormatInt(v.I, 10) + ")"
	}
	return w.fail("C code for %v is not supported yet", d)
}

func parenthesize(s string) string {
	if s[0] == '-' {
		return "(" + s + ")"
	}
	return s
}

func (w *Writer) floatConst(d scalar.DType, f float64) string {
	suffix := ""
	if d == scalar.Float32 {
		suffix = "f"
	}
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

// Apply writes an operator on written arguments; arg is the type of the first argument, to the type of the result.
func (w *Writer) Apply(op scalar.Op, to, arg scalar.DType, a ...string) string {
	w.Type(to)
	w.Type(arg)
	switch op {
	case scalar.Where:
		return "(" + a[0] + " ? " + a[1] + " : " + a[2] + ")"
	case scalar.Cast:
		return w.cast(to, arg, a[0])
	case scalar.Eq, scalar.Ne, scalar.Lt, scalar.Le, scalar.Gt, scalar.Ge:
		return "(" + a[0] + " " + comparison[op] + " " + a[1] + ")"
	case scalar.Min, scalar.Max:
		return w.call(minMax(op, arg), a...)
	}
	switch {
	case arg.IsFloat():
		return w.float(op, arg, a)
	case arg == scalar.Bool:
		return w.boolean(op, a)
	}
	return w.integer(op, arg, a)
}

var comparison = map[scalar.Op]string{scalar.Eq: "==", scalar.Ne: "!=", scalar.Lt: "<", scalar.Le: "<=", scalar.Gt: ">", scalar.Ge: ">="}

var infix = map[scalar.Op]string{scalar.Add: "+", scalar.Sub: "-", scalar.Mul: "*", scalar.Div: "/",
	scalar.And: "&", scalar.Or: "|", scalar.Xor: "^"}

var libm = map[scalar.Op]string{scalar.Exp: "exp", scalar.Log: "log", scalar.Sqrt: "sqrt", scalar.Sin: "sin", scalar.Cos: "cos",
	scalar.Tanh: "tanh", scalar.Erf: "erf", scalar.Floor: "floor", scalar.Ceil: "ceil", scalar.Round: "rint", scalar.Trunc: "trunc",
	scalar.Abs: "fabs", scalar.Rem: "fmod", scalar.Pow: "pow"}

func (w *Writer) float(op scalar.Op, d scalar.DType, a []string) string {
	suffix := ""
	if d == scalar.Float32 {
		suffix = "f"
	}
	if name, ok := libm[op]; ok {
		return name + suffix + "(" + strings.Join(a, ", ") + ")"
	}
	switch op {
	case scalar.Neg:
		return "(-" + a[0] + ")"
	case scalar.Add, scalar.Sub, scalar.Mul, scalar.Div:
		return "(" + a[0] + " " + infix[op] + " " + a[1] + ")"
	case scalar.IsNaN:
		return "(" + a[0] + " != " + a[0] + ")"
	case scalar.Rsqrt:
		return "(" + w.Const(scalar.FloatValue(d, 1)) + " / sqrt" + suffix + "(" + a[0] + "))"
	case scalar.Sign:
		return w.call(floatSign(d), a...)
	case scalar.Mod:
		return w.call(floatMod(d, suffix), a...)
	}
	return w.fail("C code for %v on %v is not supported yet", op, d)
}

func (w *Writer) boolean(op scalar.Op, a []string) string {
	switch op {
	case scalar.Not:
		return "(!" + a[0] + ")"
	case scalar.And, scalar.Or, scalar.Xor:
		return "(" + a[0] + " " + infix[op] + " " + a[1] + ")"
	case scalar.IsNaN:
		return "0"
	}
	return w.fail("C code for %v on booleans is not supported yet", op)
}

func (w *Writer) integer(op scalar.Op, d scalar.DType, a []string) string {
	t := w.Type(d)
	u := "uint32_t"
	if d.Bits() == 64 {
		u = "uint64_t"
	}
	switch op {
	case scalar.Add, scalar.Sub, scalar.Mul:
		return fmt.Sprintf("(%s)((%s)%s %s (%s)%s)", t, u, a[0], infix[op], u, a[1])
	case scalar.Neg:
		return fmt.Sprintf("(%s)(0u - (%s)%s)", t, u, a[0])
	case scalar.And, scalar.Or, scalar.Xor:
		return fmt.Sprintf("(%s)(%s %s %s)", t, a[0], infix[op], a[1])
	case scalar.Not:
		return fmt.Sprintf("(%s)(~%s)", t, a[0])
	case scalar.IsNaN:
		return "0"
	case scalar.Abs, scalar.Sign, scalar.Div, scalar.Rem, scalar.Mod, scalar.Shl, scalar.Shr, scalar.Pow:
		return w.call(integerFunction(op, d, t), a...)
	}
	return w.fail("C code for %v on %v is not supported yet", op, d)
}

// cast converts: integers wrap, floats to integers truncate and saturate with NaN as 0, to boolean tests for not zero.
func (w *Writer) cast(to, from scalar.DType, a string) string {
	switch {
	case to == from:
		return a
	case to == scalar.Bool:
		return "(" + a + " != 0)"
	case to.IsInt() && from.IsFloat():
		return w.call(saturate(to, from, w.Type(to), w.Type(from)), a)
	}
	return "((" + w.Type(to) + ")" + a + ")"
}
