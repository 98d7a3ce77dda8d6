package scalar

import "math"

// Env is what an expression is evaluated in.
type Env interface {
	// Load reads the element of operand ref at the present point.
	Load(ref int) Value
	// Local reads the value of statement ref at the present point.
	Local(ref int) Value
	// Loop gives the present value of a loop variable.
	Loop(ref int) int64
	// Over runs f for every point of the given loops, in row-major order, with the other loops as they are.
	Over(loops []int, f func())
}

// Eval computes the expression at the present point of env. Reductions of float16, bfloat16, float8 and float32 accumulate in
// float64 and round once at the end; a float64 sum is compensated (Neumaier), so the reference does not depend on an order.
func (e *Expr) Eval(env Env) Value {
	switch e.Op {
	case Const:
		return e.Value
	case Load:
		return env.Load(e.Ref)
	case Local:
		return env.Local(e.Ref)
	case Loop:
		return Value{DType: Int64, I: env.Loop(e.Ref)}
	case Reduce:
		return e.reduce(env)
	case Where:
		if e.Args[0].Eval(env).Bool() {
			return e.Args[1].Eval(env)
		}
		return e.Args[2].Eval(env)
	case Cast:
		return Convert(e.Args[0].Eval(env), e.Type)
	case Bitcast:
		return bitcast(e.Args[0].Eval(env), e.Type)
	}
	if len(e.Args) == 1 {
		return applyUnary(e.Op, e.Args[0].Eval(env))
	}
	return applyBinary(e.Op, e.Args[0].Eval(env), e.Args[1].Eval(env))
}

func (e *Expr) reduce(env Env) Value {
	body := e.Args[0]
	d := e.Type
	switch {
	case e.Monoid == At:
		return e.at(env)
	case e.Monoid == Add && (d.IsFloat() || d.IsComplex()):
		var re, im Sum
		env.Over(e.Over, func() {
			v := wide(body, env)
			re.Add(v.F)
			im.Add(v.Im)
		})
		return Value{DType: d, F: round(d, re.Total()), Im: round(d, im.Total())}
	case e.Monoid == Mul && d.IsFloat():
		p := 1.0
		env.Over(e.Over, func() { p *= body.Eval(env).F })
		return FloatValue(d, p)
	}
	acc := Identity(e.Monoid, d)
	env.Over(e.Over, func() { acc = applyBinary(e.Monoid, acc, body.Eval(env)) })
	return acc
}

// at goes through the loop until it stands at the index.
func (e *Expr) at(env Env) Value {
	index, v := e.Args[1].Eval(env).I, Zero(e.Type)
	env.Over(e.Over, func() {
		if env.Loop(e.Over[0]) == index {
			v = e.Args[0].Eval(env)
		}
	})
	return v
}

// wide evaluates a summand; a product of narrow floats is kept exact, as a fused multiply-add does.
func wide(body *Expr, env Env) Value {
	if body.Op != Mul || !body.Type.IsFloat() || body.Type == Float64 {
		return body.Eval(env)
	}
	return Value{DType: Float64, F: body.Args[0].Eval(env).F * body.Args[1].Eval(env).F}
}

// Sum is a compensated sum of reals. Source: A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher
// Summen", ZAMM 54 (1974).
type Sum struct{ sum, comp float64 }

// Add adds a term.
func (s *Sum) Add(f float64) {
	t := s.sum + f
	switch {
	case t-t != 0: // infinite or NaN: compensation has no meaning
		s.comp = 0
	case abs(s.sum) >= abs(f):
		s.comp += (s.sum - t) + f
	default:
		s.comp += (f - t) + s.sum
	}
	s.sum = t
}

// Total gives the sum of the terms so far.
func (s *Sum) Total() float64 { return s.sum + s.comp }

func abs(f float64) float64 {
	if f < 0 {
		return -f
	}
	return f
}

// Fold simplifies an expression whose constants are known: operators on constants are computed, where with a constant
// condition keeps one side, and comparisons that hold for all numbers of a type, or for none, are decided. Values are
// unchanged for every input.
func (e *Expr) Fold() *Expr { return e.Map(foldOne) }

func foldOne(e *Expr) *Expr {
	if e.Op == Where && e.Args[0].Op == Const {
		if e.Args[0].Value.Bool() {
			return e.Args[1]
		}
		return e.Args[2]
	}
	if e.Op <= Attr || e.Op == Reduce || e.Op == At || e.untyped() {
		return e
	}
	if d := e.Args[0].Type; (e.Op == IsNaN || e.Op == IsInf) && (d.IsInt() || d.IsBool()) {
		return NewConst(BoolValue(false))
	}
	values := make([]Value, len(e.Args))
	for i, a := range e.Args {
		if a.Op != Const || a.untyped() {
			return foldLogic(foldOrder(e))
		}
		values[i] = a.Value
	}
	return NewConst(Apply(e.Op, e.Type, values...))
}

// foldLogic drops the side of a conjunction or disjunction that is a constant, or is decided by it.
func foldLogic(e *Expr) *Expr {
	if e.Type != Bool || e.Op != And && e.Op != Or {
		return e
	}
	for i, a := range e.Args {
		switch {
		case a.Op != Const:
		case a.Value.Bool() == (e.Op == And): // true & x, false | x
			return e.Args[1-i]
		default:
			return a
		}
	}
	return e
}

// foldOrder decides a comparison whose sides can have no numbers in common, such as an unsigned number and a negative one.
func foldOrder(e *Expr) *Expr {
	if e.Op < Lt || e.Op > Ge || !e.Args[0].Type.IsInt() {
		return e
	}
	a, b := hullOf(e.Args[0]), hullOf(e.Args[1])
	truth := func(holds bool) *Expr { return NewConst(BoolValue(holds)) }
	switch {
	case a.most < b.least:
		return truth(e.Op == Lt || e.Op == Le)
	case a.least > b.most:
		return truth(e.Op == Gt || e.Op == Ge)
	case a.most <= b.least && (e.Op == Le || e.Op == Gt):
		return truth(e.Op == Le)
	case a.least >= b.most && (e.Op == Ge || e.Op == Lt):
		return truth(e.Op == Ge)
	}
	return e
}

// hull bounds the values of an integer expression; those of uint64 are counted from -2^63.
type hull struct{ least, most int64 }

func hullOf(e *Expr) hull {
	place := func(v Value) int64 {
		if v.DType == UInt64 {
			return v.I + math.MinInt64
		}
		return v.I
	}
	switch e.Op {
	case Const:
		return hull{place(e.Value), place(e.Value)}
	case Cast:
		if from := e.Args[0].Type; from == Bool || from.IsInt() && from != UInt64 {
			in := hullOf(e.Args[0])
			least, most := IntValue(e.Type, in.least), IntValue(e.Type, in.most)
			if least.I == in.least && most.I == in.most && (in.least >= 0 || e.Type.IsSigned()) {
				return hull{place(least), place(most)}
			}
		}
	}
	return hull{place(Lowest(e.Type)), place(Highest(e.Type))}
}
