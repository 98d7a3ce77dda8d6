package tensorops

import (
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

// ordered is a graph of two copies, a of x to y and b of x to z, and a sequence point between them; edit may change anything before it is verified.
func ordered(edit func(b builder, first, second *ir.Node, p *sequence.Point)) *ir.Graph {
	return graph(func(b builder) {
		x, y, z := b.tensor("x", "float32", "[0:3]"), b.tensor("y", "float32", "[0:3]"), b.tensor("z", "float32", "[0:3]")
		in := ir.PortsOf([]ir.Port{Port("tensor", Sel(x, "[0:3]"))})
		first := b.op("a", in.Clone(), ir.PortsOf([]ir.Port{Port("result", Sel(y, "[0:3]"))}))
		second := b.op("b", in, ir.PortsOf([]ir.Port{Port("result", Sel(z, "[0:3]"))}))
		p := &sequence.Point{After: []ir.NodeID{first.ID}, Before: []ir.NodeID{second.ID}}
		b.Add(p, "between")
		edit(b, first, second, p)
	})
}

// sink adds an export of the first tensor of a graph.
func sink(b builder, label string) *ir.Node {
	n := b.op(label, ir.PortsOf([]ir.Port{Port("tensor", Sel(b.Node(0), "[0:3]"))}), ir.Ports{})
	opOf(n).Kernel = "op:export"
	return n
}

func sequenceCases() []Case {
	plain := func(builder, *ir.Node, *ir.Node, *sequence.Point) {}
	return []Case{
		Of("sequence", ordered(plain), nil, nil),
		Of("sequence: nothing on either side", ordered(func(_ builder, _, _ *ir.Node, p *sequence.Point) { p.After, p.Before = nil, nil }), nil, nil),
		Of("sequence: through two points", ordered(func(b builder, _, second *ir.Node, p *sequence.Point) {
			next := b.Add(&sequence.Point{Before: p.Before}, "next")
			p.Before = []ir.NodeID{next.ID}
		}), nil, nil),
		Of("sequence: of a tensor", ordered(func(_ builder, _, _ *ir.Node, p *sequence.Point) { p.After[0] = 0 }), []string{"TAP0173"},
			[]string{`sequence "between" refers to a node of the wrong type`, "operation or sequence"}),
		Of("sequence: of nothing", ordered(func(_ builder, _, _ *ir.Node, p *sequence.Point) { p.Before[0] = 99 }), []string{"TAP0173"}, []string{"does not exist"}),
		Of("sequence: twice", ordered(func(_ builder, first, _ *ir.Node, p *sequence.Point) { p.After = append(p.After, first.ID) }), []string{"TAP0173"}, []string{"it is there already"}),
		Of("sequence: before and after itself", ordered(func(_ builder, first, _ *ir.Node, p *sequence.Point) { p.Before = append(p.Before, first.ID) }), []string{"TAP0174"},
			[]string{`sequence "between" happens before itself`, `a cycle of 2 nodes`}),
		Of("sequence: against what is read", ordered(func(_ builder, first, second *ir.Node, p *sequence.Point) {
			opOf(first).Inputs = ir.PortsOf([]ir.Port{Port("tensor", opOf(second).Outputs.At(0).Sel[0])})
		}), []string{"TAP0174"}, []string{`operation "a" -> sequence "between" -> operation "b"`}),
		Of("sequence near miss: along what is read", ordered(func(_ builder, first, second *ir.Node, p *sequence.Point) {
			opOf(second).Inputs = ir.PortsOf([]ir.Port{Port("tensor", opOf(first).Outputs.At(0).Sel[0])})
		}), nil, nil),
		Of("sequence: a point after itself", ordered(func(b builder, _, _ *ir.Node, p *sequence.Point) {
			next := b.Add(&sequence.Point{}, "next")
			next.Body.(*sequence.Point).Before = []ir.NodeID{next.ID}
		}), []string{"TAP0174"}, nil),
		Of("sequence: an export before what is computed", ordered(func(b builder, _, _ *ir.Node, p *sequence.Point) { p.After = append(p.After, sink(b, "out").ID) }), []string{"TAP0175"},
			[]string{`puts operation "out" before operation "b"`, "the other way round"}),
		Of("sequence near miss: exports", ordered(func(b builder, _, _ *ir.Node, p *sequence.Point) {
			p.After, p.Before = append(p.After, sink(b, "out").ID), []ir.NodeID{sink(b, "more").ID}
		}), nil, nil),
		Of("sequence: a choice", chooses(func(b builder, _, _, _, c *ir.Node) { b.Add(&sequence.Point{After: []ir.NodeID{c.ID}}, "") }), []string{"TAP0173"}, []string{"found:    a choice"}),
	}
}

// A graph with a sequence point has as outputs what happens before one, and not what nobody reads.
func TestSequencePointsObserve(t *testing.T) {
	g := ordered(func(builder, *ir.Node, *ir.Node, *sequence.Point) {})
	names := func() (out []string) {
		p, err := ProgramOf(g)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range p.Outputs {
			out = append(out, x.Name)
		}
		return out
	}
	if got := names(); !slices.Equal(got, []string{"y"}) {
		t.Errorf("with a sequence point the outputs are %q", got)
	}
	g.Remove(ir.NodeID(g.Bound() - 1))
	if got := names(); !slices.Equal(got, []string{"y", "z"}) {
		t.Errorf("without one the outputs are %q", got)
	}
}

func TestBarriers(t *testing.T) {
	g := ordered(func(b builder, first, second *ir.Node, p *sequence.Point) {
		next := b.Add(&sequence.Point{After: []ir.NodeID{first.ID}, Before: p.Before}, "next")
		p.Before = []ir.NodeID{next.ID}
		b.Add(&sequence.Point{Before: []ir.NodeID{first.ID}}, "start")
	})
	for _, b := range sequence.Barriers(g, func(ir.NodeID) bool { return true }) {
		if !slices.Equal(b.Before, []ir.NodeID{3}) || !slices.Equal(b.After, []ir.NodeID{4}) {
			t.Errorf("%s stands between %v and %v", g.Name(b.Point), b.Before, b.After)
		}
	}
	if n := len(sequence.Barriers(g, func(ir.NodeID) bool { return true })); n != 2 {
		t.Errorf("%d barriers", n)
	}
	g.Remove(4)
	sequence.Forget(g)
	if n := len(sequence.Barriers(g, func(ir.NodeID) bool { return true })); n != 0 {
		t.Errorf("%d barriers where nothing comes after", n)
	}
}
