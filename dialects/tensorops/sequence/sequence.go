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
	After  []ir.NodeID // those right after it, and those behind further sequence points before which none of the former stands
}

// Barriers gives one for each sequence point that has operations right before it and some after it, in graph order: together, one after the other, they order what the
// graph's sequence points order. Not everything that sequence points name need stand for what is before and after it: carries says which operations do. Slices may be shared.
func Barriers(g *ir.Graph, carries func(ir.NodeID) bool) []Barrier {
	var out []Barrier
	r := &reach{g: g, carries: carries, after: map[ir.NodeID][]ir.NodeID{}}
	r.earlier, r.later = Edges(g)
	for n := range g.Nodes() {
		if n.Body.Kind() != Kind {
			continue
		}
		b := Barrier{Point: n.ID}
		for _, id := range r.earlier[n.ID] {
			if !r.isPoint(id) && !slices.Contains(b.Before, id) {
				b.Before = append(b.Before, id)
			}
		}
		if len(b.Before) == 0 {
			continue
		}
		if b.After = r.behind(n.ID); len(b.After) > 0 {
			out = append(out, b)
		}
	}
	return out
}

// Edges gives what happens right before and right after each sequence point that a graph has: operations, and points that name it or that it names; and the points right before and right after each operation.
func Edges(g *ir.Graph) (earlier, later map[ir.NodeID][]ir.NodeID) {
	earlier, later = map[ir.NodeID][]ir.NodeID{}, map[ir.NodeID][]ir.NodeID{}
	edge := func(from, to ir.NodeID) {
		if g.Node(from) != nil && g.Node(to) != nil {
			later[from], earlier[to] = append(later[from], to), append(earlier[to], from)
		}
	}
	for n := range g.Nodes() {
		if p, ok := n.Body.(*Point); ok {
			for _, id := range p.After {
				edge(id, n.ID)
			}
			for _, id := range p.Before {
				edge(n.ID, id)
			}
		}
	}
	return earlier, later
}

// reach finds what happens after sequence points.
type reach struct {
	g              *ir.Graph
	carries        func(ir.NodeID) bool
	earlier, later map[ir.NodeID][]ir.NodeID
	after          map[ir.NodeID][]ir.NodeID // of the points that are known
}

func (r *reach) isPoint(id ir.NodeID) bool { return r.g.Node(id).Body.Kind() == Kind }

// behind gives the operations that happen after a sequence point, by number, but for those that others of them are before.
func (r *reach) behind(point ir.NodeID) []ir.NodeID {
	if list, there := r.after[point]; there {
		return list
	}
	r.after[point] = nil // in case that it is behind itself
	var ops []ir.NodeID
	carried := map[ir.NodeID]bool{}
	for _, id := range r.later[point] {
		if !r.isPoint(id) {
			if ops = append(ops, id); r.carries(id) {
				carried[id] = true
			}
		}
	}
	for _, id := range r.later[point] {
		if !r.isPoint(id) || slices.ContainsFunc(r.earlier[id], func(x ir.NodeID) bool { return carried[x] }) {
			continue
		}
		if more := r.behind(id); len(ops) == 0 {
			ops = more
		} else if len(more) > 0 {
			ops = slices.Concat(ops, more)
		}
	}
	if len(r.later[point]) > 1 {
		ops = slices.Compact(slices.Sorted(slices.Values(ops)))
	}
	r.after[point] = ops
	return ops
}
