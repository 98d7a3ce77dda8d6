package application

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

var outputCoverageIsExact = check.Constraint{
	ID: "ApplicationOutputRangeCoverageIsExactConstraint",
	Doc: "For every output selection of an operation, the ranges of its applications tile it: every cell is written by one and only " +
		"one application. Any pattern of boxes that does so is legal, also one that no cut divides; applications with an empty " +
		"range are legal. The test is exact, with a witness: the doubly written box and both applications, or the box that none " +
		"writes.",
	Requires: []string{"OperationApplicationAgreementConstraint"},
	Codes: []check.Code{
		{ID: "TAP0221", Meaning: "two applications write the same cells of an output"},
		{ID: "TAP0222", Meaning: "no application writes some cells of an output"},
	},
	Check: func(c *check.Context) {
		for n, op := range check.Each[*tensorops.Operation](c) {
			checkCoverage(c, n, op)
		}
	},
}

func checkCoverage(c *check.Context, n *ir.Node, op *tensorops.Operation) {
	apps := shardsOf(c).of(n.ID)
	parts := make([]zspace.Range, len(apps))
	op.Outputs.All(func(port, entry int, whole *ir.Selection) {
		for k, app := range apps {
			parts[k] = app.Body.(*Application).Outputs.At(port).Sel[entry].Range()
		}
		fault, err := tiling.Check(whole.Range(), parts)
		if err != nil || fault == nil { // parts are valid boxes inside whole, so there is no error
			return
		}
		reportCoverage(c, n, check.PortField("outputs", op.Outputs.At(port).Name, entry), whole.Range(), apps, parts, fault)
	})
}

func reportCoverage(c *check.Context, n *ir.Node, field string, whole zspace.Range, apps []*ir.Node, parts []zspace.Range, f *tiling.Fault) {
	g := c.Graph()
	code, what := "TAP0222", "leave a part of it unwritten"
	if f.Kind == tiling.Overlap {
		code, what = "TAP0221", "write a part of it twice"
	}
	d := c.Error(code, n, field+"/range", "the applications of %s %s", g.Name(n.ID), what).
		Want(fmt.Sprintf("a tiling of %v", whole), faultText(c, f, apps))
	for _, i := range [...]int{f.I, f.J} {
		if i >= 0 {
			d = d.WithNote(c.At(apps[i], field+"/range"), "%s writes %v", g.Name(apps[i].ID), parts[i])
		}
	}
	c.Report(d)
}
