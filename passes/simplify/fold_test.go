package simplify_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/simplify"
)

// onConstants is a graph of one operation on two constants, and a consumer of its result.
func onConstants(rnd *rand.Rand, d scalar.DType, kernel string) *ir.Graph {
	g := ir.New()
	tensor := func(label string, shape ...int64) ir.Selection {
		r, err := zspace.MustShape(shape...).Translate(zspace.Point{-3, 7})
		if err != nil {
			panic(err)
		}
		return ir.Select(g.Add(&tensorops.Tensor{DType: d.String(), Range: r}, label).ID, r)
	}
	op := func(kernel string, params ir.Attrs, in ir.Ports, out ir.Selection) {
		g.Add(&tensorops.Operation{Kernel: kernel, Params: params, Inputs: in, Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{out}}})}, "")
	}
	constant := func() ir.Selection {
		c := tensor("", 3, 2)
		value, ok := rewrite.InlineOf(randomValue(rnd, d))
		if rnd.IntN(2) == 0 {
			value = ir.AttrValue{Kind: ir.AttrList}
			for range 3 {
				row := ir.AttrValue{Kind: ir.AttrList}
				for range 2 {
					v, ok2 := rewrite.InlineOf(randomValue(rnd, d))
					row.List, ok = append(row.List, v), ok && ok2
				}
				value.List = append(value.List, row)
			}
		}
		if !ok {
			value = ir.IntAttr(1)
		}
		op("op:constant", ir.Attrs{{Name: "value", Value: value}}, ir.Ports{}, c)
		if rnd.IntN(2) == 0 { // the first two rows
			part := c.Range().Clone()
			part.End[0]--
			c.SetRange(part)
		}
		return c
	}
	a, b := constant(), constant()
	b.SetRange(a.Range())
	shape := a.Range().Shape()
	params, in := ir.Attrs(nil), ir.PortsOf([]ir.Port{{Name: "tensor", Sel: []ir.Selection{a}}})
	switch kernel {
	case "sub", "div":
		in = ir.PortsOf([]ir.Port{{Name: "a", Sel: []ir.Selection{a}}, {Name: "b", Sel: []ir.Selection{b}}})
	case "add", "mul", "max", "min":
		in = ir.PortsOf([]ir.Port{{Name: "tensors", Sel: []ir.Selection{a, b}}})
	case "permute":
		params, shape = ir.Attrs{{Name: "perm", Value: ir.IntsAttr(1, 0)}}, []int64{shape[1], shape[0]}
	case "sum":
		params, shape = ir.Attrs{{Name: "dims", Value: ir.IntsAttr(0)}, {Name: "keepdims", Value: ir.BoolAttr(true)}}, []int64{1, shape[1]}
	}
	mid, y := tensor("", shape...), tensor("y", shape...)
	op("op:"+kernel, params, in, mid)
	op("op:broadcast", nil, ir.PortsOf([]ir.Port{{Name: "tensor", Sel: []ir.Selection{mid}}}), y)
	return g
}

func TestConstantFold(t *testing.T) {
	fold := simplify.Rules()[0]
	fired := map[string]int{}
	seeds := uint64(4000)
	if testing.Short() {
		seeds = 800
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 3))
		types := []scalar.DType{scalar.Float32, scalar.Int32, scalar.UInt8, scalar.BFloat16, scalar.Float64}
		kernel := []string{"add", "mul", "max", "min", "sub", "div", "neg", "relu", "cast", "permute", "broadcast", "sum"}[rnd.IntN(12)]
		g := onConstants(rnd, types[rnd.IntN(len(types))], kernel)
		before := g.Clone()
		s, err := rewrite.Run(context.Background(), g, []rewrite.Rule{fold}, rewrite.Options{Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		fired[kernel] += s.Applied
		if err := sameValues(evaluate(t, before, nil), evaluate(t, g, nil)); err != nil {
			t.Fatalf("%v\nbefore\n%s\nafter\n%s", err, dump(before), dump(g))
		}
	}
	for _, kernel := range []string{"add", "mul", "max", "min", "sub", "div", "neg", "relu", "cast", "permute", "broadcast"} {
		if fired[kernel] < int(seeds)/200 {
			t.Errorf("%s: folded %d times", kernel, fired[kernel])
		}
	}
	if fired["sum"] > 0 {
		t.Errorf("a reduction was folded")
	}
}

// TestLargeConstant checks that a broadcast of a small constant is not made data of the program.
func TestLargeConstant(t *testing.T) {
	for extent, folds := range map[int64]int{256: 1, 257: 0} {
		g := ir.New()
		sel := func(label string, r zspace.Range) []ir.Selection {
			return []ir.Selection{ir.Select(g.Add(&tensorops.Tensor{DType: "float32", Range: r}, label).ID, r)}
		}
		c, b, y := sel("", zspace.MustShape(1)), sel("", zspace.MustShape(256, extent)), sel("y", zspace.MustShape(256, extent))
		for _, op := range []*tensorops.Operation{
			{Kernel: "op:constant", Params: ir.Attrs{{Name: "value", Value: ir.IntAttr(2)}}, Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: c}})},
			{Kernel: "op:broadcast", Inputs: ir.PortsOf([]ir.Port{{Name: "tensor", Sel: c}}), Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: b}})},
			{Kernel: "op:exp", Inputs: ir.PortsOf([]ir.Port{{Name: "tensor", Sel: b}}), Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: y}})},
		} {
			g.Add(op, "")
		}
		s, err := simplify.Run(context.Background(), g, nil, rewrite.Options{Verify: true})
		if err != nil || s.Of("constant-fold") != folds {
			t.Errorf("extent %d: %+v %v", extent, s, err)
		}
	}
}

// TestConstantOutput checks that an output of the program never becomes a constant, which is no output.
func TestConstantOutput(t *testing.T) {
	g := onConstants(rand.New(rand.NewPCG(1, 1)), scalar.Int32, "neg")
	if _, err := simplify.Run(context.Background(), g, nil, rewrite.Options{}); err != nil {
		t.Fatal(err)
	}
	p, err := tensorops.ProgramOf(g)
	if err != nil || len(p.Outputs) != 1 || p.Outputs[0].Name != "y" || !strings.Contains(dump(g), "op:broadcast") {
		t.Errorf("%+v %v\n%s", p, err, dump(g))
	}
}
