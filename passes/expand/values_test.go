package expand_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/calls"
	"tensortapestry.org/tapc/dialects/tensorops/feed"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/choose"
	"tensortapestry.org/tapc/passes/expand"
	"tensortapestry.org/tapc/passes/rewrite"
)

// specials are numbers that break wrong identities.
var specials = []float64{0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), 0.5, -3}

// tame are numbers whose sums of products are near 1, so that roundings are small.
var tame = []float64{0, 1, -1, 0.5, 2, -0.25}

// options let rules do all that they may.
var options = rewrite.Options{Verify: true, Allow: permission.Reassociate}

func inputsOf(t *testing.T, g *ir.Graph, rnd *rand.Rand, of []float64) map[string]tensorfile.Tensor {
	t.Helper()
	in, err := feed.Inputs(g, func(_ int, _ tensorops.Named, d scalar.DType, n int64) []byte {
		return feed.Elements(d, n, func(int64) scalar.Value { return value(rnd, d, of) })
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func value(rnd *rand.Rand, d scalar.DType, of []float64) scalar.Value {
	f := of[rnd.IntN(len(of))]
	if rnd.IntN(3) == 0 {
		f = rnd.NormFloat64()
	}
	switch {
	case d.IsComplex():
		return scalar.Convert(scalar.Value{DType: scalar.Complex128, F: f, Im: of[rnd.IntN(len(of))]}, d)
	case d.IsFloat():
		return scalar.FloatValue(d, f)
	case d.IsBool():
		return scalar.BoolValue(rnd.IntN(2) == 0)
	}
	return scalar.IntValue(d, int64(rnd.IntN(13)-6))
}

func evaluate(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
	t.Helper()
	e := reference.Evaluator{Library: kernels.Builtin(), Constants: func(c tensorops.Const, t *tensorops.Tensor) (tensorfile.Tensor, error) {
		return new(constants.Loader).Load(c, t)
	}}
	out, err := e.Evaluate(context.Background(), g, in)
	if err != nil {
		t.Fatalf("%v\n%s", err, dump(g))
	}
	return out
}

// same compares outputs by name: bit by bit, or within what another order and rounding of sums may do.
func same(want, got map[string]tensorfile.Tensor, exact bool) error {
	for name, w := range want {
		g, ok := got[name]
		if !ok || g.DType != w.DType || !slices.Equal(g.Shape, w.Shape) {
			return fmt.Errorf("output %q: %v%v, expected %v%v", name, g.DType, g.Shape, w.DType, w.Shape)
		}
		if !exact {
			const ulps, terms = 16, 32
			if err := reference.CompareSums(name, w, g, ulps, terms); err != nil {
				return err
			}
			continue
		}
		for i := 0; i < len(w.Data); i += w.DType.Size() {
			if a, b := scalar.Decode(w.DType, w.Data[i:]), scalar.Decode(g.DType, g.Data[i:]); !a.Same(b) {
				return fmt.Errorf("output %q, element %d: %v, expected %v", name, i/w.DType.Size(), b, a)
			}
		}
	}
	if len(want) != len(got) {
		return fmt.Errorf("%d outputs, expected %d", len(got), len(want))
	}
	return nil
}

func dump(g *ir.Graph) string {
	var b strings.Builder
	for n := range g.Nodes() {
		switch x := n.Body.(type) {
		case *tensorops.Tensor:
			fmt.Fprintf(&b, "%%%d %q %s%v\n", n.ID, n.Label, x.DType, x.Range)
		case *tensorops.Operation:
			fmt.Fprintf(&b, "#%d %s %v %v -> %v\n", n.ID, x.Kernel, x.Params, x.Inputs, x.Outputs)
		}
	}
	return b.String()
}

// sampled makes a graph with a random operation of a kernel, or none.
func sampled(rnd *rand.Rand, kernel string) (*ir.Graph, bool) {
	d, _ := kernels.Builtin().Find("op:" + kernel)
	types := sample.Types(d)
	dtype := types[rnd.IntN(len(types))]
	if slices.Contains(types, scalar.Float32) && rnd.IntN(2) == 0 {
		dtype = scalar.Float32
	}
	call, err := sample.Call(d, rnd, dtype)
	if err != nil || call == nil {
		return nil, false
	}
	return calls.Graph("", d, *call), true
}

// made makes a graph of what a rule makes of an instance of its own, for rules that undo it.
func made(t *testing.T, forward string, rnd *rand.Rand) (*ir.Graph, bool) {
	t.Helper()
	of := only(forward)
	g, ok := instance(t, of[0], rnd)
	if !ok {
		return nil, false
	}
	n, err := expand.Run(t.Context(), g, of, expand.Settings{Depth: 1, Limit: 10}, options)
	if err != nil || n == 0 {
		return nil, false
	}
	take(t, g, 1)
	return g, true
}

// instance makes a graph on which a rule may fire.
func instance(t *testing.T, r rewrite.Rule, rnd *rand.Rand) (*ir.Graph, bool) {
	t.Helper()
	forward, ok := reverses[r.Name]
	for _, norm := range []string{"layer-norm", "instance-norm", "group-norm"} {
		if form, of := strings.CutSuffix(r.Name, "-"+norm); of {
			forward, ok = norm+"-"+form, true
		}
	}
	if ok {
		return made(t, forward, rnd)
	}
	if r.Source != "Go" {
		g, ok := r.Instance(rnd)
		return g, ok && !kernels.Builtin().CheckOperations(g, false).HasErrors()
	}
	switch {
	case r.Name == "cells-of-pad", r.Name == "pad-of-cells":
		return padded(rnd, r.Name == "pad-of-cells"), true
	case strings.HasPrefix(r.Name, "parts-reduction"):
		return cutReduction(rnd, r.Name == "parts-reduction"), true
	case len(r.Roots) == 0:
		return joined(t, rnd, strings.TrimPrefix(r.Name, "parts-of-")), true
	case r.Name == "joined-results":
		return results(rnd, r.Roots[rnd.IntN(2)]), true
	case r.Roots[0] == "conv":
		return convolution(rnd), true
	}
	return sampled(rnd, r.Roots[rnd.IntN(len(r.Roots))])
}

// convolution makes a graph with a convolution without padding, with strides, dilations, both or none.
func convolution(rnd *rand.Rand) *ir.Graph {
	some := func(n int) int64 { return 1 + int64(rnd.IntN(n)) }
	groups, spatial := some(2), 1+rnd.IntN(2)
	x, w, y := []int64{orNone(rnd, some(2)), groups * some(2)}, []int64{groups * some(2)}, []int64{}
	w = append(w, x[1]/groups)
	y = append(y, x[0], w[0])
	var strides, dilations []int64
	for range spatial {
		s, d, k, o := some(3), some(3), some(3), some(2)*some(3)
		if rnd.IntN(2) == 0 {
			s = 1
		} else {
			d = 1
		}
		strides, dilations, w, y = append(strides, s), append(dilations, d), append(w, k), append(y, o)
		x = append(x, (o-1)*s+(k-1)*d+some(int(s)))
	}
	g := ir.New()
	tensor := func(label string, shape ...int64) ir.Port {
		box := zspace.MustShape(shape...)
		return ir.Port{Sel: []ir.Selection{ir.Select(g.Add(&tensorops.Tensor{DType: "float32", Range: box}, label).ID, box)}}
	}
	named := func(name string, p ir.Port) ir.Port { p.Name = name; return p }
	in := []ir.Port{named("W", tensor("w", w...)), named("X", tensor("x", x...))}
	if rnd.IntN(2) == 0 {
		in = append([]ir.Port{named("B", tensor("b", w[0]))}, in...)
	}
	p := ir.Attrs{}.With("strides", ir.IntsAttr(strides...)).With("dilations", ir.IntsAttr(dilations...)).With("groups", ir.IntAttr(groups))
	g.Add(&tensorops.Operation{Kernel: "op:conv", Params: p, Inputs: ir.PortsOf(in), Outputs: ir.PortsOf([]ir.Port{named("Y", tensor("y", y...))})}, "")
	return g
}

// orNone gives an extent, or now and then none.
func orNone(rnd *rand.Rand, n int64) int64 {
	if rnd.IntN(12) == 0 {
		return 0
	}
	return n
}

// labeled makes tensors of float32 that operations read and write.
type labeled struct {
	g *ir.Graph
	n int
}

func (x *labeled) tensor(shape ...int64) ir.Selection {
	x.n++
	box := zspace.MustShape(shape...)
	return ir.Select(x.g.Add(&tensorops.Tensor{DType: "float32", Range: box}, fmt.Sprint("t", x.n)).ID, box)
}

func (x *labeled) op(kernel string, params ir.Attrs, out string, y ir.Selection, in ...ir.Port) ir.Selection {
	x.g.Add(&tensorops.Operation{Kernel: kernels.ID(kernel), Params: params, Inputs: ir.PortsOf(in), Outputs: ir.PortsOf([]ir.Port{{Name: out, Sel: []ir.Selection{y}}})}, "")
	return y
}

func (x *labeled) join(kernel string, axis int, y ir.Selection, parts ...ir.Selection) ir.Selection {
	return x.op(kernel, ir.Attrs{}.With("axis", ir.IntAttr(int64(axis))), "result", y, ir.Port{Name: "tensors", Sel: parts})
}

// joined makes a graph with an operation that reads a join: cell by cell beside others, as one operand of a product, or reduced.
func joined(t *testing.T, rnd *rand.Rand, kernel string) *ir.Graph {
	t.Helper()
	some := func(n int) int64 { return 1 + int64(rnd.IntN(n)) }
	x, axis := &labeled{g: ir.New()}, rnd.IntN(2)
	shape, part := []int64{orNone(rnd, some(3)), orNone(rnd, some(3))}, some(3)
	var parts []ir.Selection
	shape[axis] = 0
	for range 2 + rnd.IntN(2) {
		if kernel == "concat" {
			part = orNone(rnd, some(3))
		}
		size := slices.Clone(shape)
		size[axis] = part
		parts = append(parts, x.tensor(size...))
	}
	for _, p := range parts {
		shape[axis] += p.Range().Shape()[axis]
	}
	a := x.join(kernel, axis, x.tensor(shape...), parts...)
	switch rnd.IntN(4) {
	case 0:
		x.op("relu", nil, "result", x.tensor(shape...), ir.Port{Name: "tensor", Sel: []ir.Selection{a}})
	case 1:
		other := slices.Clone(shape)
		other[rnd.IntN(2)] = 1
		x.op("add", nil, "result", x.tensor(shape...), ir.Port{Name: "tensors", Sel: []ir.Selection{x.tensor(other...), a, x.tensor(shape[1])}})
	case 2:
		n := some(3)
		x.op("matmul", nil, "Z", x.tensor(shape[0], n), ir.Port{Name: "X", Sel: []ir.Selection{a}}, ir.Port{Name: "Y", Sel: []ir.Selection{x.tensor(shape[1], n)}})
	case 3:
		x.op("reduce_max", ir.Attrs{}.With("dims", ir.IntsAttr(1)), "result", x.tensor(shape[0]), ir.Port{Name: "tensor", Sel: []ir.Selection{a}})
	}
	return x.g
}

// cutReduction makes a graph with partial results of a reduction and what combines them. Some are along a dimension that is not reduced, or leave a gap.
func cutReduction(rnd *rand.Rand, exact bool) *ir.Graph {
	some := func(n int) int64 { return 1 + int64(rnd.IntN(n)) }
	of := [][]string{{"sum", "add", "float32"}, {"prod", "mul", "float64"}, {"log_sum_exp", "", "float32"}, {"sum", "add", "float16"}}
	if exact {
		of = [][]string{{"sum", "add", "int32"}, {"prod", "mul", "uint8"}, {"reduce_max", "max", "float32"}, {"reduce_min", "min", "float64"}, {"reduce_max", "max", "int8"}, {"any", "", "boolean"}, {"all", "", "boolean"}}
	}
	how, g := of[rnd.IntN(len(of))], ir.New()
	tensor := func(label string, shape ...int64) ir.Selection {
		box := zspace.MustShape(shape...)
		return ir.Select(g.Add(&tensorops.Tensor{DType: how[2], Range: box}, label).ID, box)
	}
	op := func(kernel string, params ir.Attrs, port string, y ir.Selection, in ...ir.Selection) ir.Selection {
		g.Add(&tensorops.Operation{Kernel: kernels.ID(kernel), Params: params, Inputs: ir.PortsOf([]ir.Port{{Name: port, Sel: in}}), Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{y}}})}, "")
		return y
	}
	shape, dim := []int64{orNone(rnd, some(3)), orNone(rnd, some(3)), orNone(rnd, some(3))}, rnd.IntN(3)
	shape[dim] = 2 * some(4)
	x, count, at := tensor("x", shape...), 2+rnd.IntN(2), int64(0)
	dims, keep := [][]int64{{int64(dim)}, {0, 2}, {int64(dim) - 3}, {2, 1, 0}}[rnd.IntN(4)], rnd.IntN(2) == 0
	after := slices.Clone(shape)
	for _, d := range dims {
		after[(d+3)%3] = 1
	}
	if !keep {
		for d := 2; d >= 0; d-- {
			if slices.Contains(dims, int64(d)) || slices.Contains(dims, int64(d-3)) {
				after = slices.Delete(after, d, d+1)
			}
		}
	}
	var parts []ir.Selection
	for i := range count {
		box, end := x.Range().Clone(), shape[dim]
		if i < count-1 {
			end = min(at+int64(rnd.IntN(4)), shape[dim])
		}
		box.Start[dim], box.End[dim] = at, end
		if at = end; rnd.IntN(12) == 0 {
			at = min(at+1, shape[dim])
		}
		params := ir.Attrs{}.With("dims", ir.IntsAttr(dims...)).With("keepdims", ir.BoolAttr(keep))
		y := after
		if !slices.Contains(dims, int64(dim)) && !slices.Contains(dims, int64(dim)-3) { // along what stays
			box = x.Range().Clone()
		}
		parts = append(parts, op(how[0], params, "tensor", tensor(fmt.Sprint("p", i), y...), ir.Select(x.Tensor, box)))
	}
	if how[1] != "" {
		op(how[1], nil, "tensors", tensor("y", after...), parts...)
		return g
	}
	all := op("stack", nil, "tensors", tensor("all", append([]int64{int64(count)}, after...)...), parts...)
	op(how[0], ir.Attrs{}.With("dims", ir.IntsAttr(0)), "tensor", tensor("y", after...), all)
	return g
}

