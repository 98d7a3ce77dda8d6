package races

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/waits"
)

// Sequence is the constraint that kernels keep to sequence points.
var Sequence = check.Constraint{
	ID: "SequenceOrderConstraint",
	Doc: "The order of kernels keeps to sequence points: whatever carries out an operation behind one waits, directly or through others, for all that carry out " +
		"the operations before it, and no kernel carries out both.",
	Requires: []string{"ScheduleOrderConstraint"},
	Codes:    []check.Code{{ID: "TAP0177", Meaning: "a kernel does not wait for one that a sequence point puts before it"}},
	Check: func(c *check.Context) {
		kernels := schedule.Carriers(c.Graph())
		for _, b := range sequence.Barriers(c.Graph(), func(op ir.NodeID) bool { return len(kernels[op]) > 0 }) {
			checkBarrier(c, b, kernels)
		}
	},
}

func checkBarrier(c *check.Context, b sequence.Barrier, kernels map[ir.NodeID][]ir.NodeID) {
	g, s := c.Graph(), stepsOf(c)
	var pairs []waits.Pair
	for _, first := range b.Before {
		for _, then := range b.After {
			for _, x := range kernels[first] {
				for _, y := range kernels[then] {
					pairs = append(pairs, waits.Pair{A: s.number[x], B: s.number[y]})
				}
			}
		}
	}
	for _, i := range s.order.Unordered(pairs, c.Go) {
		x, y, found := g.Node(s.ids[pairs[i].A]), g.Node(s.ids[pairs[i].B]), "they may run at the same time"
		if x == y {
			found = "one kernel for what happens before and after"
		}
		c.Report(c.Error("TAP0177", y, "/body/after", "%s does not wait for %s, which %s puts before it", g.Name(y.ID), g.Name(x.ID), g.Name(b.Point)).
			Want(g.Name(y.ID)+" after "+g.Name(x.ID), found).WithNote(c.At(g.Node(b.Point), ""), "the sequence point"))
	}
}
