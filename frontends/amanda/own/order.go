package own

import (
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// CodeNamed is the code of an order that ops can not have.
const CodeNamed = "TAP0858"

// pointType is the type of ops that are sequence points: they have control edges alone.
const pointType = "sequence"

// isPoint says whether a flat operation computes nothing, and becomes a sequence point.
func isPoint(op *foreign.Op) bool {
	return op.IsOrder() || op.Type == pointType && len(op.In)+len(op.Out) == 0
}

// order makes sequence points: one for each operation that others happen before and no point does, which is right before it, then one for each op that is one.
func (b *raiser) order(ops []*foreign.Op) {
	for _, op := range ops {
		if id, there := b.made[op]; there {
			if before := b.before(op, false); len(before) > 0 {
				b.g.Add(&sequence.Point{After: before, Before: []ir.NodeID{id}}, "").Pos = op.Pos
			}
		}
	}
	points := map[*foreign.Op]*sequence.Point{}
	for _, added := range []bool{true, false} {
		for _, op := range ops {
			if isPoint(op) && op.IsOrder() == added {
				points[op] = &sequence.Point{}
				n := b.g.Add(points[op], labelOf(op))
				n.Pos = op.Pos
				b.made[op] = n.ID
			}
		}
	}
	for _, op := range ops {
		if p := points[op]; p != nil {
			p.After = append(b.before(op, false), b.before(op, true)...)
			continue
		}
		for _, x := range op.After {
			if id, there := b.made[op]; there && points[x] != nil {
				points[x].Before = append(points[x].Before, id)
			}
		}
	}
}

// before gives what happens right before an operation: sequence points, or other operations.
func (b *raiser) before(op *foreign.Op, points bool) (list []ir.NodeID) {
	for _, x := range op.After {
		if id, there := b.made[x]; there && isPoint(x) == points {
			list = append(list, id)
		}
	}
	return list
}

// named gives the name of an op, "" for one that ops of its kind get where there is none.
func named(name, kind string) string {
	if rest, ok := strings.CutPrefix(name, kind); ok && (rest == "" || rest[0] == '_' && strings.Trim(rest[1:], "0123456789") == "") {
		return ""
	}
	return name
}

// labelOf is the label of the sequence point that an operation becomes.
func labelOf(op *foreign.Op) string {
	if op.Type != pointType {
		return ""
	}
	return named(op.Name, pointType)
}

// order writes sequence points. One that is right before one operation, or before the end of the graph, is control edges to that, if there is no
// other such point; others are ops, with control edges from what happens before them and to what happens afterwards.
func (l *lifter) order() {
	var linked ir.NodeSet
	taken := map[string]bool{}
	l.points(func(n *ir.Node, p *sequence.Point) {
		for _, side := range [][]ir.NodeID{p.After, p.Before} {
			for _, id := range side {
				if _, point := l.g.Node(id).Body.(*sequence.Point); point {
					linked.Add(id)
					linked.Add(n.ID)
				}
			}
		}
	})
	name := func(id ir.NodeID) string { return l.made[id].Name }
	l.points(func(n *ir.Node, p *sequence.Point) {
		target := amanda.Self
		if len(p.Before) == 1 && !linked.Has(n.ID) {
			target = name(p.Before[0])
		}
		if linked.Has(n.ID) || n.Label != "" || len(p.Before) > 1 || len(p.After) == 0 || taken[target] {
			label := n.Label
			if label == "" {
				label = pointType
			}
			op := &amanda.Op{Name: l.names.Unique(label), Type: pointType}
			l.root.Ops, l.made[n.ID] = append(l.root.Ops, op), op
			return
		}
		taken[target] = true
		for _, id := range p.After {
			l.root.Edges = append(l.root.Edges, amanda.ControlEdge(name(id), target))
		}
	})
	there := map[[2]ir.NodeID]bool{}
	edge := func(from, to ir.NodeID) {
		if !there[[2]ir.NodeID{from, to}] {
			l.root.Edges = append(l.root.Edges, amanda.ControlEdge(name(from), name(to)))
		}
		there[[2]ir.NodeID{from, to}] = true
	}
	l.points(func(n *ir.Node, p *sequence.Point) {
		if l.made[n.ID] == nil {
			return
		}
		for _, id := range p.After {
			edge(id, n.ID)
		}
		for _, id := range p.Before {
			edge(n.ID, id)
		}
	})
}

// points calls a function for each sequence point that names ops and other points alone, in graph order.
func (l *lifter) points(f func(n *ir.Node, p *sequence.Point)) {
	for n := range l.g.Nodes() {
		p, ok := n.Body.(*sequence.Point)
		if ok && l.orderable(n, p) {
			f(n, p)
		}
	}
}

// orderable refuses a sequence point that names what is no op.
func (l *lifter) orderable(n *ir.Node, p *sequence.Point) bool {
	for _, side := range [][]ir.NodeID{p.After, p.Before} {
		for _, id := range side {
			if x := l.g.Node(id); l.made[id] != nil || x != nil && x.Body.Kind() == sequence.Kind {
				continue
			}
			d := diag.Errorf(CodeNamed, constraint, l.g.At(n, ""), "%s names %s, which is no op of an Amanda graph", l.g.Name(n.ID), l.g.Name(id))
			d = d.Want("operations that compute, and imports and exports of files", "what states the inputs or outputs of the program")
			d.Hint = "inputs are there before all else, and outputs given when all is computed, without a sequence point"
			if len(l.bad) == 0 || l.bad[len(l.bad)-1].Message != d.Message {
				l.bad = append(l.bad, d)
			}
			return false
		}
	}
	return true
}
