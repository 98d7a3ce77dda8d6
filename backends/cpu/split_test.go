package cpu_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/split"
)

// splitCase is how a case of sumCases is cut along what it reduces.
type splitCase struct {
	name string // of the dimension
	step int64  // the size of its parts is a multiple of this
}

// TestSplitsKeepBits: operations that are cut along what they reduce, where blocks of the sum begin, give the bits of whole ones, with any number of
// threads; greatest values and sums of integers wherever they are cut (docs/numerics.md).
func TestSplitsKeepBits(t *testing.T) {
	cc := cputest.Compiler(t)
	seed := uint64(1)
	if testkit.Full() {
		seed = testkit.Rotation(t)
	}
	rng := rand.New(rand.NewPCG(seed, 17))
	var c sumCases
	cuts := c.splits(rng)
	whole, parts := cputest.Operations(t, c.graph), cputest.Operations(t, c.graph)
	for i, x := range cuts {
		r := split.Request{Target: c.labels[i], Cuts: []split.Cut{{Name: x.name, Part: cut.Part{Size: x.step}}}}
		if n, err := split.Run(parts, kernels.Builtin(), 0, []split.Request{r}); err != nil || n < 2 {
			t.Fatalf("%s by %v: %d parts, %v", c.about[i], r.Cuts, n, err)
		}
		c.about[i] += fmt.Sprint(" by ", r.Cuts)
	}
	in := cputest.RandomInputs(t, whole)
	for _, x := range in {
		unusual(rng, x)
	}
	one, many := native(t, cc, whole), native(t, cc, parts)
	want := cputest.Run(t, []string{one}, whole, in, "1")
	for _, threads := range []string{"1", "3"} {
		got := cputest.Run(t, []string{many}, parts, in, threads)
		for i := range c.labels {
			out := input(i, "out")
			if at := otherBits(want[out], got[out]); at >= 0 {
				t.Errorf("%s, %s threads: element %d has other bits than of one piece", c.about[i], threads, at)
			}
		}
	}
}

// splits adds operations whose reductions keep their bits where they are cut.
func (c *sumCases) splits(rng *rand.Rand) (cuts []splitCase) {
	add := func(name string, step int64) { cuts = append(cuts, splitCase{name, step}) }
	for i, k := range []int64{near(rng, 300, 700), near(rng, 4160), near(rng, 9000)} {
		m, n, w := near(rng, 1, 4, 17), near(rng, 4, 33), []string{"Y", "=Y"}[i%2]
		step, lanes := max(64, k/3-k/3%64), 16*(1+rng.Int64N(3))
		if k > 4096 {
			step = 4096
		}
		c.add("matmul", "Z", dims(m, n), "X", dims(m, k), w, dims(k, n))
		add("k", step)
		c.add("linear {activation: \"relu\"}", "result", dims(m, n), "x", dims(m, k), "A", dims(k, n), "b", dims(n))
		add("i", step)
		c.add("gemm {transpose_b: true, alpha: 0.5, beta: 2}", "Y", dims(m, n), "A", dims(m, k), "B", dims(n, k), "C", dims(n))
		add("k", step)
		c.add("sum {dims: [0]}", "result", dims(lanes), "tensor", dims(k, lanes))
		add("s0", step)
		c.add("mean {dims: [1]}", "result", dims(2, lanes), "tensor", dims(2, k, lanes))
		add("s1", step)
		c.add("l2_norm {dims: [0], keepdims: true}", "result", dims(1, lanes), "tensor", dims(k, lanes))
		add("s0", step)
		c.add("softmax {dims: [0]}", "result", dims(k, lanes), "tensor", dims(k, lanes))
		add("s0", step)
		c.add("reduce_max {dims: [1]}", "result", dims(m), "tensor", dims(m, k))
		add("s1", 1+k/5)
		c.add("reduce_min", "result", dims(), "tensor", dims(m, k))
		add("s1", 1+k/3)
		c.add("conv", "Y", dims(1, n, 4, 4), "X", dims(1, k, 4, 4), "W", dims(n, k, 1, 1), "B", dims(n))
		add("c", step)
	}
	return cuts
}

// unusual puts a few numbers into a tensor that sums have to carry: infinities of one sign, both zeros, and sometimes NaN.
func unusual(rng *rand.Rand, x tensorfile.Tensor) {
	for _, v := range []float32{float32(math.Inf(1)), float32(math.Copysign(0, -1)), 0, float32(math.NaN()), 1e30} {
		if n := len(x.Data) / 4; n > 4000 {
			binary.LittleEndian.PutUint32(x.Data[4*rng.IntN(n):], math.Float32bits(v))
		}
	}
}

// otherBits gives the first element that has other bits, or -1. Every NaN is the same.
func otherBits(a, b tensorfile.Tensor) int {
	x, y := floatsOf(a), floatsOf(b)
	for i := range x {
		if math.Float32bits(x[i]) != math.Float32bits(y[i]) && (x[i] == x[i] || y[i] == y[i]) {
			return i
		}
	}
	return -1
}

