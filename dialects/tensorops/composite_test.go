package tensorops

import (
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

// twice is the definition of y = -(-x), for vectors of three.
func twice() *definition.Definition {
	three := Range("[0:3]")
	return &definition.Definition{Name: "twice", Inputs: []definition.Formal{{Port: "x", DType: "float32", Range: three}},
		Outputs: []definition.Given{{Port: "y", Value: "b"}}, Steps: []definition.Step{
			{Kernel: "op:neg", Inputs: []definition.Use{{Port: "tensor", Value: "x"}}, Makes: []definition.Made{{Port: "result", Value: "a", DType: "float32", Range: three}}},
			{Kernel: "op:neg", Inputs: []definition.Use{{Port: "tensor", Value: "a", Range: three}}, Makes: []definition.Made{{Port: "result", Value: "b", DType: "float32", Range: three}}},
		}}
}

// uses is a composite u of the definition twice, which reads x and has the result y; edit may change anything before it is verified.
func uses(edit func(b builder, d *definition.Definition, x, y, u *ir.Node)) *ir.Graph {
	return graph(func(b builder) {
		d := twice()
		x, y := b.tensor("x", "float32", "[1:4]"), b.tensor("y", "float32", "[0:3]")
		u := b.op("u", ir.PortsOf([]ir.Port{Port("x", Sel(x, "[1:4]"))}), ir.PortsOf([]ir.Port{Port("y", Sel(y, "[0:3]"))}))
		opOf(u).Kernel = "def:twice"
		edit(b, d, x, y, u)
		b.Add(d, "")
	})
}

// defines is uses where only the definition is changed.
func defines(edit func(d *definition.Definition)) *ir.Graph {
	return uses(func(_ builder, d *definition.Definition, _, _, _ *ir.Node) { edit(d) })
}

func compositeCases() []Case {
	nothing := func(*definition.Definition) {}
	other := func(name, kernel string) *definition.Definition {
		d := twice()
		d.Name, d.Steps[1].Kernel = name, kernel
		d.Steps[1].Inputs[0].Port, d.Steps[1].Makes[0].Port = "x", "y" // as the definition twice has them
		return d
	}
	return []Case{
		Of("definition", defines(nothing), nil, nil),
		Of("definition near miss: nobody uses it", uses(func(b builder, _ *definition.Definition, _, _, u *ir.Node) { b.Remove(u.ID) }), nil, nil),
		Of("definition: no name", defines(func(d *definition.Definition) { d.Name = "" }), []string{"TAP0144"}, nil),
		Of("definition: a name twice", uses(func(b builder, _ *definition.Definition, _, _, _ *ir.Node) { b.Add(twice(), "") }), []string{"TAP0144"},
			[]string{`there are two definitions "twice"`}),
		Of("definition: not there", defines(func(d *definition.Definition) { d.Name = "once" }), []string{"TAP0145"},
			[]string{`operation "u" uses a definition that is not there`, `one of "once"`}),
		Of("definition: a step's is not there", defines(func(d *definition.Definition) { d.Steps[1].Kernel = "def:three" }), []string{"TAP0195"}, []string{"step 1", `"three"`}),
		Of("definition: a step does not fit another", uses(func(b builder, _ *definition.Definition, _, _, _ *ir.Node) {
			d := other("four", "def:twice")
			d.Steps[1].Makes[0].DType = "float64"
			b.Add(d, "")
		}), []string{"TAP0195"}, []string{`step 1 does not fit definition "twice"`, "expected: (x: float32[3]) -> (y: float32[3]) without parameters", "(y: float64[3])"}),
		Of("definition near miss: of others", uses(func(b builder, _ *definition.Definition, _, _, _ *ir.Node) { b.Add(other("four", "def:twice"), "") }), nil, nil),
		Of("definition: uses itself", defines(func(d *definition.Definition) { *d = *other("twice", "def:twice") }), []string{"TAP0146"}, []string{`twice uses twice`}),
		Of("definition: two that use each other", uses(func(b builder, d *definition.Definition, _, _, _ *ir.Node) {
			*d = *other("twice", "def:four")
			b.Add(other("four", "def:twice"), "")
		}), []string{"TAP0146"}, []string{`four uses twice uses four`}),
		Of("definition: reads what is outside", defines(func(d *definition.Definition) { d.Steps[1].Inputs[0].Value = "y" }), []string{"TAP0148"},
			[]string{`step 1 reads "y", which is not there yet`, "a, x"}),
		Of("definition: reads what comes later", defines(func(d *definition.Definition) { d.Steps[0].Inputs[0].Value = "b" }), []string{"TAP0148"}, nil),
		Of("definition: reads beyond", defines(func(d *definition.Definition) { d.Steps[1].Inputs[0].Range = Range("[0:4]") }), []string{"TAP0148"}, []string{"beyond"}),
		Of("definition near miss: reads a part", defines(func(d *definition.Definition) { d.Steps[1].Inputs[0].Range = Range("[0:2]") }), nil, nil),
		Of("definition: a port twice", defines(func(d *definition.Definition) { d.Outputs = append(d.Outputs, definition.Given{Port: "y", Value: "a"}) }), []string{"TAP0149"}, nil),
		Of("definition: a value twice", defines(func(d *definition.Definition) { d.Steps[1].Makes[0].Value = "a" }), []string{"TAP0149", "TAP0149"}, []string{`value "a" is there twice`}),
		Of("definition: gives an input", defines(func(d *definition.Definition) { d.Outputs[0].Value = "x" }), []string{"TAP0149"}, []string{`output "y" is no value of its own`, "op:copy"}),
		Of("definition: gives nothing", defines(func(d *definition.Definition) { d.Outputs = nil }), []string{"TAP0149"}, nil),
		Of("definition: a step makes nothing", defines(func(d *definition.Definition) { d.Steps = append(d.Steps, definition.Step{Kernel: "op:neg"}) }), []string{"TAP0149"}, nil),
		Of("definition: an odd port", defines(func(d *definition.Definition) { d.Steps[0].Inputs[0].Port = "the tensor" }), []string{"TAP0149"}, nil),
		Of("definition: an odd element type", defines(func(d *definition.Definition) { d.Steps[0].Makes[0].DType = "float31" }), []string{"TAP0149"}, []string{"float31"}),
		Of("definition: an effect", defines(func(d *definition.Definition) { d.Steps[0].Kernel = "op:import" }), []string{"TAP0194"}, nil),
		Of("definition: a choice", defines(func(d *definition.Definition) {
			d.Steps[0].Kernel, d.Steps[0].Params = "op:choice", ChoiceParams([]string{"a"})
		}), []string{"TAP0194"}, nil),
		Of("composite: parameters", uses(func(_ builder, _ *definition.Definition, _, _, u *ir.Node) {
			opOf(u).Params = ir.Attrs{}.With("n", ir.IntAttr(1))
		}), []string{"TAP0147"}, nil),
		Of("composite: an effect", uses(func(_ builder, _ *definition.Definition, _, _, u *ir.Node) { u.SetTag(&IOSequencePoint{}) }), []string{"TAP0147"}, nil),
		Of("composite: another type", defines(func(d *definition.Definition) { d.Inputs[0].DType = "float64" }), []string{"TAP0147"},
			[]string{"expected: float64[3]", `found:    float32[3], of tensor "x"`}),
		Of("composite: another shape", defines(func(d *definition.Definition) { d.Steps[1].Makes[0].Range = Range("[0:4]") }), []string{"TAP0147"}, []string{"float32[4]"}),
		Of("composite: a port is missing", defines(func(d *definition.Definition) {
			d.Inputs = append(d.Inputs, definition.Formal{Port: "more", DType: "float32", Range: Range("[]")})
		}), []string{"TAP0147"}, []string{"lacks a port", "more"}),
		Of("composite: a port too many", uses(func(_ builder, _ *definition.Definition, x, _, u *ir.Node) {
			opOf(u).Inputs = opOf(u).Inputs.With(Port("more", Sel(x, "[1:4]")))
		}), []string{"TAP0147"}, []string{"found:    more"}),
	}
}
