package constraints

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

var kernelApplicationAgreement = check.Constraint{
	ID: "KernelApplicationAgreementConstraint",
	Doc: "Every application is scheduled exactly once on each device that its tag Placement names, or once in all if it has none: one kernel carries it out. Applications of sources and sinks need no kernel, as " +
		"what they bring in or take out is held by buffers: every tensor that the program gives (one that a sink or a sequence point " +
		"observes, or that nothing consumes) is held wholly by output buffers. A kernel carries out at least one application.",
	Requires: []string{"ScheduleReferenceConstraint", "BufferLayoutConstraint", "OperationApplicationAgreementConstraint"},
	Codes: []check.Code{
		{ID: "TAP0331", Meaning: "a kernel carries out no application"},
		{ID: "TAP0332", Meaning: "an application is carried out by no kernel"},
		{ID: "TAP0333", Meaning: "an application is carried out twice, or twice on a device"},
		{ID: "TAP0338", Meaning: "an application is carried out on another device than it is placed on"},
		{ID: "TAP0339", Meaning: "an application is placed on a device on which no kernel carries it out"},
		{ID: "TAP0334", Meaning: "a tensor that the program gives is not held by output buffers"},
	},
	Check: func(c *check.Context) {
		checkScheduledOnce(c)
		checkResultsHeld(c)
	},
}

// kernelsOf gives the kernels that carry out each application, by node id.
func kernelsOf(c *check.Context) [][]ir.NodeID {
	return check.Cached(c, "schedule.kernels", func() [][]ir.NodeID {
		of := make([][]ir.NodeID, c.Graph().Bound())
		for n := range c.Graph().Nodes() {
			if k, ok := n.Body.(*schedule.Kernel); ok {
				for _, a := range k.Applications {
					of[a] = append(of[a], n.ID)
				}
			}
		}
		return of
	})
}

func checkScheduledOnce(c *check.Context) {
	g := c.Graph()
	for n, k := range check.Each[*schedule.Kernel](c) {
		if len(k.Applications) == 0 {
			c.Report(c.Error("TAP0331", n, "/body/applications", "%s carries out no application", g.Name(n.ID)).
				Want("at least one application", "none"))
		}
	}
	for n, a := range check.Each[*application.Application](c) {
		by := kernelsOf(c)[n.ID]
		checkOnce(c, n, by)
		if len(by) > 0 {
			continue
		}
		if op := tensorops.OperationOf(g, a.Operation); !op.IsSource() && !op.IsSink() && !tensorops.IsPrecomputed(g.Node(a.Operation)) {
			c.Report(c.Error("TAP0332", n, "", "%s is carried out by no kernel", g.Name(n.ID)).
				Want("one kernel", "none").WithNote(c.At(g.Node(a.Operation), ""), "it is a shard of %s", g.Name(a.Operation)))
		}
	}
}

// checkOnce checks that the kernels which carry an application out are one for each device that it is placed on.
func checkOnce(c *check.Context, n *ir.Node, by []ir.NodeID) {
	g := c.Graph()
	placed, tagged := n.Tag(application.PlacementKind).(*application.Placement)
	first := map[int64]ir.NodeID{}
	for _, id := range by {
		device := g.Node(id).Body.(*schedule.Kernel).Device
		number := int64(0)
		if tagged {
			number = schedule.DeviceOf(c.Graph(), device).Number
		}
		if other, twice := first[number]; twice {
			c.Report(c.Error("TAP0333", g.Node(id), "/body/applications", "%s is carried out twice", g.Name(n.ID)).
				Want("one kernel", fmt.Sprintf("%s and %s", g.Name(other), g.Name(id))).
				WithNote(c.At(g.Node(other), "/body/applications"), "the first kernel is %s", g.Name(other)))
			continue
		}
		first[number] = id
		if tagged && !slices.Contains(placed.Devices, number) {
			c.Report(c.Error("TAP0338", g.Node(id), "/body/device", "%s carries out %s, which is not placed there", g.Name(id), g.Name(n.ID)).
				Want(fmt.Sprintf("a device of %v", placed.Devices), g.Name(device)).WithNote(c.At(n, check.TagField(application.PlacementKind)), "the application"))
		}
	}
	for _, d := range application.PlacementOf(n) {
		if _, ok := first[d]; tagged && len(by) > 0 && !ok {
			c.Report(c.Error("TAP0339", n, check.TagField(application.PlacementKind), "%s is carried out by no kernel on device %d", g.Name(n.ID), d).
				Want(fmt.Sprintf("one kernel on each device of %v", placed.Devices), "none"))
		}
	}
}

// buffersOf gives the buffers that hold a part of each tensor, in graph order.
func buffersOf(c *check.Context) map[ir.NodeID][]*ir.Node {
	return check.Cached(c, "schedule.buffers", func() map[ir.NodeID][]*ir.Node {
		of := map[ir.NodeID][]*ir.Node{}
		for n := range c.Graph().Nodes() {
			if b, ok := n.Body.(*schedule.Buffer); ok && b.Tensor != ir.NoNode {
				of[b.Tensor] = append(of[b.Tensor], n)
			}
		}
		return of
	})
}

// checkResultsHeld checks that output buffers hold every tensor that the program gives.
func checkResultsHeld(c *check.Context) {
	g := c.Graph()
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		return // a malformed constant; it is reported when constants are loaded
	}
	times := map[ir.NodeID]int{}
	for _, t := range p.Held() {
		times[t]++
		var held []zspace.Range
		copies := 0
		for _, n := range buffersOf(c)[t] {
			if b := n.Body.(*schedule.Buffer); b.Space == schedule.Output {
				held, copies = append(held, b.Range), copies+1
			}
		}
		n := g.Node(t)
		whole := tensorops.TensorOf(g, t).Range
		if rest, some := tiling.Missing(whole, held...); some && c.Go() {
			c.Report(c.Error("TAP0334", n, "/body/range", "%s is a result of the program, but no output buffer holds all of it", g.Name(n.ID)).
				Want(fmt.Sprintf("output buffers that hold %v", whole), fmt.Sprintf("none for %v", rest)))
		} else if times[t] > max(1, copies) && c.Go() {
			c.Report(c.Error("TAP0334", n, "/body/range", "%s is more than one result of the program, but has no output buffer for each", g.Name(n.ID)).
				Want(check.Count(times[t], "output buffer"), check.Count(copies, "output buffer")))
		}
	}
}
