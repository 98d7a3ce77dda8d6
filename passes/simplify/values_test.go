package simplify_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/feed"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
)

// specials are numbers that break wrong identities.
var specials = []float64{0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), 0.5, 1e30, -3}

func randomValue(rnd *rand.Rand, d scalar.DType) scalar.Value {
	f := specials[rnd.IntN(len(specials))]
	if rnd.IntN(3) == 0 {
		f = rnd.NormFloat64() * 4
	}
	switch {
	case d.IsComplex():
		return scalar.Convert(scalar.Value{DType: scalar.Complex128, F: f, Im: specials[rnd.IntN(len(specials))]}, d)
	case d.IsFloat():
		return scalar.FloatValue(d, f)
	case d.IsBool():
		return scalar.BoolValue(rnd.IntN(2) == 0)
	case rnd.IntN(4) == 0:
		return [...]scalar.Value{scalar.Lowest(d), scalar.Highest(d)}[rnd.IntN(2)]
	}
	return scalar.IntValue(d, int64(rnd.IntN(13)-6))
}

// inputsOf makes random values for a graph's inputs.
func inputsOf(t *testing.T, g *ir.Graph, rnd *rand.Rand) map[string]tensorfile.Tensor {
	t.Helper()
	return inputsBy(t, g, func(d scalar.DType) scalar.Value { return randomValue(rnd, d) })
}

// inputsBy makes values for a graph's inputs, one by one.
func inputsBy(t *testing.T, g *ir.Graph, next func(scalar.DType) scalar.Value) map[string]tensorfile.Tensor {
	t.Helper()
	in, err := feed.Inputs(g, func(_ int, _ tensorops.Named, d scalar.DType, n int64) []byte {
		return feed.Elements(d, n, func(int64) scalar.Value { return next(d) })
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func fill(t *tensorops.Tensor, next func() scalar.Value) tensorfile.Tensor {
	n, err := t.Range.Size()
	if err != nil {
		panic(err)
	}
	d := t.Type()
	data := make([]byte, int(n)*d.Size())
	for i := range int(n) {
		next().Encode(data[i*d.Size():])
	}
	return tensorfile.Tensor{DType: d, Shape: t.Range.Shape(), Data: data}
}

func inlineConstant(c tensorops.Const, t *tensorops.Tensor) (tensorfile.Tensor, error) {
	return new(constants.Loader).Load(c, t)
}

func evaluate(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
	t.Helper()
	return evaluateWith(t, g, in, inlineConstant)
}

func evaluateWith(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor, load reference.Constants) map[string]tensorfile.Tensor {
	t.Helper()
	e := reference.Evaluator{Library: kernels.Builtin(), Constants: load}
	out, err := e.Evaluate(context.Background(), g, in)
	if err != nil {
		t.Fatalf("%v\n%s", err, dump(g))
	}
	return out
}

// sameValues compares outputs by name, bit by bit but for the payloads of NaN.
func sameValues(want, got map[string]tensorfile.Tensor) error {
	if len(want) != len(got) {
		return fmt.Errorf("%d outputs, expected %d", len(got), len(want))
	}
	for name, w := range want {
		g, ok := got[name]
		if !ok || g.DType != w.DType || !zspace.Point(g.Shape).Equal(w.Shape) {
			return fmt.Errorf("output %q: %v%v, expected %v%v", name, g.DType, g.Shape, w.DType, w.Shape)
		}
		for i := 0; i < len(w.Data); i += w.DType.Size() {
			a, b := scalar.Decode(w.DType, w.Data[i:]), scalar.Decode(g.DType, g.Data[i:])
			if !a.Same(b) {
				return fmt.Errorf("output %q, element %d: %v, expected %v", name, i/w.DType.Size(), b, a)
			}
		}
	}
	return nil
}

// sign gives every operation the signature and the index of its kernel.
func sign(t *testing.T, g *ir.Graph) {
	t.Helper()
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && !op.IsSource() {
			in, err := kernels.Builtin().BindOperation(g, n.ID)
			if err != nil {
				t.Fatalf("%v\n%s", err, dump(g))
			}
			var s tensorops.Signature
			if s.Inputs, s.Outputs, err = in.Signature(); err != nil {
				t.Fatal(err)
			}
			n.SetTag(&s)
			n.SetTag(&tensorops.Index{Range: in.Index()})
		}
	}
}

func mustBeValid(t *testing.T, e *check.Environment, g *ir.Graph) {
	t.Helper()
	e.DTypes = nil
	for _, d := range scalar.DTypes() {
		e.DTypes = append(e.DTypes, d.String())
	}
	for _, d := range e.Verify(context.Background(), g) {
		if d.Severity == diag.Error {
			t.Fatalf("%v\n%s", d, dump(g))
		}
	}
}

// dump writes a graph for messages.
func dump(g *ir.Graph) string {
	out := ""
	for n := range g.Nodes() {
		switch b := n.Body.(type) {
		case *tensorops.Tensor:
			out += fmt.Sprintf("%%%d %q %s%v\n", n.ID, n.Label, b.DType, b.Range)
		case *tensorops.Operation:
			out += fmt.Sprintf("#%d %s %v %v -> %v\n", n.ID, b.Kernel, b.Params, b.Inputs, b.Outputs)
		}
	}
	return out
}
