package tensorops

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
	"tensortapestry.org/tapc/ir/zspace"
)

// writes is an operation with one output selection, projected by a map from an index.
func writes(box, projection, over string) *ir.Graph {
	return graph(func(b builder) {
		y := b.tensor("y", "float32", box)
		b.op("gen", ir.Ports{}, ir.PortsOf([]ir.Port{Port("y", Sel(y, box))}), index(over), &Signature{Outputs: ir.PortMaps{maps("y", projection)}})
	})
}

// hardToDecide writes the sums of any of thirty numbers, none of which is small against the others.
func hardToDecide() *ir.Graph {
	var m zspace.ProjectionMap
	row, x := make([]int64, 30), int64(1)
	over := zspace.MustShape(slices.Repeat([]int64{2}, len(row))...)
	for i := range row {
		x = x * 48271 % math.MaxInt32
		row[i] = x<<16 | 1
	}
	m.AffineMap = zspace.AffineMap{Projection: zspace.Matrix{row}, Offset: zspace.Point{0}}
	m.Shape = zspace.Point{1}
	return graph(func(b builder) {
		box, err := m.Apply(over)
		if err != nil {
			panic(err)
		}
		y := b.tensor("y", "float32", box.Text())
		b.op("gen", ir.Ports{}, ir.PortsOf([]ir.Port{Port("y", Sel(y, box.Text()))}), &Index{over},
			&Signature{Outputs: ir.PortMaps{{Name: "y", Maps: []zspace.ProjectionMap{m}}}})
	})
}

func signatureCases() []Case {
	edit := func(f func(b builder, op *ir.Node)) *ir.Graph {
		return copies(func(b builder, x, y, op *ir.Node) { f(b, op) })
	}
	return []Case{
		Of("signature accepted: an index alone", edit(func(b builder, op *ir.Node) { op.DropTag(SignatureKind) }), nil, nil),
		Of("signature accepted: mixed signs, the exact hull", graph(func(b builder) {
			x := b.tensor("x", "float32", "[-2:4]")
			b.op("read", ir.PortsOf([]ir.Port{Port("x", Sel(x, "[-2:4]"))}), ir.Ports{}, index("[0:4, 0:3]"),
				&Signature{Inputs: ir.PortMaps{maps("x", "(d0, d1) -> [d0 - d1] + [1]")}})
		}), nil, nil),
		Of("signature accepted: empty batch, by dimension", writes("[0:0, 0:5]", "(d0) -> [d0, 0] + [1, 5]", "[0:0]"), nil, nil),
		Of("signature accepted: empty batch, as Loom reads it", writes("[0:0, 0:0]", "(d0) -> [d0, 0] + [1, 5]", "[0:0]"), nil, nil),
		Of("signature near miss: empty, and neither", writes("[0:0, 0:4]", "(d0) -> [d0, 0] + [1, 5]", "[0:0]"), []string{"TAP0155"}, nil),
		Of("signature accepted: a scalar", writes("[]", "() -> [] + []", "[]"), nil, nil),
		Of("signature without an index", edit(func(b builder, op *ir.Node) { op.DropTag(IndexKind) }), []string{"TAP0151"}, nil),
		Of("signature: other ports", edit(func(b builder, op *ir.Node) { SignatureOf(op).Outputs[0].Name = "z" }), []string{"TAP0152"},
			[]string{`["z"], as the signature has`, `["y"]`}),
		Of("signature near miss: names that join alike", edit(func(b builder, op *ir.Node) {
			opOf(op).Inputs = ir.PortsOf([]ir.Port{{Name: "a", Sel: opOf(op).Inputs.At(0).Sel}, {Name: "b", Sel: opOf(op).Inputs.At(0).Sel}})
			SignatureOf(op).Inputs[0].Name = "a, b"
		}), []string{"TAP0152"}, nil),
		Of("signature: fewer projections", edit(func(b builder, op *ir.Node) {
			in := &opOf(op).Inputs
			in.SetSel(0, append(in.At(0).Sel, in.At(0).Sel[0])...)
		}), []string{"TAP0153"}, []string{"1 selection, one for each projection", "2 selections"}),
		Of("signature: index of another rank", edit(func(b builder, op *ir.Node) { op.SetTag(index("[0:12]")) }), []string{"TAP0154", "TAP0154"}, nil),
		Of("signature: beyond 64 bits", edit(func(b builder, op *ir.Node) {
			SignatureOf(op).Inputs[0].Maps[0].AffineMap.Offset[0] = math.MaxInt64
		}), []string{"TAP0154"}, []string{"64 bits"}),
		Of("signature: too little selected", edit(func(b builder, op *ir.Node) {
			opOf(op).Inputs.At(0).Sel[0].SetRange(Range("[0:4, 0:2]"))
		}), []string{"TAP0155"}, []string{"zr[0:4, 0:3], which zr[0:4, 0:3] selects through (d0, d1) -> [d0, d1] + [1, 1]", "which lacks zr[0:4, 2:3]"}),
		Of("signature near miss: too much read, by one row", edit(func(b builder, op *ir.Node) {
			SignatureOf(op).Inputs[0].Maps[0] = Map("(d0, d1) -> [d0, 0] + [1, 2]")
		}), []string{"TAP0155"}, []string{"of which zr[0:4, 2:3] is too much"}),
		Of("signature: outputs that overlap", writes("[0:5]", "(d0) -> [d0] + [2]", "[0:4]"), []string{"TAP0156"},
			[]string{"cell [1] written from [0] and from [1]"}),
		Of("signature: an index dimension that no output has", writes("[0:4]", "(d0, d1) -> [d0] + [1]", "[0:4, 0:2]"), []string{"TAP0156"},
			[]string{"from [0, 0] and from [0, 1]"}),
		Of("signature near miss: an index dimension of extent one", writes("[0:4]", "(d0, d1) -> [d0] + [1]", "[0:4, 5:6]"), nil, nil),
		Of("signature near miss: stride equals shape", writes("[0:8]", "(d0) -> [2*d0] + [2]", "[0:4]"), nil, nil),
		Of("signature near miss: a mixed radix", writes("[0:12]", "(d0, d1) -> [4*d0 + d1] + [1]", "[0:3, 0:4]"), nil, nil),
		Of("signature: a mixed radix too small", writes("[0:11]", "(d0, d1) -> [4*d0 + d1] + [1]", "[0:2, 0:7]"), []string{"TAP0156"},
			[]string{"cell [4]"}),
		Of("signature: not decided", hardToDecide(), []string{"TAP0157"}, []string{"warning", "none within 100 steps"}),
		Of("signature: inputs may overlap", graph(func(b builder) {
			x := b.tensor("x", "float32", "[0:5]")
			b.op("window", ir.PortsOf([]ir.Port{Port("x", Sel(x, "[0:5]"))}), ir.Ports{}, index("[0:4]"),
				&Signature{Inputs: ir.PortMaps{maps("x", "(d0) -> [d0] + [2]")}})
		}), nil, nil),
	}
}
