package tensorops

import (
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
		Of("interface: an import from somewhere", graph(func(b builder) {
			x := b.tensor("x", "float32", "[]")
			in := opOf(b.op("in", ir.Ports{}, ir.PortsOf([]ir.Port{Port("result", Sel(x, "[]"))})))
			in.Kernel, in.Params = "op:import", ir.Attrs{{Name: "uri", Value: ir.StringAttr("x.npy")}}
		}), []string{"TAP0167"}, []string{`"names" or no parameter`, `"uri"`}),
		Of("interface: an export to somewhere, and more", graph(func(b builder) {
			x := b.tensor("x", "float32", "[]")
			out := opOf(b.op("out", ir.PortsOf([]ir.Port{Port("tensor", Sel(x, "[]"))}), ir.Ports{}))
			out.Kernel, out.Params = "op:export", ir.Attrs{{Name: "host", Value: ir.IntAttr(1)}, {Name: "uri", Value: ir.StringAttr("x.npy")}}
		}), []string{"TAP0167", "TAP0167"}, []string{`"host"`, `"uri"`}),
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
