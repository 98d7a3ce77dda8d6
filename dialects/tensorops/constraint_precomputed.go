package tensorops

import (
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

var precomputedFromConstants = check.Constraint{
	ID: "PrecomputedFromConstantsConstraint",
	Doc: "An operation with the tag Precomputed, which is carried out when the program is built, reads only what constants and such " +
		"operations make, and has no effect outside the graph.",
	Requires: []string{"NoTensorOperationCyclesConstraint"},
	Codes: []check.Code{
		{ID: "TAP0171", Meaning: "a precomputed operation reads what the program computes or is given"},
		{ID: "TAP0172", Meaning: "the tag Precomputed is on an operation that can not be carried out when the program is built"},
	},
	Check: func(c *check.Context) {
		for n := range c.Graph().Nodes() {
			if !IsPrecomputed(n) {
				continue
			}
			if !c.Go() {
				return
			}
			checkPrecomputed(c, n)
		}
	},
}

func checkPrecomputed(c *check.Context, n *ir.Node) {
	g, flow := c.Graph(), c.Flow(OperationKind)
	op, ok := n.Body.(*Operation)
	if !ok || op.IsSource() || op.IsSink() || n.Tag(IOSequencePointKind) != nil {
		c.Report(c.Error("TAP0172", n, check.TagField(PrecomputedKind), "%s can not be carried out when the program is built", g.Name(n.ID)).
			Want("an operation that computes, without an effect", "another node"))
		return
	}
	op.Inputs.All(func(port, entry int, s *ir.Selection) {
		makers := flow.Producers(s.Tensor)
		if len(makers) == 0 || base(OperationOf(g, makers[0]).Kernel) != "constant" && !IsPrecomputed(g.Node(makers[0])) {
			c.Report(c.Error("TAP0171", n, check.PortField(sides[0], op.Inputs.At(port).Name, entry), "%s is carried out when the program is built, and %s is not known then",
				g.Name(n.ID), g.Name(s.Tensor)).Want("what constants and precomputed operations make", "another tensor"))
		}
	})
}
