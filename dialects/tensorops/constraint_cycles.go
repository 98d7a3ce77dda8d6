package tensorops

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

var noTensorOperationCycles = check.Constraint{
	ID: "NoTensorOperationCyclesConstraint",
	Doc: "No tensor depends on itself. The graph of dependence has an edge from a tensor to every operation that selects any part of " +
		"it, and from an operation to each of its outputs; which parts are selected does not matter. For every group of nodes " +
		"that depend on each other one shortest cycle is reported, beginning at its earliest operation. In groups too large to " +
		"search wholly, the cycle is the shortest of those found and is called short instead of shortest.",
	Requires: []string{"TensorOperationAgreementConstraint"},
	Codes:    []check.Code{{ID: "TAP0141", Meaning: "tensors and operations depend on themselves"}},
	Check: func(c *check.Context) {
		if producersFirst(c.Graph()) {
			return
		}
		d := newDependence(c)
		for _, group := range check.Cycles(c.Graph().Bound(), d.next) {
			if !c.Go() {
				return
			}
			reportCycle(c, group)
		}
	},
}

// producersFirst says whether every tensor is written before the first operation that reads it, in graph order; then nothing
// depends on itself. It takes one look at each selection.
func producersFirst(g *ir.Graph) bool {
	read, first := make([]bool, g.Bound()), true
	for n := range g.Nodes() {
		if op, ok := n.Body.(*Operation); ok && first {
			op.Inputs.All(func(_, _ int, s *ir.Selection) { read[s.Tensor] = true })
			op.Outputs.All(func(_, _ int, s *ir.Selection) { first = first && !read[s.Tensor] })
		}
	}
	return first
}

// dependence gives the edges from tensors to their consumers and from operations to their outputs.
type dependence struct {
	g     *ir.Graph
	flow  *ir.Flow
	spare []ir.NodeID
}

func newDependence(c *check.Context) *dependence {
	return &dependence{g: c.Graph(), flow: c.Flow(OperationKind)}
}

// next gives the nodes that depend on a node directly. The result is good until the next call.
func (d *dependence) next(id ir.NodeID) []ir.NodeID {
	op := OperationOf(d.g, id)
	if op == nil {
		return d.flow.Consumers(id)
	}
	d.spare = d.spare[:0]
	op.Outputs.All(func(_, _ int, s *ir.Selection) { d.spare = append(d.spare, s.Tensor) })
	return d.spare
}

func reportCycle(c *check.Context, cycle check.Cycle) {
	g := c.Graph()
	nodes := fromOperation(g, cycle.Nodes)
	word := "shortest"
	if !cycle.Shortest {
		word = "short"
	}
	d := c.Error("TAP0141", g.Node(nodes[0]), "", "%s depends on itself", g.Name(nodes[0])).
		Want("no cycle", fmt.Sprintf("a %s cycle of %s: %s", word, check.Count(len(nodes), "node"), check.CycleText(g, nodes)))
	for _, id := range nodes[1:min(len(nodes), check.MaxShown)] {
		d = d.WithNote(c.At(g.Node(id), ""), "through %s", g.Name(id))
	}
	c.Report(d)
}

// fromOperation turns the cycle so that it begins at its earliest operation.
func fromOperation(g *ir.Graph, cycle []ir.NodeID) []ir.NodeID {
	first := -1
	for i, id := range cycle {
		if OperationOf(g, id) != nil && (first < 0 || id < cycle[first]) {
			first = i
		}
	}
	return slices.Concat(cycle[first:], cycle[:first])
}
