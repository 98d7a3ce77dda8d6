// Package sequence is sequence points: nodes that say what happens before what, and what is observed.
//
// It must not import dialects/tensorops, which gives it what operations are. Read next: docs/effects.md; constraint.go.
package sequence

import (
	"slices"

	"tensortapestry.org/tapc/ir"
)

// Kind is the kind of sequence points.
var Kind = &ir.Kind{URI: "http://tensortapestry.org/schemas/tapc/2026-11/operation.jsd#/nodes/SequencePoint", Keyword: "sequence", Num: 9,
	New: func() ir.Body { return new(Point) }}

// Point is an instant of a run: every operation and sequence point in After happens before it, all in Before happen after it. It reads and
// gives no data. What happens before a sequence point is observed: it stays, and so does all that it depends on.
type Point struct{ After, Before []ir.NodeID }

// Kind is Kind.
func (*Point) Kind() *ir.Kind { return Kind }

// Fields names what happens before the point and what happens after it.
func (p *Point) Fields(f ir.Fields) {
	f.Refs(ir.Field{Num: 1, Name: "after", Style: ir.Positional, Optional: true}, &p.After)
	f.Refs(ir.Field{Num: 2, Name: "before", Style: ir.Arrow, Optional: true}, &p.Before)
}

// Ordered gives the nodes that sequence points name. Passes leave such operations as they are.
func Ordered(g *ir.Graph) (out ir.NodeSet) {
	for n := range g.Nodes() {
		if p, ok := n.Body.(*Point); ok {
			for _, id := range slices.Concat(p.After, p.Before) {
				out.Add(id)
			}
		}
	}
	return out
}

// Forget takes the nodes that are no longer there out of a graph's sequence points.
func Forget(g *ir.Graph) {
	gone := func(id ir.NodeID) bool { return g.Node(id) == nil }
	for n := range g.Nodes() {
		if p, ok := n.Body.(*Point); ok {
			p.After, p.Before = slices.DeleteFunc(p.After, gone), slices.DeleteFunc(p.Before, gone)
		}
	}
}

// Barrier is what a sequence point orders.
type Barrier struct {
	Point  ir.NodeID
	Before []ir.NodeID // the operations right before it
	After  []ir.NodeID // all that happen after it, those behind further sequence points among them
}

// Barriers gives one for each sequence point that has operations right before it and some after it, in graph order: together they order what the
// graph's sequence points order.
func Barriers(g *ir.Graph) []Barrier {
	var out []Barrier
	earlier, later := pointEdges(g)
	for n := range g.Nodes() {
		if n.Body.Kind() != Kind {
			continue
		}
		b := Barrier{Point: n.ID}
		for _, id := range earlier[n.ID] {
			if n := g.Node(id); n != nil && n.Body.Kind() != Kind && !slices.Contains(b.Before, id) {
				b.Before = append(b.Before, id)
			}
		}
		if len(b.Before) == 0 {
			continue
		}
		if b.After = behind(g, n.ID, later); len(b.After) > 0 {
			out = append(out, b)
		}
	}
	return out
}

// pointEdges gives what happens right before and right after each sequence point: operations, and points that name it or that it names.
func pointEdges(g *ir.Graph) (earlier, later map[ir.NodeID][]ir.NodeID) {
	earlier, later = map[ir.NodeID][]ir.NodeID{}, map[ir.NodeID][]ir.NodeID{}
	for n := range g.Nodes() {
		p, ok := n.Body.(*Point)
		if !ok {
			continue
		}
		for _, id := range p.After {
			earlier[n.ID], later[id] = append(earlier[n.ID], id), append(later[id], n.ID)
		}
		for _, id := range p.Before {
			later[n.ID], earlier[id] = append(later[n.ID], id), append(earlier[id], n.ID)
		}
	}
	return earlier, later
}

// behind gives the operations that happen after a sequence point, or after one that does, by number.
func behind(g *ir.Graph, point ir.NodeID, later map[ir.NodeID][]ir.NodeID) (ops []ir.NodeID) {
	var seen ir.NodeSet
	stack := []ir.NodeID{point}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, id := range later[at] {
			switch n := g.Node(id); {
			case n == nil || seen.Has(id):
			case n.Body.Kind() == Kind:
				stack = append(stack, id)
			default:
				ops = append(ops, id)
			}
			seen.Add(id)
		}
	}
	slices.Sort(ops)
	return ops
}
