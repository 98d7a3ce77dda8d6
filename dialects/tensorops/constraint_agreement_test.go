package tensorops

import (
	"slices"

	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
	"tensortapestry.org/tapc/ir/zspace"
)

func agreementCases() []Case {
	return []Case{
		Of("agreement accepted", copies(func(builder, *ir.Node, *ir.Node, *ir.Node) {}), nil, nil),
		Of("agreement accepted: no producer, no consumer, a part read", graph(func(b builder) {
			x, y := b.tensor("x", "float32", "[-5:5]"), b.tensor("y", "float32", "[]")
			b.op("f", ir.PortsOf([]ir.Port{Port("x", Sel(x, "[-5:-1]"), Sel(x, "[2:5]"))}), ir.PortsOf([]ir.Port{Port("y", Sel(y, "[]"))}))
			b.tensor("alone", "int8", "[3:3]")
		}), nil, nil),
		Of("agreement accepted: empty selections inside and on the border", graph(func(b builder) {
			x := b.tensor("x", "float32", "[0:4]")
			b.op("sink", ir.PortsOf([]ir.Port{Port("x", Sel(x, "[0:0]"), Sel(x, "[4:4]"), Sel(x, "[2:2]"))}), ir.Ports{})
		}), nil, nil),
		Of("agreement accepted: empty output elsewhere in an empty tensor", graph(func(b builder) {
			y := b.tensor("y", "float32", "[0:0, 0:5]")
			b.op("f", ir.Ports{}, ir.PortsOf([]ir.Port{Port("y", Sel(y, "[0:0, 0:0]"))}))
		}), nil, nil),
		Of("agreement: no such node", copies(func(b builder, x, y, op *ir.Node) {
			u, _ := ir.ParseUUID("00000000-0000-4000-8000-00000000dead")
			opOf(op).Inputs.At(0).Sel[0].Tensor = b.AddDangling(u)
		}), []string{"TAP0131"}, []string{"a node of type tensor", "00000000-0000-4000-8000-00000000dead"}),
		Of("agreement: reference to nothing", copies(func(b builder, x, y, op *ir.Node) {
			opOf(op).Outputs.At(0).Sel[0].Tensor = ir.NoNode
			opOf(op).Inputs.At(0).Sel[0].Tensor = 1000
		}), []string{"TAP0131", "TAP0131"}, nil),
		Of("agreement: a note instead of a tensor", copies(func(b builder, x, y, op *ir.Node) {
			opOf(op).Inputs.At(0).Sel[0].Tensor = b.Add(&Note{"hello"}, "n").ID
		}), []string{"TAP0132"}, []string{"a node of type tensor", `note "n"`}),
		Of("agreement: wrong rank", copies(func(b builder, x, y, op *ir.Node) {
			opOf(op).Inputs.At(0).Sel[0].SetRange(Range("[0:4]"))
		}), []string{"TAP0133"}, []string{"expected: 2, as zr[0:4, 0:3] has", "found:    1 in zr[0:4]"}),
		Of("agreement: rank 0 of a tensor with dimensions", copies(func(b builder, x, y, op *ir.Node) {
			opOf(op).Inputs.At(0).Sel[0].SetRange(Range("[]"))
		}), []string{"TAP0133"}, nil),
		Of("agreement: out of bounds", copies(func(b builder, x, y, op *ir.Node) {
			opOf(op).Inputs.At(0).Sel[0].SetRange(Range("[0:4, -1:3]"))
		}), []string{"TAP0134"}, []string{"a box inside zr[0:4, 0:3]", "zr[0:4, -1:3], of which zr[0:4, -1:0] lies outside"}),
		Of("agreement near miss: beyond by one, all findings listed", copies(func(b builder, x, y, op *ir.Node) {
			opOf(op).Inputs.SetSel(0, Sel(x, "[0:5, 0:3]"), Sel(x, "[0:4, 0:3]"), Sel(x, "[0:4, 0:4]"))
		}), []string{"TAP0134", "TAP0134"}, []string{"zr[4:5, 0:3] lies outside", "zr[0:4, 3:4] lies outside"}),
		Of("agreement near miss: empty beyond the border", graph(func(b builder) {
			x := b.tensor("x", "float32", "[0:4]")
			b.op("sink", ir.PortsOf([]ir.Port{Port("x", Sel(x, "[5:5]"))}), ir.Ports{})
		}), []string{"TAP0134"}, []string{"zr[5:5], which is empty and lies outside"}),
		Of("agreement: partial output", copies(func(b builder, x, y, op *ir.Node) {
			y.Body.(*Tensor).Range = Range("[0:4, 0:4]")
		}), []string{"TAP0135"}, []string{`unwritten`, "zr[0:4, 0:3], which leaves zr[0:4, 3:4]"}),
		Of("agreement accepted: an output without cells is total whatever its empty box", graph(func(b builder) {
			y := b.tensor("y", "float32", "[0:0, 0:5]")
			b.op("source", ir.Ports{}, ir.PortsOf([]ir.Port{Port("y", Sel(y, "[0:0, 1:3]"))}))
		}), nil, nil),
		Of("agreement near miss: an empty output of a tensor with cells", graph(func(b builder) {
			y := b.tensor("y", "float32", "[0:1, 0:5]")
			b.op("source", ir.Ports{}, ir.PortsOf([]ir.Port{Port("y", Sel(y, "[0:0, 0:5]"))}))
		}), []string{"TAP0135"}, nil),
		Of("agreement: two producers", copies(func(b builder, x, y, op *ir.Node) {
			b.op("again", ir.Ports{}, ir.PortsOf([]ir.Port{Port("out", Sel(y, "[0:4, 0:3]"))}))
		}), []string{"TAP0136"}, []string{`tensor "y" is written twice`, `operation "copy" and operation "again"`}),
		Of("agreement near miss: one producer, two entries", copies(func(b builder, x, y, op *ir.Node) {
			opOf(op).Outputs.SetSel(0, append(opOf(op).Outputs.At(0).Sel, Sel(y, "[0:4, 0:3]"))...)
		}), []string{"TAP0136"}, nil),
	}
}

