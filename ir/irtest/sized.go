package irtest

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Chain makes a graph of n operations, each of two inputs and one output tensor of its own, with ids, labels and a tensor to
// begin with, for benchmarks. Every eighth operation has a signature, an index and parameters. It keeps the constraints of the
// Operation Expression dialect.
func Chain(n int) *ir.Graph {
	g := ir.New()
	g.ID, g.HasID = ir.DeriveUUID(ir.UUID{}, "chain", uint64(n)), true
	named := func(body ir.Body, label string) *ir.Node {
		node := g.Add(body, label)
		node.SetUUID(ir.DeriveUUID(g.ID, label, uint64(node.ID)))
		return node
	}
	box := func(i int) zspace.Range { return zspace.MustShape(int64(1+i%50), 64) }
	identity := zspace.ProjectionMap{AffineMap: zspace.AffineMap{Projection: zspace.Identity(2), Offset: zspace.Point{0, 0}},
		Shape: zspace.Point{1, 1}}
	one := func(id ir.NodeID, r zspace.Range) ir.Ports {
		return ir.PortsOf([]ir.Port{{Name: "tensors", Sel: []ir.Selection{ir.Select(id, r), ir.Select(id, r)}}})
	}
	last := named(&tensorops.Tensor{DType: "float32", Range: box(0)}, "x").ID
	for i := range n {
		r := zspace.MustShape(1, 64)
		out := named(&tensorops.Tensor{DType: "float32", Range: r}, fmt.Sprintf("t%d", i)).ID
		op := &tensorops.Operation{Kernel: "op:add", Inputs: one(last, r),
			Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{ir.Select(out, r)}}})}
		node := named(op, fmt.Sprintf("add%d", i))
		if i%8 == 0 {
			op.Params = ir.Attrs{{Name: "dims", Value: ir.IntsAttr(0, 1)}}
			node.SetTag(&tensorops.Index{Range: r})
			node.SetTag(&tensorops.Signature{Inputs: ir.PortMaps{{Name: "tensors", Maps: []zspace.ProjectionMap{identity, identity}}},
				Outputs: ir.PortMaps{{Name: "result", Maps: []zspace.ProjectionMap{identity}}}})
		}
		last = out
	}
	return g
}