// TestUnevenSplitsAreWithinTheirBound: where cuts are anywhere, which the permission reassociate allows, sums are off the exact value by what as many additions in a row as
// the longest chain of the parts has can round off the sum of magnitudes.
func TestUnevenSplitsAreWithinTheirBound(t *testing.T) {
	cc, rng := cputest.Compiler(t), rand.New(rand.NewPCG(17, 4))
	var c sumCases
	const rows, cols = 3, 5
	var lengths, parts []int64
	for _, k := range []int64{near(rng, 100), near(rng, 1000), near(rng, 5000)} {
		n := 2 + rng.Int64N(5)
		c.add("matmul", "Z", dims(rows, cols), "X", dims(rows, k), "Y", dims(k, cols))
		c.add("sum {dims: [1]}", "result", dims(rows), "tensor", dims(rows, k))
		lengths, parts = append(lengths, k, k), append(parts, n, n)
	}
	g := cputest.Operations(t, c.graph)
	in := cputest.RandomInputs(t, g)
	for i, label := range c.labels {
		r := split.Request{Target: label, Cuts: []split.Cut{{Name: []string{"k", "s1"}[i%2], Part: cut.Part{Count: parts[i]}}}}
		if _, err := split.Run(g, kernels.Builtin(), permission.Reassociate, []split.Request{r}); err != nil {
			t.Fatal(err)
		}
	}
	got := cputest.Run(t, []string{native(t, cc, g)}, g, in, "2")
	for i, about := range c.about {
		z, k := floatsOf(got[input(i, "out")]), int(lengths[i])
		var x, y, terms []float32
		if i%2 == 0 {
			x, y = floatsOf(in[input(i, "X")]), floatsOf(in[input(i, "Y")])
		} else {
			terms = floatsOf(in[input(i, "tensor")])
		}
		for at := range z {
			exact, magnitude := new(big.Float).SetPrec(400), 0.0
			for p := range k {
				term := new(big.Float).SetPrec(400)
				if i%2 == 0 {
					term.Mul(big.NewFloat(float64(x[at/cols*k+p])), big.NewFloat(float64(y[p*cols+at%cols])))
				} else {
					term.SetFloat64(float64(terms[at*k+p]))
				}
				m, _ := term.Float64()
				exact, magnitude = exact.Add(exact, term), magnitude+math.Abs(m)
			}
			chain := float64(256+64+2) + float64(parts[i]) // a block, groups of blocks, parts
			off, _ := new(big.Float).Sub(exact, big.NewFloat(float64(z[at]))).Float64()
			if bound := chain * math.Exp2(-24) * magnitude; !(math.Abs(off) <= bound) {
				t.Errorf("%s in %d parts: element %d is off by %v, more than %v", about, parts[i], at, off, bound)
			}
		}
	}
}

// TestPairsAreWithinTheirBound: sums of powers of e and of squared distances, in parts of any size, are off the exact value by what their longest chain of additions
// rounds off, once more for each part, for a power of e and for the factor to the greatest value; squared distances beside by what a mean is off.
func TestPairsAreWithinTheirBound(t *testing.T) {
	cc, rng := cputest.Compiler(t), rand.New(rand.NewPCG(17, 5))
	const rows, unit = 3, 1.0 / (1 << 24)
	var c sumCases
	var lengths, parts []int64
	for _, k := range []int64{near(rng, 100), near(rng, 1000), near(rng, 5000)} {
		c.add("exp_sum {dims: [1]}", "total", dims(rows), "tensor", dims(rows, k))
		c.add("moments {dims: [1]}", "spread", dims(rows), "tensor", dims(rows, k))
		n := 2 + rng.Int64N(5)
		lengths, parts = append(lengths, k, k), append(parts, n, n)
	}
	g := cputest.Operations(t, c.graph)
	in := cputest.RandomInputs(t, g)
	for i, label := range c.labels {
		if x := in[input(i, "tensor")]; i%2 == 1 { // far from 0, where sums of squares less squares of sums would be lost
			for at := 0; at < len(x.Data); at += 4 {
				v := math.Float32frombits(binary.LittleEndian.Uint32(x.Data[at:]))
				binary.LittleEndian.PutUint32(x.Data[at:], math.Float32bits(v+1000))
			}
		}
		r := split.Request{Target: label, Cuts: []split.Cut{{Name: "s1", Part: cut.Part{Count: parts[i]}}}}
		if _, err := split.Run(g, kernels.Builtin(), permission.Reassociate, []split.Request{r}); err != nil {
			t.Fatal(err)
		}
	}
	got := cputest.Run(t, []string{native(t, cc, g)}, g, in, "2")
	for i, about := range c.about {
		z, k, x := floatsOf(got[input(i, "out")]), int(lengths[i]), floatsOf(in[input(i, "tensor")])
		longest := 64 + 64 + float64(parts[i])
		for at := range z {
			exact, bound := scaledSum(x[at*k:at*k+k]), 0.0
			if bound = (longest + 8) * unit * exact; i%2 == 1 {
				var magnitude float64
				exact, magnitude = squaredDistances(x[at*k : at*k+k])
				off := longest * unit * magnitude // of a mean
				bound = (longest+8)*unit*exact + 4*float64(k)*off*off
			}
			if !(math.Abs(exact-float64(z[at])) <= bound) {
				t.Errorf("%s in %d parts: element %d is %v, more than %v off %v", about, parts[i], at, z[at], bound, exact)
			}
		}
	}
}

// scaledSum is the sum of e to the power of each value less the greatest.
func scaledSum(x []float32) (sum float64) {
	top := slices.Max(x)
	for _, v := range x {
		sum += math.Exp(float64(v) - float64(top))
	}
	return sum
}

// squaredDistances is the sum of the squared distances from the mean, exact but for one rounding, and the mean of magnitudes.
func squaredDistances(x []float32) (spread, magnitude float64) {
	sum, total, n := new(big.Float).SetPrec(400), new(big.Float).SetPrec(400), new(big.Float).SetPrec(400).SetInt64(int64(len(x)))
	for _, v := range x {
		sum.Add(sum, big.NewFloat(float64(v)))
		magnitude += math.Abs(float64(v)) / float64(len(x))
	}
	center := new(big.Float).SetPrec(400).Quo(sum, n)
	for _, v := range x {
		d := new(big.Float).SetPrec(400).Sub(big.NewFloat(float64(v)), center)
		total.Add(total, d.Mul(d, d))
	}
	spread, _ = total.Float64()
	return spread, magnitude
}