// results makes a graph with a join of what operations give, which share an operand or do not.
func results(rnd *rand.Rand, kernel string) *ir.Graph {
	some := func(n int) int64 { return 1 + int64(rnd.IntN(n)) }
	x, axis := &labeled{g: ir.New()}, rnd.IntN(2)
	shape := []int64{orNone(rnd, some(3)), orNone(rnd, some(3))}
	of, total, shared := []string{"sub", "div"}[rnd.IntN(2)], int64(0), x.tensor(shape[1])
	if axis == 1 {
		shared = x.tensor(shape[0], 1)
	}
	var parts []ir.Selection
	for i := range 2 + rnd.IntN(2) {
		if kernel == "concat" && i > 0 {
			shape[axis] = orNone(rnd, some(3))
		}
		b := shared
		if rnd.IntN(4) == 0 {
			b = x.tensor(shape...)
		}
		total += shape[axis]
		parts = append(parts, x.op(of, nil, "result", x.tensor(shape...), ir.Port{Name: "a", Sel: []ir.Selection{x.tensor(shape...)}}, ir.Port{Name: "b", Sel: []ir.Selection{b}}))
	}
	shape[axis] = total
	x.join(kernel, axis, x.tensor(shape...), parts...)
	return x.g
}

// padded makes a graph with an operation cell by cell and a pad, before it or behind it. Some add numbers of which the operation makes others.
func padded(rnd *rand.Rand, behind bool) *ir.Graph {
	x, rank := &labeled{g: ir.New()}, 1+rnd.IntN(2)
	var shape, pads, ends, after []int64
	for i := range rank {
		shape, pads, ends = append(shape, 1+int64(rnd.IntN(3))), append(pads, int64(rnd.IntN(3))), append(ends, int64(rnd.IntN(4))-1)
		after = append(after, shape[i]+pads[i]+ends[i])
	}
	params := ir.Attrs{}.With("pads", ir.IntsAttr(pads...)).With("pads_end", ir.IntsAttr(ends...)).
		With("mode", ir.StringAttr([]string{"constant", "constant", "edge", "symmetric", "wrap"}[rnd.IntN(5)]))
	if rnd.IntN(3) == 0 {
		params = params.With("value", ir.FloatAttr([]float64{1, math.Copysign(0, -1), math.NaN()}[rnd.IntN(3)]))
	}
	pad := func(a ir.Selection) ir.Selection {
		return x.op("pad", params, "result", x.tensor(after...), ir.Port{Name: "tensor", Sel: []ir.Selection{a}})
	}
	f := func(sel ...ir.Selection) ir.Selection {
		y := x.tensor(sel[0].Range().Shape()...)
		if len(sel) > 1 {
			return x.op([]string{"add", "mul", "max"}[rnd.IntN(3)], nil, "result", y, ir.Port{Name: "tensors", Sel: sel})
		}
		return x.op([]string{"relu", "tanh", "exp", "neg", "sqrt"}[rnd.IntN(5)], nil, "result", y, ir.Port{Name: "tensor", Sel: sel})
	}
	in := []ir.Selection{x.tensor(shape...)}
	if rnd.IntN(2) == 0 {
		in = append(in, x.tensor(shape...))
	}
	if behind {
		pad(f(in...))
		return x.g
	}
	for i := range in {
		in[i] = pad(in[i])
	}
	f(in...)
	return x.g
}

