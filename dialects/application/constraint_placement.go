package application

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

var placementIsSane = check.Constraint{
	ID: "ApplicationPlacementConstraint",
	Doc: "The tag Placement is on applications only. It names at least one device; numbers are not negative, ascend, and each is there once. An " +
		"application of an operation with an effect outside the graph is on one device.",
	Requires: []string{"OperationApplicationAgreementConstraint"},
	Codes: []check.Code{
		{ID: "TAP0241", Meaning: "the tag Placement is on a node that is no application"},
		{ID: "TAP0242", Meaning: "a placement names no device, one twice, one of a negative number, or not in ascending order"},
		{ID: "TAP0243", Meaning: "an application with an effect outside the graph is on several devices"},
	},
	Check: func(c *check.Context) {
		for n := range c.Graph().Nodes() {
			if p, ok := n.Tag(PlacementKind).(*Placement); ok && c.Go() {
				checkPlacement(c, n, p)
			}
		}
	},
}

func checkPlacement(c *check.Context, n *ir.Node, p *Placement) {
	g, at := c.Graph(), check.TagField(PlacementKind)
	a, ok := n.Body.(*Application)
	if !ok {
		c.Report(c.Error("TAP0241", n, at, "%s is computed on no device", g.Name(n.ID)).Want("an application", n.Body.Kind().Keyword))
		return
	}
	sane := len(p.Devices) > 0 && p.Devices[0] >= 0
	for i := range p.Devices[min(1, len(p.Devices)):] {
		sane = sane && p.Devices[i] < p.Devices[i+1]
	}
	if !sane {
		c.Report(c.Error("TAP0242", n, at, "%s is placed on devices that can not be", g.Name(n.ID)).
			Want("numbers of devices, ascending from 0, each once", fmt.Sprint(slices.Clone(p.Devices))))
		return
	}
	if op := g.Node(a.Operation); len(p.Devices) > 1 && op.Tag(tensorops.IOSequencePointKind) != nil {
		c.Report(c.Error("TAP0243", n, at, "%s has an effect outside the graph, and several devices", g.Name(n.ID)).Want("one device", fmt.Sprint(p.Devices)))
	}
}
