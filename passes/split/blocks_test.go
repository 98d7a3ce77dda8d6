package split_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/feed"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/split"
)

// long are operations whose sums have blocks, with the dimension that they sum. Numbers in them are its extent and the type.
var long = []struct{ text, dim string }{
	{"%%x = tensor %[2]s [0:3, 0:%[1]d, 0:16]\n%%y = tensor %[2]s [0:3, 0:16]\n%%of = operation op:sum {dims: [1]} (tensor: %%x) -> (result: %%y)\n", "s1"},
	{"%%x = tensor %[2]s [0:%[1]d, 0:32]\n%%y = tensor %[2]s [0:1, 0:32]\n%%of = operation op:sum {dims: [0], keepdims: true} (tensor: %%x) -> (result: %%y)\n", "s0"},
	{"%%x = tensor %[2]s [0:2, 0:%[1]d]\n%%w = tensor %[2]s [0:%[1]d, 0:5]\n%%y = tensor %[2]s [0:2, 0:5]\n%%of = operation op:matmul (X: %%x, Y: %%w) -> (Z: %%y)\n", "k"},
	{"%%x = tensor %[2]s [0:2, 0:%[1]d]\n%%w = tensor %[2]s [0:%[1]d, 0:4]\n%%b = tensor %[2]s [0:4]\n%%y = tensor %[2]s [0:2, 0:4]\n%%of = operation op:linear (A: %%w, b: %%b, x: %%x) -> (result: %%y)\n", "i"},
}

// The identity split-blocks: float sums and products of matrices that are cut where blocks of their tree begin need no permission and have the values of the whole, also with
// NaN, infinities and zeros of both signs; anywhere else they are refused.
func TestBlocksKeepValues(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 6))
	applied, refused := 0, 0
	for i := range 80 {
		c, dtype := long[i%len(long)], []string{"float32", "float64"}[rnd.IntN(2)]
		if c.dim != "s0" && c.dim != "s1" {
			dtype = "float32" // products of float64 have no blocks
		}
		block := int64(64)
		extent := block*(5+rnd.Int64N(20)) + rnd.Int64N(block)
		if (c.dim == "k" || c.dim == "i") && rnd.IntN(2) == 0 {
			block = 4096
			extent = block*2 + rnd.Int64N(block)
		}
		at := block * (1 + rnd.Int64N((extent-1)/block))
		if rnd.IntN(5) == 0 {
			at -= 1 + rnd.Int64N(block-1)
		}
		g, err := text.Read([]byte("tapc 1\n"+fmt.Sprintf(c.text, extent, dtype)), "long.tap", dialects.Registry())
		if err != nil {
			t.Fatal(err)
		}
		whole, blocks := g.Clone(), 0
		by := split.Cut{Name: c.dim, Part: cut.Part{Sizes: []int64{at, extent - at}}}
		_, err = split.RunWhile(g, kernels.Builtin(), 0, []split.Request{{Target: "of", Cuts: []split.Cut{by}}}, func(rule string, _ ir.NodeID) bool {
			if rule == "split-blocks" {
				blocks++
			}
			return true
		})
		if at%block != 0 {
			if err == nil || diag.FromError(err)[0].Code != "TAP0815" {
				t.Fatalf("%s of %d at %d: expected TAP0815, found %v", dtype, extent, at, err)
			}
			refused++
			continue
		}
		if err != nil || blocks != 1 {
			t.Fatalf("%s of %d at %d: %d times split-blocks, %v", dtype, extent, at, blocks, err)
		}
		applied++
		in := numbers(t, whole, rnd, rnd.IntN(3) == 0)
		terms := float64(extent) * 16 // of numbers up to 4
		for name, want := range values(t, whole, in) {
			if err := reference.CompareSums(name, want, values(t, g, in)[name], 4, terms); err != nil {
				t.Errorf("%s of %d at %d: %v", dtype, extent, at, err)
			}
		}
	}
	if applied < 30 || refused < 5 {
		t.Errorf("%d cuts were applied and %d refused", applied, refused)
	}
}

// numbers gives inputs of small numbers, and with special also NaN, infinities and zeros of both signs in a few places.
func numbers(t *testing.T, g *ir.Graph, rnd *rand.Rand, special bool) map[string]tensorfile.Tensor {
	t.Helper()
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1)}
	in, err := feed.Inputs(g, func(_ int, _ tensorops.Named, d scalar.DType, n int64) []byte {
		return feed.Elements(d, n, func(int64) scalar.Value {
			if special && rnd.IntN(2000) == 0 {
				return scalar.FloatValue(d, odd[rnd.IntN(len(odd))])
			}
			return scalar.FloatValue(d, rnd.Float64()*8-4)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func values(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
	t.Helper()
	e := reference.Evaluator{Library: kernels.Builtin()}
	out, err := e.Evaluate(t.Context(), g, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
