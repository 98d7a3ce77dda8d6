// Package ordered carries the order that a foreign graph asks for, besides that of its values, over to the program that it becomes, as sequence points, and back.
//
// It knows no rules and no vocabulary: it is told what each operation became. It must not import frontends/mapping, which uses it. Read next:
// dialects/tensorops/sequence, then docs/effects.md.
package ordered

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir"
)

// Asked says whether a graph asks for an order, and which of its operations have to do with it.
func Asked(ops []*foreign.Op) map[*foreign.Op]bool {
	var timed map[*foreign.Op]bool
	for _, op := range ops {
		if len(op.After) > 0 && timed == nil {
			timed = map[*foreign.Op]bool{}
		}
		for _, x := range op.After {
			timed[op], timed[x] = true, true
		}
	}
	return timed
}

// Group is operations of a foreign graph that were mapped together, and what they became. None of several has a time of its own.
type Group struct {
	Ops   []*foreign.Op
	Nodes []ir.NodeID // the operations that are left of what they became
	From  []ir.NodeID // those that give what they take
}

// Points adds the sequence points that keep the order of the groups of a graph, which come in an order in which they can be carried out. What an operation became happens after all that
// the operations before it became: its first steps after the last ones of those. Where nothing is left of an operation, as it is computed when compiling, gives what it takes or is only
// between others, what takes its results happens after what was before it.
func Points(g *ir.Graph, groups []Group) {
	o := &order{g: g, ends: map[*foreign.Op][]ir.NodeID{}, pending: map[string][]ir.NodeID{}, followed: map[*foreign.Op]bool{}, reads: map[string]bool{}}
	for _, x := range groups {
		for _, op := range x.Ops {
			for _, before := range op.After {
				o.followed[before] = true
			}
			for _, name := range op.In {
				o.reads[name] = true
			}
		}
	}
	for _, x := range groups {
		o.group(x)
	}
}

// order is the order of one graph.
type order struct {
	g        *ir.Graph
	ends     map[*foreign.Op][]ir.NodeID // what is done last of operations that have a time
	pending  map[string][]ir.NodeID      // what happens before all that takes a value, and before nothing that gives it
	followed map[*foreign.Op]bool
	reads    map[string]bool
}

func (o *order) group(x Group) {
	var wait []ir.NodeID
	for _, op := range x.Ops {
		for _, before := range op.After {
			wait = append(wait, o.ends[before]...)
		}
		for _, name := range op.In {
			wait = append(wait, o.pending[name]...)
		}
	}
	wait = distinct(wait)
	root := x.Ops[len(x.Ops)-1]
	if len(x.Nodes) > 0 {
		first, last := o.borders(x.Nodes)
		o.before(root, wait, first)
		if o.followed[root] {
			o.ends[root] = last
		}
		return
	}
	taken := o.followed[root]
	for _, name := range root.Out {
		taken = taken || name != "" && o.reads[name]
	}
	if len(wait) > 1 || len(wait) == 1 && !taken {
		wait = []ir.NodeID{o.point(root, root.Name, wait, nil)}
	}
	for _, name := range root.Out {
		if name != "" && len(wait) > 0 {
			o.pending[name] = wait
		}
	}
	o.ends[root] = distinct(append(slices.Clone(wait), x.From...))
}

// before puts operations and sequence points before the first steps of an operation.
func (o *order) before(op *foreign.Op, wait, first []ir.NodeID) {
	var direct []ir.NodeID
	for _, id := range wait {
		if p, ok := o.g.Node(id).Body.(*sequence.Point); ok {
			p.Before = append(p.Before, first...)
		} else {
			direct = append(direct, id)
		}
	}
	if len(direct) > 0 {
		o.point(op, "", direct, first)
	}
}

func (o *order) point(op *foreign.Op, label string, after, before []ir.NodeID) ir.NodeID {
	n := o.g.Add(&sequence.Point{After: after, Before: before}, label)
	n.Pos = op.Pos
	return n.ID
}

// borders gives those of some operations that read nothing from the others, and those that none of the others reads.
func (o *order) borders(nodes []ir.NodeID) (first, last []ir.NodeID) {
	var given, read ir.NodeSet
	for _, id := range nodes {
		given.AddPorts(tensorops.OperationOf(o.g, id).Outputs)
		read.AddPorts(tensorops.OperationOf(o.g, id).Inputs)
	}
	touches := func(ports ir.Ports, set *ir.NodeSet) (found bool) {
		ports.All(func(_, _ int, s *ir.Selection) { found = found || set.Has(s.Tensor) })
		return found
	}
	for _, id := range nodes {
		op := tensorops.OperationOf(o.g, id)
		if !touches(op.Inputs, &given) {
			first = append(first, id)
		}
		if !touches(op.Outputs, &read) {
			last = append(last, id)
		}
	}
	return first, last
}

func distinct(list []ir.NodeID) (out []ir.NodeID) {
	var seen ir.NodeSet
	for _, id := range list {
		if !seen.Has(id) {
			out = append(out, id)
		}
		seen.Add(id)
	}
	return out
}
