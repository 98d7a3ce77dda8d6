package collective

import (
	"cmp"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/uses"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

// route is a tensor on its way between two members of a group, by their places in it.
type route struct {
	tensor   ir.NodeID
	from, to int
}

// traffic is what some transfers carry, by routes, and the boxes of the buffers that it arrives in.
type traffic struct {
	g      *ir.Graph
	group  []ir.NodeID
	boxes  map[route][]zspace.Range
	into   map[route][]zspace.Range
	tensor []ir.NodeID // in the order of the first transfer of each
}

// trafficOf sorts transfers by routes in a group; the device is one that is no member.
func trafficOf(g *ir.Graph, group, transfers []ir.NodeID) (t *traffic, stranger ir.NodeID) {
	t = &traffic{g: g, group: group, boxes: map[route][]zspace.Range{}, into: map[route][]zspace.Range{}}
	for _, id := range transfers {
		from, to, box := ends(g, id)
		r := route{from.Tensor, slices.Index(group, from.Device), slices.Index(group, to.Device)}
		if r.from < 0 {
			return nil, from.Device
		}
		if r.to < 0 {
			return nil, to.Device
		}
		if !slices.Contains(t.tensor, r.tensor) {
			t.tensor = append(t.tensor, r.tensor)
		}
		t.boxes[r], t.into[r] = append(t.boxes[r], box), append(t.into[r], to.Range)
	}
	return t, ir.NoNode
}

// ends gives the buffers of a transfer, and its box.
func ends(g *ir.Graph, transfer ir.NodeID) (from, to *schedule.Buffer, box zspace.Range) {
	t := g.Node(transfer).Body.(*schedule.Transfer)
	from, to = g.Node(t.From).Body.(*schedule.Buffer), g.Node(t.To).Body.(*schedule.Buffer)
	return from, to, t.Box(from)
}

// A misfit is why transfers are not what a collective says: what a member should get of another, and gets.
type misfit struct {
	r           route
	want, found string
}

func (t *traffic) misfit(r route, want, found string) *misfit { return &misfit{r, want, found} }

// fits says how transfers and kernels are not what a kind of collective is; nil if they are.
func (t *traffic) fits(does Does, kernels []ir.NodeID) *misfit {
	switch does {
	case Broadcast:
		return t.broadcast()
	case AllGather:
		return t.gather(t.tensor, nil)
	case AllToAll:
		return t.exchange()
	}
	terms, result, written := t.combined(kernels)
	if terms == nil {
		return &misfit{want: "a kernel on each member that combines a tensor of each", found: "kernels that do not"}
	}
	scattered := &traffic{g: t.g, group: t.group, boxes: map[route][]zspace.Range{}, into: t.into}
	gathered := &traffic{g: t.g, group: t.group, boxes: map[route][]zspace.Range{}, into: t.into}
	for r, boxes := range t.boxes {
		if r.tensor == result {
			gathered.boxes[r] = boxes
		} else {
			scattered.boxes[r] = boxes
		}
	}
	if m := scattered.scatter(terms, kernels); m != nil {
		return m
	}
	if does == ReduceScatter {
		return gathered.none()
	}
	return gathered.gather([]ir.NodeID{result}, written)
}

// none says that nothing is carried.
func (t *traffic) none() *misfit {
	for _, r := range t.routes() {
		return t.misfit(r, "nothing", text(t.boxes[r]))
	}
	return nil
}

// routes gives the routes in order.
func (t *traffic) routes() []route {
	var list []route
	for r := range t.boxes {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b route) int {
		return cmp.Or(cmp.Compare(a.tensor, b.tensor), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	return list
}

// broadcast: the first member sends all others the same.
func (t *traffic) broadcast() *misfit {
	if len(t.tensor) != 1 || len(t.group) < 3 {
		return &misfit{want: "one tensor, for two members besides the sender", found: fmt.Sprintf("%d, for %d", len(t.tensor), len(t.group)-1)}
	}
	first := t.boxes[route{t.tensor[0], 0, 1}]
	for to := 1; to < len(t.group); to++ {
		r := route{t.tensor[0], 0, to}
		if boxes := t.boxes[r]; len(boxes) == 0 || !same(boxes, first) {
			return t.misfit(r, text(first), text(boxes))
		}
	}
	for _, r := range t.routes() {
		if r.from != 0 {
			return t.misfit(r, "nothing", text(t.boxes[r]))
		}
	}
	return nil
}

// gather: each member sends all others the same, its part, which no other has; parts are given or follow from the transfers. Of two members
// each gets the other part into a buffer that has its own.
func (t *traffic) gather(tensors []ir.NodeID, parts []zspace.Range) *misfit {
	if len(tensors) != 1 {
		return &misfit{want: "one tensor", found: fmt.Sprint(len(tensors))}
	}
	var before []zspace.Range
	for from := range t.group {
		part := t.boxes[route{tensors[0], from, (from + 1) % len(t.group)}]
		if parts != nil {
			part = parts[from : from+1]
		}
		for to := range t.group {
			r := route{tensors[0], from, to}
			if boxes := t.boxes[r]; from != to && (len(boxes) == 0 || !same(boxes, part)) {
				return t.misfit(r, text(part), text(boxes))
			}
			for _, room := range t.into[route{tensors[0], to, from}] { // where this one gets the other part
				if len(t.group) == 2 && from != to && !within(part, room) {
					return t.misfit(route{tensors[0], to, from}, "a buffer with "+text(part)+", which it sends", room.String())
				}
			}
		}
		if meet(part, before) {
			return t.misfit(route{tensors[0], from, (from + 1) % len(t.group)}, "cells that no other member sends", text(part))
		}
		before = append(before, part...)
	}
	return nil
}

// exchange: each member sends each other what it sends nobody else.
func (t *traffic) exchange() *misfit {
	if len(t.tensor) != 1 {
		return &misfit{want: "one tensor", found: fmt.Sprint(len(t.tensor))}
	}
	for from := range t.group {
		var before []zspace.Range
		for to := range t.group {
			r := route{t.tensor[0], from, to}
			if boxes := t.boxes[r]; from != to && (len(boxes) == 0 || meet(boxes, before)) {
				return t.misfit(r, "cells that nobody else gets", text(boxes))
			}
			before = append(before, t.boxes[r]...)
		}
	}
	if t.gather(t.tensor, nil) == nil { // of two members
		return &misfit{want: "parts that members do not keep", found: "an all-gather"}
	}
	return nil
}

// scatter: each member has one of the tensors, and sends each other what its kernel reads of it.
func (t *traffic) scatter(terms, kernels []ir.NodeID) *misfit {
	for _, r := range t.routes() {
		if r.from != slices.Index(terms, r.tensor) {
			return t.misfit(r, "a tensor of the sender", t.g.Name(r.tensor))
		}
	}
	for from, tensor := range terms {
		for to := range t.group {
			r := route{tensor, from, to}
			need, ok := read(t.g, kernels[to], tensor)
			if !ok || from != to && !same(t.boxes[r], need) {
				return t.misfit(r, text(need), text(t.boxes[r]))
			}
		}
	}
	return nil
}

// combined gives the tensors that kernels combine, one of each member in their order, the tensor that they write, and the boxes of it; nil if they do not do that.
func (t *traffic) combined(kernels []ir.NodeID) (terms []ir.NodeID, result ir.NodeID, written []zspace.Range) {
	for i, id := range kernels {
		k := t.g.Node(id).Body.(*schedule.Kernel)
		list, _ := Combines(t.g, k)
		out, box, ok := writes(t.g, k)
		if !ok || len(kernels) != len(t.group) || len(list) != len(t.group) || k.Device != t.group[i] || i > 0 && (out != result || !slices.Equal(list, terms)) {
			return nil, ir.NoNode, nil
		}
		if meet([]zspace.Range{box}, written) {
			return nil, ir.NoNode, nil
		}
		terms, result, written = list, out, append(written, box)
	}
	return terms, result, written
}

// Combines gives the tensors that a kernel combines with one associative operator, in the order in which it does: the longest such list of operands, each of a tensor of its own.
func Combines(g *ir.Graph, k *schedule.Kernel) (terms []ir.NodeID, op scalar.Op) {
	for _, s := range k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if !associative(e.Op) {
				return true
			}
			var list []ir.NodeID
			for _, leaf := range leaves(e, e.Op, nil) {
				if leaf.Op == scalar.Load {
					list = append(list, g.Node(k.Operands[leaf.Ref].Buffer).Body.(*schedule.Buffer).Tensor)
				}
			}
			if distinct := slices.Compact(slices.Sorted(slices.Values(list))); len(distinct) == len(list) && len(list) > max(1, len(terms)) {
				terms, op = list, e.Op
			}
			return true
		})
	}
	return terms, op
}

