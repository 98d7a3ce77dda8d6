package instance_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// indexed draws calls of a kernel whose port "indices" is a constant: the shapes of all inputs by port, and below which number an index counts.
var indexed = []struct {
	name string
	draw func(n func(lo, hi int64) int64) (params ir.Attrs, shapes map[string][]int64, extent int64)
}{
	{"gather", func(n func(lo, hi int64) int64) (ir.Attrs, map[string][]int64, int64) {
		shape, axis := []int64{n(1, 9), n(1, 9), n(1, 3)}, n(0, 2)
		indices := [][]int64{{n(0, 12)}, {n(1, 4), n(1, 4)}, {}}[n(0, 2)]
		return ir.Attrs{}.With("axis", ir.IntAttr(axis)), map[string][]int64{"tensor": shape, "indices": indices}, shape[axis]
	}},
	{"gather_elements", func(n func(lo, hi int64) int64) (ir.Attrs, map[string][]int64, int64) {
		shape, axis := []int64{n(1, 5), n(1, 7)}, n(0, 1)
		indices := []int64{n(1, shape[0]), n(1, shape[1])}
		indices[axis] = n(1, 5)
		return ir.Attrs{}.With("axis", ir.IntAttr(axis)), map[string][]int64{"tensor": shape, "indices": indices}, shape[axis]
	}},
	{"gather_nd", func(n func(lo, hi int64) int64) (ir.Attrs, map[string][]int64, int64) {
		shape, depth := []int64{n(1, 5), n(1, 5)}, n(0, 2)
		return ir.Attrs{}.With("depth", ir.IntAttr(depth)), map[string][]int64{"tensor": shape, "indices": {n(1, 5), depth}}, min(shape[0], shape[1])
	}},
	{"scatter", func(n func(lo, hi int64) int64) (ir.Attrs, map[string][]int64, int64) {
		shape, axis, indices := []int64{n(1, 5), n(1, 5)}, n(0, 1), n(1, 5)
		part := []int64{shape[0], shape[1]}
		part[axis] = indices
		return ir.Attrs{}.With("axis", ir.IntAttr(axis)), map[string][]int64{"tensor": shape, "indices": part, "updates": part}, shape[axis]
	}},
}

// drawn draws indices: in runs, with steps of either sign, from behind, and some outside.
func drawn(n func(lo, hi int64) int64, size, extent int64) []int64 {
	out := make([]int64, 0, size)
	for int64(len(out)) < size {
		at, step := n(-extent-1, extent), n(-2, 2)
		for range n(1, 4) {
			out = append(out, at)
			at += step
		}
	}
	return out[:size]
}

// What a kernel reads at constant indices, over random boxes of its index, is what reading cell by cell finds: no cell is missing and none too many.
func TestPiecesAtConstantIndices(t *testing.T) {
	for _, k := range indexed {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(17, 3))
			n := func(lo, hi int64) int64 { return lo + rnd.Int64N(hi-lo+1) }
			calls, hulls := 300, 0
			if testing.Short() {
				calls = 40
			}
			for range calls {
				params, shapes, extent := k.draw(n)
				typ := []scalar.DType{scalar.Int32, scalar.Int64, scalar.Int8}[n(0, 2)]
				size, _ := zspace.MustShape(shapes["indices"]...).Size()
				list := drawn(n, size, extent)
				in := calledAt(t, k.name, params, shapes, typ, list)
				holds := map[int][]int64{slices.IndexFunc(in.Operands, func(o instance.Operand) bool { return o.Port == "indices" }): list}
				for range 4 {
					if checkPieces(t, fmt.Sprintf("%s %v of %v at %v", k.name, params, shapes, holds), in, subBox(rnd, in.Index()), holds) {
						hulls++
					}
				}
			}
			if hulls > 0 {
				t.Errorf("%d boxes have a hull", hulls)
			}
		})
	}
}

