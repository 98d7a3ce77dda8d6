package vector

import (
	"slices"

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