func associative(op scalar.Op) bool {
	switch op {
	case scalar.Add, scalar.Mul, scalar.Max, scalar.Min, scalar.And, scalar.Or:
		return true
	}
	return false
}

// leaves gives what an operator combines in an expression, from the left.
func leaves(e *scalar.Expr, op scalar.Op, list []*scalar.Expr) []*scalar.Expr {
	if e.Op != op {
		return append(list, e)
	}
	for _, a := range e.Args {
		list = leaves(a, op, list)
	}
	return list
}

// writes gives the one tensor that a kernel writes, and the box of it that its buffer gets.
func writes(g *ir.Graph, k *schedule.Kernel) (tensor ir.NodeID, box zspace.Range, ok bool) {
	boxes, err := uses.Writes(k)
	if err != nil {
		return ir.NoNode, box, false
	}
	for i, o := range k.Operands {
		if o.Mode != schedule.Write {
			continue
		}
		if ok || len(boxes[i]) != 1 {
			return ir.NoNode, box, false
		}
		tensor, box, ok = g.Node(o.Buffer).Body.(*schedule.Buffer).Tensor, boxes[i][0], true
	}
	return tensor, box, ok
}

// read gives the boxes that a kernel reads of a tensor.
func read(g *ir.Graph, kernel, tensor ir.NodeID) (list []zspace.Range, ok bool) {
	k := g.Node(kernel).Body.(*schedule.Kernel)
	boxes, err := uses.Reads(k)
	if err != nil {
		return nil, false
	}
	for i, o := range k.Operands {
		if o.Mode == schedule.Read && g.Node(o.Buffer).Body.(*schedule.Buffer).Tensor == tensor {
			list = append(list, boxes[i]...)
		}
	}
	return list, len(list) > 0
}

// pieces bounds how many boxes a difference of boxes has.
const pieces = 1 << 12

// same says whether boxes hold the same cells.
func same(a, b []zspace.Range) bool { return covers(a, b) && covers(b, a) }

// covers says whether boxes hold all cells of others.
func covers(a, b []zspace.Range) bool {
	for _, x := range b {
		if rest, all := tiling.Subtract(x, a, pieces); !all || len(rest) > 0 {
			return false
		}
	}
	return true
}

// within says whether boxes are inside one.
func within(list []zspace.Range, room zspace.Range) bool {
	return !slices.ContainsFunc(list, func(x zspace.Range) bool { return !room.Contains(x) })
}

// meet says whether two lists of boxes have a cell in common.
func meet(a, b []zspace.Range) bool {
	return slices.ContainsFunc(a, func(x zspace.Range) bool { return slices.ContainsFunc(b, x.Overlaps) })
}

func text(list []zspace.Range) string {
	if len(list) == 0 {
		return "nothing"
	}
	s := list[0].String()
	if len(list) > 1 {
		s += fmt.Sprintf(" and %d more", len(list)-1)
	}
	return s
}
