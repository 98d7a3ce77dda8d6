package tensorops

import (
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

// faced is a graph that takes x and u, copies x to y, and gives y; edit may change anything before it is verified.
func faced(edit func(b builder, in, out *Operation)) *ir.Graph {
	return graph(func(b builder) {
		x, y, u := b.tensor("x", "float32", "[1:4]"), b.tensor("y", "float32", "[1:4]"), b.tensor("u", "int8", "[0:0]")
		in := StateInputs(b.Graph, []Named{{Name: "x", Tensor: x.ID}, {Name: "u", Tensor: u.ID}})
		b.op("copy", ir.PortsOf([]ir.Port{Port("tensor", Sel(x, "[1:4]"))}), ir.PortsOf([]ir.Port{Port("result", Sel(y, "[1:4]"))}))
		out := StateOutputs(b.Graph, []Named{{Name: "y", Tensor: y.ID}})
		edit(b, opOf(in), opOf(out))
	})
}

// checked is a graph with a check; edit may change it before it is verified.
func checked(edit func(*Operation)) *ir.Graph {
	return graph(func(b builder) {
		x, y, n := b.tensor("x", "int64", "[]"), b.tensor("y", "int64", "[]"), b.tensor("n", "int32", "[]")
		b.op("n", ir.Ports{}, ir.PortsOf([]ir.Port{Port("n", Sel(n, "[]"))}))
		c := Check{Name: "input", Shape: []int64{3, 2}, Low: -2, High: 2, Stride: 2, Offset: 1}
		op := c.Operation()
		op.Inputs = ir.PortsOf([]ir.Port{Port("index", Sel(x, "[]")), Port("place", Sel(y, "[]"))})
		b.Add(op, "check")
		edit(op)
	})
}

func file(uri string) ir.Attrs { return ir.Attrs{{Name: "uri", Value: ir.StringAttr(uri)}} }

// filed is a graph of an import and exports of one tensor, with parameters.
func filed(in ir.Attrs, outs ...ir.Attrs) *ir.Graph {
	return graph(func(b builder) {
		x := b.tensor("x", "float32", "[]")
		load := opOf(b.op("in", ir.Ports{}, ir.PortsOf([]ir.Port{Port("result", Sel(x, "[]"))})))
		load.Kernel, load.Params = "op:import", in
		for _, params := range outs {
			save := opOf(b.op("out", ir.PortsOf([]ir.Port{Port("tensor", Sel(x, "[]"))}), ir.Ports{}))
			save.Kernel, save.Params = "op:export", params
		}
	})
}

// Inputs and outputs in files come behind the others, outputs in the order that sequence points ask for.
func TestFilesOfAProgram(t *testing.T) {
	g := filed(file("in.npy"), file("b.npy"), file("a.npy"), nil)
	g.Add(&sequence.Point{After: []ir.NodeID{3}, Before: []ir.NodeID{2}}, "")
	p, err := ProgramOf(g)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Inputs) != 1 || p.Sources[0].File != "in.npy" || len(p.Outputs) != 3 || p.Outputs[0].Name != "x" || p.Sinks[1].File != "a.npy" || p.Sinks[2].File != "b.npy" {
		t.Errorf("inputs %v from %v, outputs %v to %v", p.Inputs, p.Sources, p.Outputs, p.Sinks)
	}
	if p.Outputs[1].Name != "out" || p.Outputs[2].Name != "out_1" {
		t.Errorf("names %v", p.Outputs)
	}
}

// alias lets the export of a graph say that an output has the memory of an input.
func alias(input, output string, room ...int64) func(b builder, in, out *Operation) {
	return func(b builder, _, _ *Operation) { StateAliases(b.Graph, []Alias{{input, output, room}}) }
}

