package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// try runs the graph and compares its outputs with the reference evaluator's. What rounding decides, such as the side of a
// comparison of two sums, is found by computing the graph again with what every inexact step reads, its parts and its results moved
// a little: an output may differ as much as those runs do, a few times over, and numbers that they disagree about altogether are
// left out.
func (g *graph) try(ctx context.Context, run backend, total *tally) (fault error) {
	defer func() {
		if p := recover(); p != nil {
			fault = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	out, err := run(ctx, g)
	if err != nil {
		return err
	}
	for _, runs := range []int{4, 40} { // a second look, closer, before a difference counts
		moved, err := g.moved(runs)
		if err != nil {
			return err
		}
		compared, unstable := 0, 0
		fault = nil
		for name, got := range out {
			var i int
			if _, err := fmt.Sscanf(name, "t%d", &i); err != nil {
				return fmt.Errorf("an output with the name %q", name)
			}
			n, skipped, err := compare(name, g.tensors[i].data, got, moved[i])
			if err != nil && fault == nil {
				fault = err
			}
			compared, unstable = compared+n, unstable+skipped
		}
		if fault == nil {
			if total != nil {
				total.add(g, compared, unstable)
			}
			return nil
		}
	}
	return fault
}

// moved computes the graph several times with inexact results moved, and gives the values of each tensor in each.
func (g *graph) moved(runs int) (map[int][]tensorfile.Tensor, error) {
	all := map[int][]tensorfile.Tensor{}
	for n := range runs {
		rnd := rand.New(rand.NewPCG(g.seed, uint64(n)))
		values := append([]tensor{}, g.tensors...)
		for k := range g.steps {
			s := &g.steps[k]
			if s.off {
				continue
			}
			var results []tensor
			from, shake := values, (func(*scalar.Expr) *scalar.Expr)(nil)
			if !s.exact {
				from, shake = moveInputs(rnd, s, values), func(e *scalar.Expr) *scalar.Expr { return moveExpr(rnd, e) }
			}
			if err := g.evaluate(s, from, shake, func(t tensor) { results = append(results, t) }); err != nil {
				return nil, err
			}
			for _, p := range s.call.Outputs {
				for _, sel := range p.Sel {
					i := int(sel.Sel.Tensor)
					values[i] = results[0]
					results = results[1:]
					values[i].data = move(rnd, values[i].data, map[bool]amount{true: nothing, false: absolute}[s.exact])
					all[i] = append(all[i], values[i].data)
				}
			}
		}
	}
	return all, nil
}

// moveInputs moves what a step reads, which shows how wrong its sums can be.
func moveInputs(rnd *rand.Rand, s *step, values []tensor) []tensor {
	out := slices.Clone(values)
	for _, p := range s.call.Inputs {
		for _, sel := range p.Sel {
			i := sel.Sel.Tensor
			out[i].data = move(rnd, values[i].data, relative)
		}
	}
	return out
}

// moveExpr moves the value of a part of a kernel by a unit in the last place, or not, where it is rounded.
func moveExpr(rnd *rand.Rand, e *scalar.Expr) *scalar.Expr {
	if !e.Type.IsFloat() || e.Op.Class() == scalar.Exact || rnd.IntN(3) == 0 {
		return e
	}
	unit := ulp(e.Type, 1) * float64(1-2*rnd.IntN(2))
	return scalar.Must(scalar.Mul, e, scalar.NewConst(scalar.FloatValue(e.Type, 1+unit)))
}

// amount is how far floats are moved.
type amount uint8

const (
	nothing  amount = iota // results that are exact: only the signs of NaN change, which no kernel defines
	relative               // a unit or two in the last place of each
	absolute               // a unit or two in the last place of the tensor's greatest, because a sum can be so wrong
)

// move moves floats; those of types that no sums are kept in by a unit in their own last place, as they are rounded from others.
func move(rnd *rand.Rand, t tensorfile.Tensor, by amount) tensorfile.Tensor {
	d := t.DType
	if !d.IsFloat() && !d.IsComplex() {
		return t
	}
	part := d.Part()
	scale, size := magnitude(t), d.Size()
	out := t
	out.Data = append([]byte(nil), t.Data...)
	one := func(f float64) float64 {
		switch {
		case math.IsNaN(f):
			return math.Copysign(f, float64(rnd.IntN(2))-0.5)
		case by == nothing || math.IsInf(f, 0):
			return f
		case part.Wide() != part && rnd.IntN(4) == 0:
			return f + ulp(part, math.Abs(f))*float64(rnd.IntN(3)-1)
		case part.Wide() != part:
			return f
		case by == relative:
			return f + ulp(part, math.Abs(f))*(4*rnd.Float64()-2)
		}
		return f + ulp(part, scale)*(4*rnd.Float64()-2)
	}
	for i := 0; i < len(out.Data); i += size {
		v := scalar.Decode(d, t.Data[i:])
		v.F = scalar.FloatValue(part, one(v.F)).F
		if d.IsComplex() {
			v.Im = scalar.FloatValue(part, one(v.Im)).F
		}
		v.Encode(out.Data[i:])
	}
	return out
}

// magnitude is the greatest finite magnitude in a tensor.
func magnitude(t tensorfile.Tensor) float64 {
	scale := 0.0
	for i := 0; i < len(t.Data); i += t.DType.Size() {
		v := scalar.Decode(t.DType, t.Data[i:])
		for _, f := range []float64{math.Abs(v.F), math.Abs(v.Im)} {
			if f > scale && !math.IsInf(f, 0) {
				scale = f
			}
		}
	}
	return scale
}

// ulp is the unit in the last place of a magnitude in a float type, at least the least subnormal number.
func ulp(d scalar.DType, magnitude float64) float64 {
	v := scalar.FloatValue(d, magnitude)
	step := magnitude / 2
	for scalar.FloatValue(d, v.F+step/2).F != v.F && step > 0 {
		step /= 2
	}
	return step
}

// compare compares an output with the reference's values, given those of the moved runs.
func compare(name string, want, got tensorfile.Tensor, moved []tensorfile.Tensor) (compared, unstable int, err error) {
	d := want.DType
	if got.DType != d || len(got.Data) != len(want.Data) {
		return 0, 0, fmt.Errorf("%s: expected %v%v, found %v%v", name, d, want.Shape, got.DType, got.Shape)
	}
	slack := 0.0
	if d.IsFloat() || d.IsComplex() {
		slack = 16 * ulp(d.Part(), magnitude(want))
	}
	for i := 0; i < len(want.Data); i += d.Size() {
		w, g := scalar.Decode(d, want.Data[i:]), scalar.Decode(d, got.Data[i:])
		spread, steady := [2]float64{}, true
		for _, m := range moved {
			v := scalar.Decode(d, m.Data[i:])
			steady = steady && v.I == w.I && sameKind(v.F, w.F) && sameKind(v.Im, w.Im)
			spread[0] = math.Max(spread[0], distance(v.F, w.F))
			spread[1] = math.Max(spread[1], distance(v.Im, w.Im))
		}
		if !steady {
			unstable++
			continue
		}
		compared++
		ok := w.I == g.I && sameKind(w.F, g.F) && sameKind(w.Im, g.Im) &&
			distance(w.F, g.F) <= slack+8*spread[0] && distance(w.Im, g.Im) <= slack+8*spread[1]
		if !ok {
			return compared, unstable, fmt.Errorf("%s: element %d of %v%v is %s, expected %s (runs with moved results differ by up to %g)",
				name, i/d.Size(), d, want.Shape, g.Number(), w.Number(), math.Max(spread[0], spread[1]))
		}
	}
	return compared, unstable, nil
}

// sameKind says whether two floats are both NaN, the same infinity, or both finite.
func sameKind(a, b float64) bool {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return math.IsNaN(a) && math.IsNaN(b)
	case math.IsInf(a, 0) || math.IsInf(b, 0):
		return a == b
	}
	return true
}

// distance is how far two floats of the same kind are apart, 0 for those that are not finite.
func distance(a, b float64) float64 {
	if d := math.Abs(a - b); !math.IsNaN(d) && !math.IsInf(d, 0) {
		return d
	}
	return 0
}
