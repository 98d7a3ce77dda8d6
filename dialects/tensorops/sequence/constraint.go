package sequence

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

// ID is the id of the constraint on sequence points.
const ID = "SequencePointConstraint"

// Phase is the part of a run in which an operation happens.
type Phase int

// The phases.
const (
	Timeless Phase = iota - 1 // constants
	Begin                     // what there is when a run begins
	Computed
	End // what is given when all is computed
)

// Operations is what the constraint has to know of operations.
type Operations struct {
	Kind *ir.Kind
	// Of says when an operation happens, and what it is if it can not be named, "" if it can.
	Of func(n *ir.Node) (phase Phase, refused string)
	// Next gives the function that gives the nodes that depend on a node directly: an operation or a tensor.
	Next func(c *check.Context) func(ir.NodeID) []ir.NodeID
}

// Constraint gives the constraint on sequence points.
func Constraint(o Operations) check.Constraint {
	return check.Constraint{
		ID: ID,
		Doc: "A sequence point names operations and other sequence points, each once: what happens before it and what happens after it. Choices and composites are not named. Nothing " +
			"happens before itself, neither through sequence points nor because one operation reads what another gives. Imports happen when a run begins, exports when all is computed: " +
			"nothing but imports happens before an import, nothing but exports after an export. Constants have no time.",
		Requires: []string{"NoTensorOperationCyclesConstraint"},
		Codes: []check.Code{
			{ID: "TAP0173", Meaning: "a sequence point names something else than an operation or a sequence point, or a node twice"},
			{ID: "TAP0174", Meaning: "an operation or a sequence point happens before itself"},
			{ID: "TAP0175", Meaning: "sequence points order operations as no run does"},
		},
		Check: o.check,
	}
}

func (o Operations) check(c *check.Context) {
	g, sane, points := c.Graph(), true, 0
	for n, p := range check.Each[*Point](c) {
		points++
		sane = o.point(c, n, p) && sane
	}
	if points == 0 || !sane {
		return
	}
	earlier, later := Edges(g)
	next := o.Next(c)
	cycles := check.Cycles(g.Bound(), func(id ir.NodeID) []ir.NodeID { return slices.Concat(later[id], next(id)) })
	for _, cycle := range cycles {
		first := cycle.Nodes[slices.IndexFunc(cycle.Nodes, func(id ir.NodeID) bool { return g.Node(id).Body.Kind() == Kind })]
		c.Report(c.Error("TAP0174", g.Node(first), "", "%s happens before itself", g.Name(first)).
			Want("no cycle", fmt.Sprintf("a cycle of %s: %s", check.Count(len(cycle.Nodes), "node"), check.CycleText(g, cycle.Nodes))))
	}
	if len(cycles) == 0 {
		o.phases(c, earlier)
	}
}

// point checks what a sequence point names.
func (o Operations) point(c *check.Context, n *ir.Node, p *Point) bool {
	sane := true
	for side, list := range [][]ir.NodeID{p.After, p.Before} {
		var seen ir.NodeSet
		for i, id := range list {
			field := fmt.Sprintf("/body/%s/%d", [...]string{"after", "before"}[side], i)
			to, ok := c.Ref("TAP0173", "TAP0173", n, field, id, o.Kind, Kind)
			if !ok {
				sane = false
				continue
			}
			refused := ""
			if to.Body.Kind() == o.Kind {
				_, refused = o.Of(to)
			}
			if seen.Has(id) {
				refused = "it is there already"
			}
			if seen.Add(id); refused != "" {
				sane = false
				c.Report(c.Error("TAP0173", n, field, "%s names %s", c.Graph().Name(n.ID), c.Graph().Name(id)).
					Want("operations and sequence points, each once, and neither choices nor composites", refused))
			}
		}
	}
	return sane
}

// phases checks that runs can keep to the order.
func (o Operations) phases(c *check.Context, earlier map[ir.NodeID][]ir.NodeID) {
	g := c.Graph()
	phase := func(id ir.NodeID) Phase { p, _ := o.Of(g.Node(id)); return p }
	last := map[ir.NodeID]ir.NodeID{} // of the operations before a sequence point, one in the last phase
	var before func(point ir.NodeID) ir.NodeID
	before = func(point ir.NodeID) ir.NodeID {
		at, there := last[point]
		if there {
			return at
		}
		at = ir.NoNode
		for _, id := range earlier[point] {
			if g.Node(id).Body.Kind() == Kind {
				id = before(id)
			}
			if id != ir.NoNode && (at == ir.NoNode || phase(id) > phase(at)) {
				at = id
			}
		}
		last[point] = at
		return at
	}
	for n, point := range check.Each[*Point](c) {
		first := before(n.ID)
		if first == ir.NoNode {
			continue
		}
		for _, id := range point.Before {
			if g.Node(id).Body.Kind() == Kind {
				continue
			}
			if p := phase(id); p != Timeless && p < phase(first) && c.Go() {
				c.Report(c.Error("TAP0175", g.Node(n.ID), "", "%s puts %s before %s", g.Name(n.ID), g.Name(first), g.Name(id)).
					Want("imports when a run begins, and exports when all is computed", "the other way round").
					WithNote(c.At(g.Node(first), ""), "this is to happen first").WithNote(c.At(g.Node(id), ""), "and this afterwards"))
			}
		}
	}
}
