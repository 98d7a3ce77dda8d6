package conformance

import (
	"math"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Sums of products have terms; a maximum has none, nor has what is divided by a sum.
func TestTermsOf(t *testing.T) {
	for name, want := range map[string]float64{"matmul": 9, "einsum": 9, "cumsum": 3, "sum": 3, "rnn_cell": 9, "max": 0, "add": 0, "softmax": 0, "log_sum_exp": 0} {
		d, ok := kernels.Builtin().Find(name)
		if !ok {
			t.Fatal(name)
		}
		found := false
		for seed := range uint64(20) {
			c, err := sample.Call(d, rand.New(rand.NewPCG(seed, 1)), scalar.Float32)
			if err != nil {
				t.Fatal(err)
			}
			if c == nil || name == "einsum" && len(c.Inputs[0].Sel) != 2 {
				continue
			}
			in, err := bind.Instance(d, *c)
			if err != nil {
				t.Fatal(err)
			}
			terms := termsOf(in, func(instance.Operand) float64 { return 3 })
			for _, got := range terms {
				if got == 0 {
					continue // nothing is added up
				}
				found = true
				if got != want {
					t.Errorf("%s: %v, expected %v", name, got, want)
				}
			}
		}
		if found != (want > 0) && name != "einsum" {
			t.Errorf("%s has terms: %v", name, found)
		}
	}
}

// An error as large as rounding the terms makes is allowed, a larger one is not, nor is either without terms.
func TestCompareSums(t *testing.T) {
	tensor := func(x float64) tensorfile.Tensor {
		out := tensorfile.Tensor{DType: scalar.Float64, Shape: []int64{1}, Data: make([]byte, 8)}
		scalar.FloatValue(scalar.Float64, x).Encode(out.Data)
		return out
	}
	ulp := math.Nextafter(8, 9) - 8
	for _, c := range []struct {
		by, terms float64
		ok        bool
	}{{3 * ulp, 8, true}, {5 * ulp, 8, false}, {3 * ulp, 0, false}} {
		if err := reference.CompareSums("x", tensor(0.5), tensor(0.5+c.by), reference.Ulps, c.terms); (err == nil) != c.ok {
			t.Errorf("off by %v with terms of %v: %v", c.by, c.terms, err)
		}
	}
}

// Each output is compared as narrowly as its statements let it: element by element, by its own terms, or by the whole tensor's.
func TestOwnScale(t *testing.T) {
	for name, want := range map[string]comparison{"add": {own: exact, grows: true}, "sub": {own: exact}, "sqrt": {own: exact}, "exp": {own: close}, "hard_sigmoid": {},
		"reduce_max": {own: exact}, "gelu": {}, "matmul": {grows: true}, "sum": {grows: true}, "variance": {}, "sigmoid": {}} {
		d, ok := kernels.Builtin().Find(name)
		if !ok {
			t.Fatal(name)
		}
		for seed := range uint64(20) {
			c, err := sample.Call(d, rand.New(rand.NewPCG(seed, 1)), scalar.Float32)
			if err != nil {
				t.Fatal(err)
			}
			if c == nil {
				continue
			}
			in, err := bind.Instance(d, *c)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range in.Statements {
				if s.Store < 0 {
					continue
				}
				if got := (comparison{own: ownScale(in)[s.Store], grows: growing(in)[s.Store]}); got.own != want.own && got.own != exact || got.grows != want.grows && want.own != exact && got.own != exact {
					t.Errorf("%s: %+v, expected %+v", name, got, want)
				}
			}
		}
	}
}

// A small element that is wholly wrong, a sum of small terms beside large ones, and the sign of a zero are found.
func TestSmallElements(t *testing.T) {
	tensor := func(x ...float64) tensorfile.Tensor {
		out := tensorfile.Tensor{DType: scalar.Float32, Shape: []int64{int64(len(x))}, Data: make([]byte, 4*len(x))}
		for i, f := range x {
			scalar.FloatValue(scalar.Float32, f).Encode(out.Data[4*i:])
		}
		return out
	}
	next := func(x float64, by int) float64 {
		return float64(math.Float32frombits(math.Float32bits(float32(x)) + uint32(by)))
	}
	zero := math.Copysign(0, -1)
	for name, c := range map[string]struct {
		of              comparison
		want, got, sums tensorfile.Tensor
		ok              bool
	}{
		"small, whole tensor": {comparison{}, tensor(1e6, 1), tensor(1e6, 1.5), tensor(), true},
		"small":               {comparison{own: close}, tensor(1e6, 1), tensor(1e6, 1.5), tensor(), false},
		"a few units":         {comparison{own: close}, tensor(1e6, 1), tensor(1e6, next(1, 3)), tensor(), true},
		"a few units, exact":  {comparison{own: exact}, tensor(1e6, 1), tensor(1e6, next(1, 1)), tensor(), false},
		"zero":                {comparison{own: close}, tensor(0), tensor(zero), tensor(), false},
		"zero of a greatest":  {comparison{own: exact, zeros: true}, tensor(0), tensor(zero), tensor(), true},
		"denormal":            {comparison{own: close}, tensor(1e-44), tensor(3e-45), tensor(), true},
		"a sum":               {comparison{grows: true}, tensor(1e6, 1), tensor(1e6, 1.5), tensor(1e6, 2), false},
		"a sum that cancels":  {comparison{grows: true}, tensor(1e6, 1), tensor(1e6, 1.5), tensor(1e6, 1e6), true},
	} {
		if err := c.of.compare("x", c.want, c.got, c.sums); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