// reverses has the rules that undo others: what they match is made by those.
var reverses = map[string]string{"product-batch": "batch-product", "steps-matmul": "matmul-steps", "steps-matmul-integer": "matmul-steps-integer",
	"steps-rms-norm": "rms-norm-steps", "one-sweep-variance": "variance-one-sweep", "steps-attention": "attention-steps", "softmax-attention": "attention-softmax", "slice-conv": "conv-slice",
	"phases-conv": "conv-phases", "interleave-conv": "conv-interleave", "patches-conv": "conv-patches", "halves-matmul": "matmul-halves",
	"halves-matmul-integer": "matmul-halves-integer", "reduction-together-sum": "reduction-separate-sum", "reduction-together": "reduction-separate"}

func only(names ...string) []rewrite.Rule {
	return slices.DeleteFunc(expand.Rules(), func(r rewrite.Rule) bool { return !slices.Contains(names, r.Name) })
}

// take puts the branch of a number in the place of every choice, the last one of those that have fewer.
func take(t *testing.T, g *ir.Graph, branch int) {
	t.Helper()
	picks := map[ir.NodeID]int{}
	for _, c := range choicesOf(t, g) {
		picks[c.Op] = min(branch, len(c.Names)-1)
	}
	if _, err := choose.Run(t.Context(), g, picks, rewrite.Options{Verify: true}); err != nil {
		t.Fatal(err)
	}
	if tensorops.HasChoices(g) {
		t.Fatalf("a choice is still open\n%s", dump(g))
	}
}

func choicesOf(t *testing.T, g *ir.Graph) (all []tensorops.Choice) {
	t.Helper()
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && op.IsChoice() {
			c, bad := tensorops.ChoiceOf(g, n.ID)
			if bad != nil {
				t.Fatal(bad)
			}
			all = append(all, c)
		}
	}
	return all
}

func mustBeValid(t *testing.T, g *ir.Graph) {
	t.Helper()
	if found := tensorops.Environment().Verify(context.Background(), g); found.HasErrors() {
		t.Fatalf("%v\n%s", found, dump(g))
	}
	if found := kernels.Builtin().CheckOperations(g, false); found.HasErrors() {
		t.Fatalf("%v\n%s", found, dump(g))
	}
}