func interfaceCases() []Case {
	names := func(list ...string) ir.Attrs {
		v := ir.AttrValue{Kind: ir.AttrList}
		for _, s := range list {
			v.List = append(v.List, ir.StringAttr(s))
		}
		return ir.Attrs{{Name: "names", Value: v}}
	}
	return []Case{
		Of("interface accepted: an input that nothing uses", faced(func(builder, *Operation, *Operation) {}), nil, nil),
		Of("interface accepted: an input and a result twice, under a name that an input has", faced(func(b builder, in, out *Operation) {
			y, x := out.Inputs.At(0).Sel[0], in.Outputs.At(0).Sel[0]
			out.Inputs.SetSel(0, y, x, y)
			out.Params = names("x", "y", "z")
		}), nil, nil),
		Of("interface accepted: no inputs and no outputs", graph(func(b builder) {
			StateInputs(b.Graph, nil)
			StateOutputs(b.Graph, nil)
		}), nil, nil),
		Of("interface accepted: outputs alone", graph(func(b builder) {
			StateOutputs(b.Graph, []Named{{Name: "x", Tensor: b.tensor("x", "float32", "[]").ID}})
		}), nil, nil),
		Of("interface accepted: imports and exports without names", graph(func(b builder) {
			x := b.tensor("x", "float32", "[]")
			b.op("in", ir.Ports{}, ir.PortsOf([]ir.Port{Port("result", Sel(x, "[]"))})).Body.(*Operation).Kernel = "op:import"
			for range 2 {
				b.op("out", ir.PortsOf([]ir.Port{Port("tensor", Sel(x, "[]"))}), ir.Ports{}).Body.(*Operation).Kernel = "op:export"
			}
		}), nil, nil),
		Of("interface: parameters that mean nothing", filed(ir.Attrs{{Name: "host", Value: ir.IntAttr(1)}}, ir.Attrs{{Name: "place", Value: ir.StringAttr("gpu")}}),
			[]string{"TAP0167", "TAP0167"}, []string{`"uri" with a "key" or an "offset", or no parameter`, `found:    "host"`, `found:    "place"`}),
		Of("files accepted", filed(file("in/x.npy"), file("x.npy")), nil, nil),
		Of("files accepted: entries", filed(file("w.safetensors").With("key", ir.StringAttr("a.b")), file("x.npz").With("key", ir.StringAttr("a"))), nil, nil),
		Of("files accepted: raw bytes", filed(file("w.bin").With("offset", ir.IntAttr(16)), nil), nil, nil),
		Of("files accepted: beside what is stated", faced(func(b builder, in, out *Operation) {
			z := b.tensor("z", "float32", "[1:4]")
			opOf(b.op("load", ir.Ports{}, ir.PortsOf([]ir.Port{Port("result", Sel(z, "[1:4]"))}))).Kernel = "op:import"
			opOf(b.Node(z.ID + 1)).Params = file("z.npy")
			save := opOf(b.op("save", ir.PortsOf([]ir.Port{Port("tensor", Sel(z, "[1:4]"))}), ir.Ports{}))
			save.Kernel, save.Params = "op:export", file("y.npy")
		}), nil, nil),
		Of("files: another parameter", filed(file("x.npy").With("host", ir.IntAttr(1)), nil), []string{"TAP0167"}, []string{`found:    "host"`}),
		Of("files: from anywhere", filed(file("../x.npy"), file("/tmp/x.npy")), []string{"TAP0168", "TAP0168"}, []string{"relative and without ..", `"../x.npy"`, `"/tmp/x.npy"`}),
		Of("files: a scheme", filed(file("http://x.npy"), nil), []string{"TAP0168"}, nil),
		Of("files: of no kind", filed(file("x.bin"), file("x.txt")), []string{"TAP0168", "TAP0168"}, []string{"ends in .npy, .npz, .safetensors"}),
		Of("files: no text", filed(ir.Attrs{{Name: "uri", Value: ir.IntAttr(1)}}, nil), []string{"TAP0168"}, []string{`strings "uri" and "key"`}),
		Of("files: a key of none", filed(file("x.npy").With("key", ir.StringAttr("a")), nil), []string{"TAP0168"}, []string{"with entries, as it has a key"}),
		Of("files: an offset and a key", filed(file("x.npz").With("key", ir.StringAttr("a")).With("offset", ir.IntAttr(0)), nil), []string{"TAP0168"}, []string{"without entries"}),
		Of("files: a negative offset, and one of an export", filed(file("x.bin").With("offset", ir.IntAttr(-1)), file("x.npy").With("offset", ir.IntAttr(0))), []string{"TAP0168", "TAP0168"}, nil),
		Of("files: two for one", filed(nil, file("x.npz").With("key", ir.StringAttr("a")), file("x.npz").With("key", ir.StringAttr("b"))), []string{"TAP0169"},
			[]string{`operation "out" and operation "out" write one file`}),
		Of("files near miss: read before it is written", filed(file("x.npy"), file("x.npy")), nil, nil),
		Of("files: a part of a tensor", graph(func(b builder) {
			x := b.tensor("x", "float32", "[0:4]")
			out := opOf(b.op("out", ir.PortsOf([]ir.Port{Port("tensor", Sel(x, "[0:2]"))}), ir.Ports{}))
			out.Kernel, out.Params = "op:export", file("x.npy")
		}), []string{"TAP0168"}, []string{"the whole of a tensor"}),
		Of("files: two tensors", graph(func(b builder) {
			x := b.tensor("x", "float32", "[0:4]")
			out := opOf(b.op("out", ir.PortsOf([]ir.Port{Port("tensor", Sel(x, "[0:4]"), Sel(x, "[0:4]"))}), ir.Ports{}))
			out.Kernel, out.Params = "op:export", file("x.npy")
		}), []string{"TAP0168"}, []string{`the port "tensor" with one tensor`}),
		Of("interface: fewer names", faced(func(_ builder, in, _ *Operation) { in.Params = names("x") }), []string{"TAP0161"},
			[]string{`"names" of 2 strings`, "names of length 1"}),
		Of("interface: names are numbers", faced(func(_ builder, _, out *Operation) {
			out.Params = ir.Attrs{{Name: "names", Value: ir.IntsAttr(1)}}
		}), []string{"TAP0161"}, nil),
		Of("interface: an empty name", faced(func(_ builder, _, out *Operation) { out.Params = names("") }), []string{"TAP0161"}, nil),
		Of("interface: another port", faced(func(_ builder, _, out *Operation) { out.Inputs.SetName(0, "tensors") }), []string{"TAP0161"},
			[]string{`no port but "tensor"`}),
		Of("interface: a part of a tensor", faced(func(_ builder, in, out *Operation) {
			out.Inputs.At(0).Sel[0].SetRange(Range("[1:3]"))
		}), []string{"TAP0161"}, []string{"the whole of a tensor", "zr[1:3]"}),
		Of("interface: stated twice", faced(func(b builder, _, out *Operation) {
			StateOutputs(b.Graph, []Named{{Name: "z", Tensor: out.Inputs.At(0).Sel[0].Tensor}})
		}), []string{"TAP0162"}, nil),
		Of("interface: an import beside", faced(func(b builder, in, _ *Operation) {
			z := b.tensor("z", "float32", "[]")
			b.op("more", ir.Ports{}, ir.PortsOf([]ir.Port{Port("result", Sel(z, "[]"))})).Body.(*Operation).Kernel = "op:import"
		}), []string{"TAP0162"}, nil),
		Of("interface: one name for two", faced(func(_ builder, in, _ *Operation) { in.Params = names("x", "x") }), []string{"TAP0163"},
			[]string{`"x", as number 0`}),
		Of("interface: a tensor from nowhere", faced(func(b builder, _, _ *Operation) {
			z := b.tensor("z", "float32", "[]")
			b.op("sink", ir.PortsOf([]ir.Port{Port("x", Sel(z, "[]"))}), ir.Ports{})
		}), []string{"TAP0164"}, []string{`operation "sink" reads it`}),
		Of("aliases accepted", faced(alias("x", "y", 4)), nil, nil),
		Of("aliases: no such input", faced(alias("z", "y", 4)), []string{"TAP0166"}, []string{`inputs ["x" "u"]; outputs ["y"]`}),
		Of("aliases: no such output", faced(alias("x", "x", 4)), []string{"TAP0166"}, nil),
		Of("aliases: another element type", faced(alias("u", "y", 4)), []string{"TAP0166"}, []string{"int8 and float32"}),
		Of("aliases: no room", faced(alias("x", "y", 2)), []string{"TAP0166"}, []string{"room for 3 in dimension 0"}),
		Of("aliases: room of another rank", faced(alias("x", "y", 4, 4)), []string{"TAP0166"}, []string{"one rank"}),
		Of("aliases: negative room", faced(alias("x", "y", -4)), []string{"TAP0166"}, []string{"and a shape"}),
		Of("aliases: an output that is the input", faced(func(b builder, in, out *Operation) {
			out.Inputs.SetSel(0, in.Outputs.At(0).Sel[0])
			alias("x", "y", 4)(b, in, out)
		}), []string{"TAP0166"}, []string{"given as it is"}),
		Of("aliases: an output that is there twice", faced(func(b builder, in, out *Operation) {
			y := out.Inputs.At(0).Sel[0]
			out.Inputs.SetSel(0, y, y)
			out.Params = names("y", "z")
			alias("x", "y", 4)(b, in, out)
		}), []string{"TAP0166"}, []string{"or twice"}),
		Of("aliases: an input twice", faced(func(b builder, _, _ *Operation) {
			StateAliases(b.Graph, []Alias{{"x", "y", []int64{4}}, {"x", "y", []int64{4}}})
		}), []string{"TAP0166"}, []string{"shares its memory already"}),
		Of("aliases: of an import", faced(func(_ builder, in, _ *Operation) {
			in.Params = in.Params.With("aliases", ir.AttrValue{Kind: ir.AttrList})
		}), []string{"TAP0161"}, nil),
		Of("check accepted", checked(func(*Operation) {}), nil, nil),
		Of("check: no limit", checked(func(op *Operation) { op.Params = op.Params.Without("high") }), []string{"TAP0165"}, nil),
		Of("check: an offset beyond the stride", checked(func(op *Operation) { op.Params = op.Params.With("offset", ir.IntAttr(2)) }), []string{"TAP0165"}, nil),
		Of("check: one input", checked(func(op *Operation) { op.Inputs = ir.PortsOf(op.Inputs.List()[:1]) }), []string{"TAP0165"}, []string{`"place" and "index"`}),
		Of("check: of an int32", checked(func(op *Operation) { op.Inputs.At(1).Sel[0].Tensor = 2 }), []string{"TAP0165"}, []string{"an int64 without dimensions", `tensor "n"`}),
		Of("interface near miss: a tensor that nobody reads", faced(func(b builder, _, _ *Operation) { b.tensor("z", "float32", "[]") }), nil, nil),
	}
}
