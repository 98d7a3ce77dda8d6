package conformance

import (
	"context"
	"math"
	"slices"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// certainty is how well an expression's value is known beside the reference's.
type certainty uint8

const (
	loose certainty = iota // rounding of what is added or cancels decides, or it is a reduction in some order
	close                  // within a few units in the last place of each value
	exact                  // bit for bit: every operator rounds once, in the order of the declaration, and no product is added to anything
)

// ownScale says how each output of an instance is compared: those that are not loose, element by element.
func ownScale(in *instance.Instance) map[int]certainty {
	out := map[int]certainty{}
	known := make([]certainty, len(in.Statements))
	for i, s := range in.Statements {
		known[i] = certaintyOf(in, s.Value, known)
		if s.Store >= 0 {
			out[s.Store] = known[i]
		}
	}
	return out
}

func certaintyOf(in *instance.Instance, e *scalar.Expr, locals []certainty) certainty {
	if e.Op == scalar.Local {
		return locals[e.Ref]
	}
	least := exact
	for _, a := range e.Args {
		least = min(least, certaintyOf(in, a, locals))
	}
	float := e.Type.IsFloat() || e.Type.IsComplex()
	switch {
	case e.Op == scalar.Reduce:
		if sums := e.Monoid == scalar.Add || e.Monoid == scalar.Mul; sums && float {
			return loose
		}
		return least
	case float && (e.Op == scalar.Add || e.Op == scalar.Sub) && slices.ContainsFunc(e.Args, func(a *scalar.Expr) bool { return product(in, a) }):
		return loose // it may be a fused multiply-add, which rounds once
	case e.Type.IsComplex() && e.Op.Class() != scalar.Exact:
		return loose // the parts of a product cancel
	case float && (e.Op.Class() == scalar.Transcendental || e.Op == scalar.Rsqrt):
		if least == exact {
			return close
		}
		return loose
	case least != close:
		return least
	}
	switch e.Op {
	case scalar.Mul, scalar.Div, scalar.Sqrt, scalar.Neg, scalar.Abs, scalar.Max, scalar.Min:
		return close
	case scalar.Cast:
		if float {
			return close
		}
	case scalar.Where:
		if certaintyOf(in, e.Args[0], locals) == exact {
			return close
		}
	}
	return loose // adding and comparing make small errors large
}

// product says whether a compiler may see a product in an expression, through what only changes its sign or chooses.
func product(in *instance.Instance, e *scalar.Expr) bool {
	switch e.Op {
	case scalar.Mul:
		return true
	case scalar.Local:
		return product(in, in.Statements[e.Ref].Value)
	case scalar.Neg, scalar.Where:
		return slices.ContainsFunc(e.Args, func(a *scalar.Expr) bool { return product(in, a) })
	}
	return false
}

// growing finds the outputs that are sums of products of operands and of nothing that takes away: for operands without signs their cells
// are the sums of the magnitudes that are added up.
func growing(in *instance.Instance) map[int]bool {
	out := map[int]bool{}
	known := make([]bool, len(in.Statements))
	for i, s := range in.Statements {
		known[i] = grows(s.Value, known)
		if s.Store >= 0 {
			out[s.Store] = known[i] && s.Value.Type.IsFloat()
		}
	}
	return out
}

func grows(e *scalar.Expr, locals []bool) bool {
	switch e.Op {
	case scalar.Load:
		return true
	case scalar.Local:
		return locals[e.Ref]
	case scalar.Const:
		return !math.Signbit(e.Value.F) && e.Value.I >= 0
	case scalar.Reduce:
		return e.Monoid == scalar.Add && grows(e.Args[0], locals)
	case scalar.Add, scalar.Mul:
		return grows(e.Args[0], locals) && grows(e.Args[1], locals)
	case scalar.Cast:
		return e.Args[0].Type.IsFloat() && grows(e.Args[0], locals)
	case scalar.Where:
		return !readsFloats(e.Args[0]) && grows(e.Args[1], locals) && grows(e.Args[2], locals)
	}
	return false
}

func readsFloats(e *scalar.Expr) bool {
	if e.Op == scalar.Local || e.Op == scalar.Load && !e.Type.IsInt() {
		return true
	}
	for _, a := range e.Args {
		if readsFloats(a) {
			return true
		}
	}
	return false
}

// withoutSigns evaluates the graph for inputs whose floats have lost their signs.
func (s suite) withoutSigns() map[string]tensorfile.Tensor {
	in := map[string]tensorfile.Tensor{}
	for name, x := range s.inputs() {
		if size := x.DType.Size(); x.DType.IsFloat() {
			data := make([]byte, len(x.Data))
			for at := 0; at < len(data); at += size {
				v := scalar.Decode(x.DType, x.Data[at:])
				scalar.FloatValue(x.DType, math.Abs(v.F)).Encode(data[at:])
			}
			x.Data = data
		}
		in[name] = x
	}
	ev := reference.Evaluator{Library: kernels.Builtin(), Constants: s.constants, Unchecked: true}
	out, err := ev.Evaluate(context.Background(), s.g, in)
	s.check(err)
	return out
}
