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
	found := false
	for i, s := range c.strides {
		if s > 1 && (c.dilations[i] > 1 || c.cells[i] < s) {
			return false
		}
		found = found || s > 1
	}
	return found
}

// Transposed convolutions give the same sums when they are split.
func TestTransposedPhases(t *testing.T) {
	rule := simplify.Rules()[slices.IndexFunc(simplify.Rules(), func(r rewrite.Rule) bool { return r.Name == "transposed-phases" })]
	split, whole := 0, 0
	for seed := range uint64(600) {
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
		stats, err := rewrite.Run(context.Background(), g, []rewrite.Rule{rule}, rewrite.Options{Verify: true})
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if got := stats.Applied > 0; got != c.apart() {
			t.Errorf("%+v: split: %v, expected %v", c, got, c.apart())
		}
		p, err := tensorops.ProgramOf(before)
		if err != nil {
			t.Fatal(err)
		}
		in := map[string]tensorfile.Tensor{}
		for _, x := range p.Inputs {
			in[x.Name] = fill(tensorops.TensorOf(before, x.Tensor), func() scalar.Value {
				if rnd.IntN(20) == 0 {
					return scalar.FloatValue(scalar.Float32, []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rnd.IntN(3)])
				}
				return scalar.FloatValue(scalar.Float32, float64(rnd.IntN(19)-9))
			})
		}
		if err := sameValues(evaluate(t, before, in), evaluate(t, g, in)); err != nil {
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
	if split < 50 || whole < 20 {
		t.Errorf("%d were split, and %d became one convolution", split, whole)
	}
}
