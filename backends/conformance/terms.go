package conformance

import (
	"fmt"
	"math"
	"slices"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// comparison says how an output is compared with the reference.
type comparison struct {
	own   certainty
	terms float64 // the greatest magnitude of the terms that are added up, if they have a bound
	grows bool    // the result for inputs without signs is the sum of the magnitudes that are added up
	zeros bool    // the sign of a zero is left open, as of the greatest of several values (docs/numerics.md)
}

func (c comparison) compare(name string, want, got, sums tensorfile.Tensor) error {
	ulps := tolerance(want.DType)
	if c.zeros {
		want, got = withoutZeroSigns(want), withoutZeroSigns(got)
	}
	switch {
	case c.own == exact && want.DType.Wide() == want.DType:
		return reference.CompareElements(name, want, got, 0)
	case c.own != loose:
		return reference.CompareElements(name, want, got, ulps)
	}
	if size := want.DType.Size(); c.grows && len(sums.Data) == len(want.Data) && !want.DType.IsComplex() {
		return reference.CompareScaled(name, want, got, ulps, func(i int) float64 { return scalar.Decode(want.DType, sums.Data[i*size:]).F })
	}
	return reference.CompareSums(name, want, got, ulps, c.terms)
}

// withoutZeroSigns gives a tensor whose zeros are positive.
func withoutZeroSigns(x tensorfile.Tensor) tensorfile.Tensor {
	if !x.DType.IsFloat() {
		return x
	}
	size := x.DType.Size()
	x.Data = slices.Clone(x.Data)
	for at := 0; at+size <= len(x.Data); at += size {
		if scalar.Decode(x.DType, x.Data[at:]).F == 0 {
			clear(x.Data[at : at+size])
		}
	}
	return x
}

// extreme says whether a value is chosen from the greatest or least of several.
func extreme(in *instance.Instance, e *scalar.Expr) bool {
	return e.Any(func(e *scalar.Expr) bool {
		return e.Op == scalar.Reduce && (e.Monoid == scalar.Max || e.Monoid == scalar.Min) || e.Op == scalar.Local && extreme(in, in.Statements[e.Ref].Value)
	})
}

// judge notes how the outputs of an operation of the batch are compared: what is computed element by element by units in the last
// place of each, sums by the terms that each cell adds up or, where it does more with them, by a bound of these; they may cancel.
func (b *batch) judge(name string, d *declaration.Kernel, c infer.Call) {
	in, err := bind.Instance(d, c)
	if err != nil {
		return
	}
	terms := termsOf(in, func(o instance.Operand) float64 {
		return magnitude(b.inputs[fmt.Sprintf("%s_%s%d", name, o.Port, o.Entry)])
	})
	own, grows := ownScale(in), growing(in)
	for _, s := range in.Statements {
		if s.Store < 0 {
			continue
		}
		o := in.Operands[s.Store]
		b.rules[fmt.Sprintf("%s_%s%d", name, o.Port, o.Entry)] = comparison{own[s.Store], terms[s.Store], grows[s.Store], extreme(in, s.Value)}
	}
}

// magnitude is the greatest finite magnitude in a tensor.
func magnitude(x tensorfile.Tensor) float64 {
	most := 0.0
	for at := 0; at+x.DType.Size() <= len(x.Data); at += x.DType.Size() {
		v := scalar.Decode(x.DType, x.Data[at:])
		for _, f := range []float64{math.Abs(v.F), math.Abs(v.Im)} {
			if !math.IsInf(f, 0) && f > most {
				most = f
			}
		}
	}
	return most
}

// termsOf bounds the terms of the sums that an instance stores, by operand, from the magnitudes of its operands. Only sums of floats
// have a bound, of terms that are made of operands by multiplying, adding and choosing, and their tanh.
func termsOf(in *instance.Instance, of func(o instance.Operand) float64) map[int]float64 {
	out := map[int]float64{}
	bounds := make([]float64, len(in.Statements))
	adds := make([]bool, len(in.Statements))
	for i, s := range in.Statements {
		b := bounder{in: in, of: of, bounds: bounds, adds: adds}
		bounds[i] = b.bound(s.Value)
		adds[i] = b.sum
		if d := s.Value.Type; s.Store >= 0 && b.sum && (d.IsFloat() || d.IsComplex()) && !math.IsInf(bounds[i], 0) && !math.IsNaN(bounds[i]) {
			out[s.Store] = bounds[i]
		}
	}
	return out
}

// bounder bounds expressions; sum says that it has come by a sum.
type bounder struct {
	in     *instance.Instance
	of     func(o instance.Operand) float64
	bounds []float64
	adds   []bool
	sum    bool
}

func (b *bounder) bound(e *scalar.Expr) float64 {
	switch e.Op {
	case scalar.Const:
		return max(math.Abs(e.Value.F), math.Abs(e.Value.Im), math.Abs(float64(e.Value.I)))
	case scalar.Load:
		return b.of(b.in.Operands[e.Ref])
	case scalar.Local:
		b.sum = b.sum || b.adds[e.Ref]
		return b.bounds[e.Ref]
	case scalar.Reduce:
		if e.Monoid == scalar.Add {
			b.sum = true
		} else if e.Monoid == scalar.Mul {
			return math.Inf(1)
		}
		return b.bound(e.Args[0])
	case scalar.Where:
		return max(b.bound(e.Args[1]), b.bound(e.Args[2]))
	case scalar.Mul:
		return b.bound(e.Args[0]) * b.bound(e.Args[1])
	case scalar.Add, scalar.Sub, scalar.Max, scalar.Min:
		return max(b.bound(e.Args[0]), b.bound(e.Args[1]))
	case scalar.Tanh: // its slope is at most 1: the error of a sum is no larger behind it
		return b.bound(e.Args[0])
	case scalar.Neg, scalar.Abs, scalar.Cast, scalar.Conj, scalar.Real, scalar.Imag:
		return b.bound(e.Args[0])
	case scalar.Div:
		if by := e.Args[1]; by.Op == scalar.Const {
			return b.bound(e.Args[0]) / b.bound(by)
		}
	}
	return math.Inf(1)
}
