package simplify_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/simplify"
)

// transposed writes a transposed convolution, of small integers as floats, whose sums are exact in any order.
type transposed struct {
	images, channels, group, groups                           int64
	in, cells, strides, dilations, pads, padsEnd, more, shape []int64
	bias                                                      bool
}

func (c transposed) graph(t *testing.T) *ir.Graph {
	t.Helper()
	list := func(n []int64) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(n), " ", ", "), "[]") }
	ranges := func(first, second int64, rest []int64) string {
		out := fmt.Sprintf("[0:%d, 0:%d", first, second)
		for _, n := range rest {
			out += fmt.Sprintf(", 0:%d", n)
		}
		return out + "]"
	}
	b, more := "", ""
	if c.bias {
		b, more = fmt.Sprintf("%%b = tensor float32 [0:%d]\n", c.group*c.groups), ", B: %b"
	}
	g, err := text.Read(fmt.Appendf(nil, "tapc 1\n%%x = tensor float32 %s\n%%w = tensor float32 %s\n%s%%y = tensor float32 %s\n"+
		"operation op:constant {file: \"w.npz\", key: \"w\"} -> (result: %%w)\n"+
		"operation op:conv_transpose {dilations: [%s], groups: %d, output_padding: [%s], pads: [%s], pads_end: [%s], strides: [%s]} (X: %%x, W: %%w%s) -> (Y: %%y)\n",
		ranges(c.images, c.channels, c.in), ranges(c.channels, c.group, c.cells), b, ranges(c.images, c.group*c.groups, c.shape),
		list(c.dilations), c.groups, list(c.more), list(c.pads), list(c.padsEnd), list(c.strides), more), "test.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// apart says whether the rule is made for it.
func (c transposed) apart() bool {
	for i, s := range c.strides {
		if s > 1 && (c.dilations[i] > 1 || c.cells[i] < s) {
			return false
		}
	}
	return true
}

// Transposed convolutions give the same sums when they are split, whatever the image holds; with filters that are not finite they stay.
func TestTransposedPhases(t *testing.T) {
	rule := simplify.Rules()[slices.IndexFunc(simplify.Rules(), func(r rewrite.Rule) bool { return r.Name == "transposed-phases" })]
	split, whole, seeds := 0, 0, uint64(600)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 9))
		c := transposed{images: 1 + rnd.Int64N(2), groups: 1 + rnd.Int64N(2), group: 1 + rnd.Int64N(3), bias: rnd.IntN(2) == 0}
		c.channels = c.groups * (1 + rnd.Int64N(3))
		good := true
		for range 1 + rnd.IntN(3) {
			s, k, d, in := 1+rnd.Int64N(3), 1+rnd.Int64N(5), int64(1), 1+rnd.Int64N(4)
			if rnd.IntN(6) == 0 {
				d = 2
			}
			p, q, o := rnd.Int64N(3), rnd.Int64N(3), rnd.Int64N(s)
			n := (in-1)*s + (k-1)*d + 1 - p - q + o
			good = good && n > 0
			c.in, c.cells, c.strides, c.dilations = append(c.in, in), append(c.cells, k), append(c.strides, s), append(c.dilations, d)
			c.pads, c.padsEnd, c.more, c.shape = append(c.pads, p), append(c.padsEnd, q), append(c.more, o), append(c.shape, n)
		}
		if !good {
			continue
		}
		g := c.graph(t)
		before := g.Clone()
		number := func(odd int) scalar.Value {
			if rnd.IntN(odd) == 0 {
				return scalar.FloatValue(scalar.Float32, []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rnd.IntN(3)])
			}
			return scalar.FloatValue(scalar.Float32, float64(rnd.IntN(19)-9))
		}
		odd := []int{20, math.MaxInt}[rnd.IntN(2)]
		var weights tensorfile.Tensor
		for n := range g.Nodes() {
			if x, ok := n.Body.(*tensorops.Tensor); ok && n.Label == "w" {
				weights = fill(x, func() scalar.Value { return number(odd) })
			}
		}
		load := func(tensorops.Const, *tensorops.Tensor) (tensorfile.Tensor, error) { return weights, nil }
		stats, err := rewrite.Run(context.Background(), g, []rewrite.Rule{rule}, rewrite.Options{Verify: true, Load: load})
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if got, want := stats.Applied > 0, c.apart() && finite(weights); got != want {
			t.Errorf("%+v: split: %v, expected %v", c, got, want)
		}
		in := inputsBy(t, before, func(scalar.DType) scalar.Value { return number(20) })
		if err := sameValues(evaluateWith(t, before, in, load), evaluateWith(t, g, in, load)); err != nil {
			t.Fatalf("%+v: %v\nafter\n%s", c, err, dump(g))
		}
		if stats.Applied == 0 {
			continue
		}
		if strings.Contains(dump(g), "op:concat") {
			split++
		} else {
			whole++
		}
	}
	if split < int(seeds)/12 || whole < int(seeds)/30 {
		t.Errorf("%d were split, and %d became one convolution", split, whole)
	}
}

func finite(x tensorfile.Tensor) bool {
	for at := 0; at < len(x.Data); at += x.DType.Size() {
		if f := scalar.Decode(x.DType, x.Data[at:]).F; math.IsNaN(f) || math.IsInf(f, 0) {
			return false
		}
	}
	return true
}