func schemaCases() []Case {
	edit := func(f func(op *ir.Node)) *ir.Graph {
		return copies(func(b builder, x, y, op *ir.Node) { f(op) })
	}
	id := ir.DeriveUUID(ir.UUID{}, "twice", 1)
	foreign := &ir.Kind{URI: "http://example.org/kind", Keyword: "foreign"}
	return []Case{
		Of("types: a foreign node and tag", graph(func(b builder) {
			b.tensor("x", "int8", "[]").SetTag(foreignBody{foreign})
			b.Add(foreignBody{foreign}, "f")
		}), []string{"TAP0102", "TAP0101"}, []string{"Operation Expression", `"http://example.org/kind"`, "nodes/Tensor", "tags/IPFIndex"}),
		Of("types: no body", graph(func(b builder) {
			b.Add(nil, "hollow")
			n := b.tensor("x", "int8", "[]")
			n.SetTags([]ir.Body{nil})
		}), []string{"TAP0103", "TAP0103"}, nil),
		Of("types near miss: any tag on any node", graph(func(b builder) {
			n := b.tensor("x", "int8", "[]")
			n.SetTag(index("[0:4]"))
			n.SetTag(identitySignature())
			n.SetTag(&IOSequencePoint{})
			b.Add(&Note{""}, "").SetTag(index("[]"))
		}), nil, nil),
		Of("schema: two nodes, one id", edit(func(op *ir.Node) {}), nil, nil),
		Of("schema: ids", copies(func(b builder, x, y, op *ir.Node) {
			x.SetUUID(id)
			y.SetUUID(id)
		}), []string{"TAP0111"}, []string{id.String(), `the other is tensor "x"`}),
		Of("schema near miss: an id that differs in its last bit", copies(func(b builder, x, y, op *ir.Node) {
			x.SetUUID(id)
			near := id
			near[15] ^= 1
			y.SetUUID(near)
		}), nil, nil),
		Of("schema: port name", edit(func(op *ir.Node) { opOf(op).Inputs.SetName(0, "x y") }), []string{"TAP0112"}, []string{`"x y"`}),
		Of("schema: port name begins with a digit", edit(func(op *ir.Node) { opOf(op).Inputs.SetName(0, "0") }), []string{"TAP0112"}, nil),
		Of("schema near miss: port names with _ and digits", edit(func(op *ir.Node) {
			opOf(op).Inputs.SetName(0, "_x0")
			SignatureOf(op).Inputs[0].Name = "_x0"
		}), nil, nil),
		Of("schema: parameter names", edit(func(op *ir.Node) {
			opOf(op).Params = ir.Attrs{{Name: "a-b", Value: ir.IntAttr(1)}}
		}), []string{"TAP0112"}, []string{`"a-b"`}),
		Of("schema near miss: any name inside a parameter", edit(func(op *ir.Node) {
			opOf(op).Params = ir.Attrs{{Name: "a", Value: ir.AttrValue{Kind: ir.AttrMap,
				Map: ir.Attrs{{Name: "b c", Value: ir.IntAttr(1)}}}}}
		}), nil, nil),
		Of("schema: ports twice, unsorted", edit(func(op *ir.Node) {
			sel := opOf(op).Inputs.At(0).Sel
			opOf(op).Inputs = ir.PortsOf([]ir.Port{{Name: "b", Sel: sel}, {Name: "b", Sel: sel}, {Name: "a", Sel: sel}})
		}), []string{"TAP0113", "TAP0113"}, []string{`a name after "b"`}),
		Of("schema: tags unsorted", edit(func(op *ir.Node) {
			slices.Reverse(op.Tags())
		}), []string{"TAP0113"}, nil),
		Of("schema: a port without selections", edit(func(op *ir.Node) { opOf(op).Inputs.SetSel(0) }), []string{"TAP0114"}, nil),
		Of("schema near miss: a port without projections", edit(func(op *ir.Node) {
			SignatureOf(op).Inputs[0].Maps = nil
		}), []string{"TAP0153"}, nil),
		Of("schema: reversed range", edit(func(op *ir.Node) {
			opOf(op).Inputs.At(0).Sel[0].SetRange(zspace.Range{Start: zspace.Point{0, 5}, End: zspace.Point{10, 0}})
		}), []string{"TAP0115"}, []string{"malformed range"}),
		Of("schema: ends missing", edit(func(op *ir.Node) {
			IndexOf(op).Range = zspace.Range{Start: zspace.Point{0, 5}}
		}), []string{"TAP0115"}, nil),
		Of("schema: ragged matrix", edit(func(op *ir.Node) {
			SignatureOf(op).Outputs[0].Maps[0].AffineMap.Projection = zspace.Matrix{{1, 0}, {0}}
		}), []string{"TAP0115"}, []string{"malformed projection"}),
		Of("schema: negative shape", edit(func(op *ir.Node) {
			SignatureOf(op).Outputs[0].Maps[0].Shape = zspace.Point{1, -1}
		}), []string{"TAP0115"}, nil),
		Of("schema: parameter of no kind", edit(func(op *ir.Node) {
			opOf(op).Params = ir.Attrs{{Name: "a", Value: ir.AttrValue{Kind: 77}}}
		}), []string{"TAP0116"}, []string{"77"}),
	}
}

// foreignBody is a body of a kind that no dialect has.
type foreignBody struct{ kind *ir.Kind }

func (f foreignBody) Kind() *ir.Kind   { return f.kind }
func (f foreignBody) Fields(ir.Fields) {}
