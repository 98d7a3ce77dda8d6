package conformance

import (
	"math"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
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
			c, err := d.Sample(rand.New(rand.NewPCG(seed, 1)), scalar.Float32)
			if err != nil {
				t.Fatal(err)
			}
			if c == nil || name == "einsum" && len(c.Inputs[0].Sel) != 2 {
				continue
			}
			in, err := d.Bind(*c)
			if err != nil {
				t.Fatal(err)
			}
			terms := termsOf(in, func(kernels.Operand) float64 { return 3 })
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
