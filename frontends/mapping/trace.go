package mapping

import (
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/ordered"
	"tensortapestry.org/tapc/ir"
)

// trace is what became of the operations of a graph whose order is given.
type trace struct {
	timed map[*foreign.Op]bool // those that happen before or after others; nil if there are none
	spans []span
}

// span is operations that were mapped together, and what they became: a part of the mapper's nodes.
type span struct {
	ops      []*foreign.Op
	from, to int
}

// note keeps what became of operations of the program's own graph, where its order is given.
func (m *mapper) note(mark int, ops ...*foreign.Op) {
	if m.trace.timed != nil && m.depth == 0 {
		m.trace.spans = append(m.trace.spans, span{ops, mark, len(m.nodes)})
	}
}

// observed gives what has to be computed because something happens after it.
func (r *Region) observed() (list []*node) {
	before := map[*foreign.Op]bool{}
	for _, op := range r.graph.Ops {
		for _, x := range op.After {
			before[x] = true
		}
	}
	for _, s := range r.m.trace.spans {
		if op := s.ops[len(s.ops)-1]; before[op] {
			list = append(list, r.makers(op.In)...)
			list = append(list, r.makers(op.Out)...)
		}
	}
	return list
}

// makers gives the nodes that compute values.
func (r *Region) makers(names []string) (list []*node) {
	for _, name := range names {
		if v, ok := r.values[name]; ok && v.Kind == foreign.TensorKind && maker(v.Tensor) != nil {
			list = append(list, maker(v.Tensor))
		}
	}
	return list
}

// order adds the sequence points of the program.
func (b *builder) order(r *Region) {
	var groups []ordered.Group
	for _, s := range b.m.trace.spans {
		x := ordered.Group{Ops: s.ops, Nodes: b.present(b.m.nodes[s.from:s.to])}
		for _, op := range s.ops {
			x.From = append(x.From, b.present(r.makers(op.In))...)
		}
		groups = append(groups, x)
	}
	ordered.Points(b.g, groups)
}

// present gives the operations of the nodes that are in the program.
func (b *builder) present(nodes []*node) (list []ir.NodeID) {
	for _, n := range nodes {
		if id, there := b.ops[n]; there {
			list = append(list, id)
		}
	}
	return list
}
