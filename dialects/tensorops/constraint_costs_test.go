package tensorops

import (
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

func costsCases() []Case {
	// costed has an operation of an index of two dimensions that sums the second one of x, with costs.
	costed := func(edit func(op *ir.Node, m *MarginalCosts)) *ir.Graph {
		return graph(func(b builder) {
			x, y := b.tensor("x", "float32", "[0:4, 0:3]"), b.tensor("y", "float32", "[0:4]")
			op := b.op("block", ir.PortsOf([]ir.Port{Port("x", Sel(x, "[0:4, 0:3]"))}), ir.PortsOf([]ir.Port{Port("y", Sel(y, "[0:4]"))}), index("[0:4]"),
				&Signature{Inputs: ir.PortMaps{maps("x", "(d0) -> [d0, 0] + [1, 3]")}, Outputs: ir.PortMaps{maps("y", "(d0) -> [d0] + [1]")}})
			op.SetTag(along("k", 3, "sum", "(d0, d1) -> [d0, d1] + [1, 1]"))
			m := &MarginalCosts{DType: "float32", Terms: []CostTerm{{Over: []int64{0, 1}, Products: 8, Memory: 4}, {Operations: 100}}}
			op.SetTag(m)
			edit(op, m)
		})
	}
	term := func(t CostTerm) *ir.Graph {
		return costed(func(_ *ir.Node, m *MarginalCosts) { m.Terms = append(m.Terms, t) })
	}
	return []Case{
		Of("costs accepted", costed(func(*ir.Node, *MarginalCosts) {}), nil, nil),
		Of("costs accepted: no terms, no type", costed(func(_ *ir.Node, m *MarginalCosts) { *m = MarginalCosts{} }), nil, nil),
		Of("costs: without a signature", costed(func(op *ir.Node, _ *MarginalCosts) {
			op.DropTag(SignatureKind)
			op.DropTag(ReducedKind)
		}), []string{"TAP0244"}, nil),
		Of("costs: a dimension too many", term(CostTerm{Over: []int64{2}, Bytes: 1}), []string{"TAP0245"}, []string{"each below 2", "term 2 with [2]"}),
		Of("costs near miss: without the reduced dimension", costed(func(op *ir.Node, _ *MarginalCosts) { op.DropTag(ReducedKind) }), []string{"TAP0245"}, []string{"each below 1"}),
		Of("costs: a dimension below 0", term(CostTerm{Over: []int64{-1}, Bytes: 1}), []string{"TAP0245"}, nil),
		Of("costs: a dimension twice", term(CostTerm{Over: []int64{0, 0}, Bytes: 1}), []string{"TAP0245"}, nil),
		Of("costs: not in order", term(CostTerm{Over: []int64{1, 0}, Bytes: 1}), []string{"TAP0245"}, nil),
		Of("costs: negative", term(CostTerm{Over: []int64{1}, Bytes: 1, Memory: -1}), []string{"TAP0245"}, []string{"-1"}),
		Of("costs: nothing", term(CostTerm{Over: []int64{1}}), []string{"TAP0245"}, []string{"none"}),
		Of("costs: too many", costed(func(_ *ir.Node, m *MarginalCosts) {
			for len(m.Terms) <= maxTerms {
				m.Terms = append(m.Terms, m.Terms[0])
			}
		}), []string{"TAP0245"}, []string{"64 terms at most"}),
		Of("costs: no such type", costed(func(_ *ir.Node, m *MarginalCosts) { m.DType = "float31" }), []string{"TAP0246"}, []string{`"float31"`}),
	}
}
