package main

import (
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
)

// TestConstantIndicesOnDevices cuts random graphs whose kernels read at indices that are constants, and puts the shards on random devices: schedules are valid after every
// pass, devices are sent the rows that they read, and values are those of one device.
func TestConstantIndicesOnDevices(t *testing.T) {
	graphs, fixed := uint64(60), 0
	if testkit.Full() {
		graphs = 1000
	}
	for seed := range graphs {
		g, err := generate(seed, 6, "gather", "gather_elements", "gather_nd", "scatter", "scatter_nd", "add", "neg", "sum", "concat", "permute")
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		x, in := g.build()
		fixed += fixIndices(x, in)
		want := evaluated(t, x, in)
		s := spreadAtRandom(t, seed, x)
		lowerSpread(t, seed, x)
		if s.loose {
			apart(t, seed, want, evaluated(t, x, in))
			continue
		}
		same(t, seed, want, evaluated(t, x, in))
	}
	t.Logf("%d constants", fixed)
	if fixed < int(graphs)/2 {
		t.Errorf("%d graphs have %d constants: too little is tested", graphs, fixed)
	}
}

// fixIndices makes inline constants of the inputs of whole numbers that operations read at ports named for indices, and says how many.
func fixIndices(x *ir.Graph, in map[string]tensorfile.Tensor) (fixed int) {
	var found []ir.NodeID
	for n := range x.Nodes() {
		op, ok := n.Body.(*tensorops.Operation)
		if !ok {
			continue
		}
		if p := op.Inputs.Get("indices"); p != nil {
			found = append(found, p.Sel[0].Tensor)
		}
	}
	for _, id := range found {
		t := x.Node(id)
		v, given := in[t.Label]
		if !given || !v.DType.IsInt() || v.DType == scalar.UInt64 {
			continue
		}
		delete(in, t.Label)
		fixed++
		value, _ := listed(v.Data, v.DType, v.Shape)
		x.Add(&tensorops.Operation{Kernel: "op:constant", Params: ir.Attrs{}.With("value", value),
			Outputs: ir.NewPorts(map[string]ir.Selection{"result": ir.Select(id, t.Body.(*tensorops.Tensor).Range)})}, "")
	}
	return fixed
}

// listed gives elements as lists nested as a shape, and what is left of them.
func listed(data []byte, d scalar.DType, shape zspace.Point) (ir.AttrValue, []byte) {
	if len(shape) == 0 {
		return ir.IntAttr(scalar.Decode(d, data).I), data[d.Size():]
	}
	list := ir.AttrValue{Kind: ir.AttrList}
	for range shape[0] {
		var v ir.AttrValue
		v, data = listed(data, d, shape[1:])
		list.List = append(list.List, v)
	}
	return list, data
}