// calledAt is a call of a kernel on inputs by port, of which "indices" are whole numbers: a constant, unless they are nil.
func calledAt(t *testing.T, name string, params ir.Attrs, shapes map[string][]int64, typ scalar.DType, indices []int64) *instance.Instance {
	t.Helper()
	d, _ := kernels.Builtin().Find(name)
	g := ir.New()
	tensor := func(shape []int64, typ scalar.DType) ir.Selection {
		r := zspace.MustShape(shape...)
		return ir.Select(g.Add(&tensorops.Tensor{DType: typ.String(), Range: r}, "").ID, r)
	}
	in := map[string]ir.Selection{}
	for port, shape := range shapes {
		if port != "indices" {
			in[port] = tensor(shape, scalar.Float32)
			continue
		}
		in[port] = tensor(shape, typ)
		if indices != nil {
			value, _ := nested(indices, shape)
			g.Add(&tensorops.Operation{Kernel: "op:constant", Params: ir.Attrs{}.With("value", value), Outputs: ir.NewPorts(map[string]ir.Selection{"result": in[port]})}, "")
		}
	}
	shape, types, err := infer.Outputs(d, infer.CallOf(g, params, ir.NewPorts(in), ir.Ports{}))
	if err != nil {
		t.Fatalf("%s %v of %v: %v", name, params, shapes, err)
	}
	out := tensor(shape[0], types[0])
	bound, err := bind.Instance(d, infer.CallOf(g, params, ir.NewPorts(in), ir.NewPorts(map[string]ir.Selection{"result": out})))
	if err != nil {
		t.Fatalf("%s %v of %v: %v", name, params, shapes, err)
	}
	return bound
}

// nested gives numbers as lists of a shape, and those that are left.
func nested(list []int64, shape []int64) (ir.AttrValue, []int64) {
	if len(shape) == 0 {
		return ir.IntAttr(list[0]), list[1:]
	}
	out := ir.AttrValue{Kind: ir.AttrList}
	for range shape[0] {
		var v ir.AttrValue
		v, list = nested(list, shape[1:])
		out.List = append(out.List, v)
	}
	return out, list
}

// Near misses: indices of which nothing is known read all that they may name, and so do more runs than pieces are kept for, with the reason.
func TestHullsAtIndices(t *testing.T) {
	params := ir.Attrs{}.With("axis", ir.IntAttr(0))
	shapes := map[string][]int64{"tensor": {1000, 2}, "indices": {200}}
	box := func(in *instance.Instance) string {
		b := in.Box()
		b.End[0] = 3
		i := 0
		for in.Operands[i].Port != "tensor" {
			i++
		}
		boxes, err := in.ReadCells(i, b)
		_, reason := in.Exact(i)
		return fmt.Sprintf("%v %v%s", boxes, err, reason)
	}
	pairs, steps := make([]int64, 200), make([]int64, 200)
	for i := range int64(200) {
		pairs[i], steps[i] = (i/2*7+i%2)%1000, i/4+i%4*100
	}
	unknown := calledAt(t, "gather", params, shapes, scalar.Int32, nil)
	many, few := calledAt(t, "gather", params, shapes, scalar.Int32, pairs), calledAt(t, "gather", params, shapes, scalar.Int32, steps)
	if got := box(unknown); got != "[zr[0:1000, 0:2]] <nil>" {
		t.Errorf("unknown indices: %s", got)
	}
	if got := box(many); got != "[zr[0:1000, 0:2]] <nil>more than 64 pieces" {
		t.Errorf("100 runs: %s", got)
	}
	if got := box(few); got != "[zr[0:201, 0:2] by [100, 1]] <nil>" {
		t.Errorf("50 runs: %s", got)
	}
}

// What follows of a signature from constants is said of operations that differ in these alone; without a signature they say the same.
func TestConstantsAreSaid(t *testing.T) {
	g := ir.New()
	tensor := func(typ scalar.DType, n int64) ir.Selection {
		r := zspace.MustShape(n)
		return ir.Select(g.Add(&tensorops.Tensor{DType: typ.String(), Range: r}, "").ID, r)
	}
	x := tensor(scalar.Float32, 9)
	take := func(indices ...int64) *ir.Node {
		i, y := tensor(scalar.Int32, 2), tensor(scalar.Float32, 2)
		value, _ := nested(indices, []int64{2})
		g.Add(&tensorops.Operation{Kernel: "op:constant", Params: ir.Attrs{}.With("value", value), Outputs: ir.NewPorts(map[string]ir.Selection{"result": i})}, "")
		return g.Add(&tensorops.Operation{Kernel: "op:gather", Inputs: ir.NewPorts(map[string]ir.Selection{"tensor": x, "indices": i}), Outputs: ir.NewPorts(map[string]ir.Selection{"result": y})}, "")
	}
	a, b, c, lib := take(3, 5), take(3, 5), take(3, 6), kernels.Builtin()
	if lib.Said(g, a, true) != lib.Said(g, b, true) || lib.Said(g, a, true) == lib.Said(g, c, true) || lib.Said(g, a, false) != lib.Said(g, c, false) {
		t.Errorf("%s\n%s\n%s", lib.Said(g, a, true), lib.Said(g, b, true), lib.Said(g, c, true))
	}
}
