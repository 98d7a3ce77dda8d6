package tensorops

import (
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/parts"
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

// halved is a copy of x to y that was cut in two: a part gives h, another one y of that.
func halved(edit func(b builder, whole, first, second *ir.Node)) *ir.Graph {
	return graph(func(b builder) {
		x, y, h := b.tensor("x", "float32", "[0:3]"), b.tensor("y", "float32", "[0:3]"), b.tensor("", "float32", "[0:3]")
		port := func(name string, n *ir.Node) ir.Ports { return ir.PortsOf([]ir.Port{Port(name, Sel(n, "[0:3]"))}) }
		whole := b.Add(&parts.Whole{Name: "y", Kernel: "op:copy", Inputs: port("tensor", x), Outputs: port("result", y)}, "")
		first, second := b.op("a", port("tensor", x), port("result", h)), b.op("y", port("tensor", h), port("result", y))
		for _, n := range []*ir.Node{h, first, second} {
			n.SetTag(&parts.Part{})
		}
		edit(b, whole, first, second)
	})
}

func wholeCases() []Case {
	plain := func(builder, *ir.Node, *ir.Node, *ir.Node) {}
	return []Case{
		Of("whole", halved(plain), nil, nil),
		Of("whole near miss: one whose results only parts had", halved(func(b builder, whole, _, _ *ir.Node) {
			t := b.tensor("gone", "float32", "[0:3]")
			b.Add(&parts.Whole{Kernel: "op:copy", Outputs: ir.PortsOf([]ir.Port{Port("result", Sel(t, "[0:3]"))})}, "")
		}), nil, nil),
		Of("whole: of an operation", halved(func(b builder, whole, first, _ *ir.Node) {
			whole.Body.(*parts.Whole).Inputs = ir.PortsOf([]ir.Port{Port("tensor", Sel(first, "[0:3]"))})
		}), []string{"TAP0313"}, []string{"a node of type tensor"}),
		Of("whole: given by what is no part", halved(func(_ builder, _, first, second *ir.Node) {
			second.DropTag(parts.PartKind)
			opOf(second).Inputs = opOf(first).Inputs.Clone()
		}), []string{"TAP0314"}, []string{"parts that give it"}),
		Of("whole: two that gave one tensor", halved(func(b builder, whole, _, _ *ir.Node) {
			w := *whole.Body.(*parts.Whole)
			b.Add(&w, "")
		}), []string{"TAP0314"}, []string{"one operation that did"}),
		Of("whole: a part of none", halved(func(b builder, whole, _, _ *ir.Node) { b.Remove(whole.ID) }), []string{"TAP0315"}, []string{`operation "y" is a part, and gives tensor "y"`}),
		Of("whole: what is no part reads what parts have", halved(func(b builder, _, first, _ *ir.Node) {
			z := b.tensor("z", "float32", "[0:3]")
			b.op("out", ir.PortsOf([]ir.Port{Port("tensor", opOf(first).Outputs.At(0).Sel[0])}), ir.PortsOf([]ir.Port{Port("result", Sel(z, "[0:3]"))}))
		}), []string{"TAP0315"}, []string{`operation "out" is no part`}),
	}
}

// Without the way back a graph has what is carried out, and no tensor that only operations had which were cut.
func TestForget(t *testing.T) {
	g := halved(func(b builder, whole, _, _ *ir.Node) {
		gone := b.tensor("gone", "float32", "[0:3]")
		b.Add(&parts.Whole{Kernel: "op:copy", Outputs: ir.PortsOf([]ir.Port{Port("result", Sel(gone, "[0:3]"))})}, "")
	})
	parts.Forget(g)
	for n := range g.Nodes() {
		if parts.Is(n) || n.Body.Kind() == parts.WholeKind || n.Label == "gone" {
			t.Errorf("%s is still there", g.Name(n.ID))
		}
	}
	if g.Len() != 5 {
		t.Errorf("%d nodes", g.Len())
	}
}
