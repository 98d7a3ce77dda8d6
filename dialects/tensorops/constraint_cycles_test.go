package tensorops

import (
	"fmt"

	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

// ring makes n operations in a ring, each reading the tensor before it and writing the next.
func (b builder) ring(name string, n int) []*ir.Node {
	tensors := make([]*ir.Node, n)
	for i := range tensors {
		tensors[i] = b.tensor(fmt.Sprintf("%s%d", name, i), "int8", "[0:4]")
	}
	for i := range tensors {
		b.op(fmt.Sprintf("%s%d->%d", name, i, (i+1)%n), ir.PortsOf([]ir.Port{Port("x", Sel(tensors[i], "[0:1]"))}),
			ir.PortsOf([]ir.Port{Port("y", Sel(tensors[(i+1)%n], "[0:4]"))}))
	}
	return tensors
}

func cycleCases() []Case {
	return []Case{
		Of("cycles: none in a diamond", graph(func(b builder) {
			t := make([]*ir.Node, 4)
			for i := range t {
				t[i] = b.tensor(fmt.Sprint("t", i), "int8", "[0:4]")
			}
			for _, e := range [][2]int{{0, 1}, {0, 2}} {
				b.op("f", ir.PortsOf([]ir.Port{Port("x", Sel(t[e[0]], "[0:4]"))}), ir.PortsOf([]ir.Port{Port("y", Sel(t[e[1]], "[0:4]"))}))
			}
			b.op("join", ir.PortsOf([]ir.Port{Port("x", Sel(t[1], "[0:4]"), Sel(t[2], "[0:4]"))}), ir.PortsOf([]ir.Port{Port("y", Sel(t[3], "[0:4]"))}))
		}), nil, nil),
		Of("cycles: an operation reads its output", graph(func(b builder) { b.ring("t", 1) }), []string{"TAP0141"},
			[]string{`operation "t0->0" depends on itself`, `a shortest cycle of 2 nodes: operation "t0->0" -> tensor "t0" -> operation "t0->0"`}),
		Of("cycles near miss: an empty selection is an edge", graph(func(b builder) {
			x := b.tensor("x", "int8", "[0:4]")
			b.op("f", ir.PortsOf([]ir.Port{Port("x", Sel(x, "[0:0]"))}), ir.PortsOf([]ir.Port{Port("y", Sel(x, "[0:4]"))}))
		}), []string{"TAP0141"}, nil),
		Of("cycles: one for each component", graph(func(b builder) { b.ring("a", 3); b.ring("b", 2) }), []string{"TAP0141", "TAP0141"},
			[]string{"a shortest cycle of 6 nodes", "a shortest cycle of 4 nodes"}),
		Of("cycles: the shortest of a component", graph(func(b builder) {
			t := b.ring("t", 9)
			short := b.tensor("short", "int8", "[0:4]")
			b.op("chord", ir.PortsOf([]ir.Port{Port("x", Sel(t[7], "[0:1]"))}), ir.PortsOf([]ir.Port{Port("y", Sel(short, "[0:4]"))}))
			op := OperationOf(b.Graph, 9+5) // reads t5, writes t6
			op.Inputs.SetSel(0, append(op.Inputs.At(0).Sel, Sel(short, "[0:1]"))...)
		}), []string{"TAP0141"}, []string{`a shortest cycle of 6 nodes: operation "t5->6" -> tensor "t6" -> operation "t6->7" -> tensor "t7" -> operation "chord" -> tensor "short" -> operation "t5->6"`}),
	}
}
