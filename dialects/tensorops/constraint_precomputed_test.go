package tensorops

import (
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

// chain makes a constant c and two operations after it, c -> x -> y, and marks both; edit may change anything before it is verified.
func chain(edit func(b builder, c, first, second *ir.Node)) *ir.Graph {
	return graph(func(b builder) {
		c, x, y := b.tensor("c", "int8", "[0:4]"), b.tensor("x", "int8", "[0:4]"), b.tensor("y", "int8", "[0:4]")
		source := b.op("source", ir.Ports{}, ir.PortsOf([]ir.Port{Port("result", Sel(c, "[0:4]"))}))
		opOf(source).Kernel, opOf(source).Params = "test:constant", ir.Attrs{{Name: "value", Value: ir.IntAttr(1)}}
		first := b.op("first", ir.PortsOf([]ir.Port{Port("x", Sel(c, "[0:4]"))}), ir.PortsOf([]ir.Port{Port("y", Sel(x, "[0:4]"))}), &Precomputed{})
		second := b.op("second", ir.PortsOf([]ir.Port{Port("x", Sel(x, "[0:4]"))}), ir.PortsOf([]ir.Port{Port("y", Sel(y, "[0:4]"))}), &Precomputed{})
		edit(b, source, first, second)
	})
}

func precomputedCases() []Case {
	return []Case{
		Of("precomputed: from a constant", chain(func(builder, *ir.Node, *ir.Node, *ir.Node) {}), nil, nil),
		Of("precomputed near miss: only the first", chain(func(_ builder, _, _, second *ir.Node) { second.DropTag(PrecomputedKind) }), nil, nil),
		Of("precomputed: from what the program computes", chain(func(_ builder, _, first, _ *ir.Node) { first.DropTag(PrecomputedKind) }),
			[]string{"TAP0171"}, []string{`operation "second" is carried out when the program is built, and tensor "x" is not known then`}),
		Of("constant: nothing says what it is", chain(func(_ builder, source, _, _ *ir.Node) { opOf(source).Params = nil }), []string{"TAP0701"}, []string{"0 parameters"}),
		Of("constant: a parameter that means nothing", chain(func(_ builder, source, _, _ *ir.Node) {
			opOf(source).Params = opOf(source).Params.With("dtype", ir.StringAttr("int8"))
		}), []string{"TAP0701"},
			[]string{"2 parameters"}),
		Of("precomputed: from an input", chain(func(b builder, source, _, _ *ir.Node) { b.Remove(source.ID) }), []string{"TAP0171"}, nil),
		Of("precomputed: an effect", chain(func(_ builder, _, _, second *ir.Node) { second.SetTag(&IOSequencePoint{}) }), []string{"TAP0172"}, nil),
		Of("precomputed: a constant", chain(func(_ builder, source, _, _ *ir.Node) { source.SetTag(&Precomputed{}) }), []string{"TAP0172"}, nil),
	}
}
