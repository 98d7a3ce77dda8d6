package tensorops

import (
	"strings"

	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

// chooses is a choice c between x and y, which has the result z; edit may change anything before it is verified.
func chooses(edit func(b builder, x, y, z, c *ir.Node)) *ir.Graph {
	return graph(func(b builder) {
		x, y, z := b.tensor("x", "float32", "[1:4]"), b.tensor("y", "float32", "[0:3]"), b.tensor("z", "float32", "[0:3]")
		c := b.op("c", ir.PortsOf([]ir.Port{Port("branches", Sel(x, "[1:4]"), Sel(y, "[0:3]"))}), ir.PortsOf([]ir.Port{Port("result", Sel(z, "[0:3]"))}))
		opOf(c).Kernel, opOf(c).Params = "op:choice", ChoiceParams([]string{"a", "b"})
		edit(b, x, y, z, c)
	})
}

func choiceCases() []Case {
	names := func(text string) func(b builder, x, y, z, c *ir.Node) {
		return func(_ builder, _, _, _, c *ir.Node) { opOf(c).Params = ChoiceParams(strings.Split(text, ",")) }
	}
	many := func(n int) func(b builder, x, y, z, c *ir.Node) {
		return func(_ builder, x, _, _, c *ir.Node) {
			p, list := Port("branches"), []string{}
			for i := range n {
				p.Sel, list = append(p.Sel, Sel(x, "[1:4]")), append(list, strings.Repeat("b", i+1))
			}
			opOf(c).Inputs, opOf(c).Params = ir.PortsOf([]ir.Port{p}), ChoiceParams(list)
		}
	}
	return []Case{
		Of("choice", chooses(func(builder, *ir.Node, *ir.Node, *ir.Node, *ir.Node) {}), nil, nil),
		Of("choice: as many branches as there may be", chooses(many(MaxBranches)), nil, nil),
		Of("choice: one more", chooses(many(MaxBranches+1)), []string{"TAP0192"}, []string{"65 branches, 65 names"}),
		Of("choice: no branch", chooses(many(0)), []string{"TAP0114"}, nil),
		Of("choice: a name too few", chooses(names("a")), []string{"TAP0192"}, []string{"2 branches, 1 names"}),
		Of("choice: a name twice", chooses(names("a,a")), []string{"TAP0192"}, []string{`"a" for branch 1`}),
		Of("choice: no name", chooses(names("a,")), []string{"TAP0192"}, []string{`"" for branch 1`}),
		Of("choice: names that are none", chooses(func(_ builder, _, _, _, c *ir.Node) { opOf(c).Params = ir.Attrs{}.With("names", ir.IntAttr(2)) }), []string{"TAP0191"}, nil),
		Of("choice near miss: a kernel of others", chooses(func(_ builder, _, _, _, c *ir.Node) { opOf(c).Params = nil }), nil, nil),
		Of("choice: an effect", chooses(func(_ builder, _, _, _, c *ir.Node) { c.SetTag(&IOSequencePoint{}) }), []string{"TAP0191"}, nil),
		Of("choice: another port", chooses(func(_ builder, x, _, _, c *ir.Node) {
			opOf(c).Inputs = opOf(c).Inputs.With(Port("more", Sel(x, "[1:4]")))
		}),
			[]string{"TAP0191"}, []string{"2 input ports"}),
		Of("choice: another type", chooses(func(_ builder, _, y, _, _ *ir.Node) { y.Body.(*Tensor).DType = "float64" }), []string{"TAP0193"},
			[]string{`branch "b" of operation "c" does not fit its result`, "expected: float32[3]", `found:    float64[3], of tensor "y"`}),
		Of("choice: another shape", chooses(func(_ builder, x, _, _, c *ir.Node) { opOf(c).Inputs.Get("branches").Sel[0] = Sel(x, "[1:3]") }), []string{"TAP0193"},
			[]string{`branch "a"`, "float32[2]"}),
		Of("choice: a branch of itself", chooses(func(_ builder, _, _, z, c *ir.Node) { opOf(c).Inputs.Get("branches").Sel[1] = Sel(z, "[0:3]") }), []string{"TAP0141"}, nil),
	}
}
