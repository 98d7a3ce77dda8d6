package reduce

import (
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// ports lists what can be taken out of the ports of operations: whole ports and single selections of ports with several. An
// item's numbers are side (0 inputs, 1 outputs), port and entry, -1 for the whole port.
func ports(g *ir.Graph) []item {
	var out []item
	for n := range g.Nodes() {
		op, ok := n.Body.(*tensorops.Operation)
		if !ok {
			continue
		}
		for side, list := range []ir.Ports{op.Inputs, op.Outputs} {
			for i := list.Len() - 1; i >= 0; i-- {
				out = append(out, item{n.ID, side, i, -1})
				for j := len(list.At(i).Sel) - 1; j >= 0 && len(list.At(i).Sel) > 1; j-- {
					out = append(out, item{n.ID, side, i, j})
				}
			}
		}
	}
	return out
}

// dropPorts takes ports and selections out of operations, their applications and their signatures. Within a node, items come
// with falling numbers, so that those to come stay right.
func dropPorts(g *ir.Graph, items []item) int {
	apps := application.ByOperation(g)
	done := 0
	for _, x := range items {
		op := tensorops.OperationOf(g, x.node)
		if op == nil || !dropFace(g, op, x) && !dropPort(op, x) {
			continue
		}
		done++
		for _, id := range apps[x.node] {
			dropPort(application.ApplicationOf(g, id), x)
		}
		if s := tensorops.SignatureOf(g.Node(x.node)); s != nil {
			dropMap(s, x)
		}
	}
	return done
}

// dropFace takes a tensor, with its name, out of an operation that states the interface.
func dropFace(g *ir.Graph, op *tensorops.Operation, x item) bool {
	if !op.StatesInterface() || x.c < 0 {
		return false
	}
	done := false
	err := tensorops.ChangeInterface(g, x.node, func(list []tensorops.Named) []tensorops.Named {
		if done = x.c < len(list); !done {
			return list
		}
		return slices.Delete(list, x.c, x.c+1)
	})
	return done && err == nil
}

func dropPort(b ir.Ported, x item) bool {
	in, out := b.Ports()
	list := in
	if x.a == 1 {
		list = out
	}
	switch {
	case x.b >= list.Len():
		return false
	case x.c < 0:
		*list = ir.PortsOf(slices.Delete(list.List(), x.b, x.b+1))
	case x.c >= len(list.At(x.b).Sel) || len(list.At(x.b).Sel) < 2:
		return false
	default:
		sel := list.At(x.b).Sel
		list.SetSel(x.b, slices.Concat(sel[:x.c], sel[x.c+1:])...)
	}
	return true
}

func dropMap(s *tensorops.Signature, x item) {
	list := &s.Inputs
	if x.a == 1 {
		list = &s.Outputs
	}
	switch {
	case x.b >= len(*list):
	case x.c < 0:
		*list = slices.Delete(slices.Clone(*list), x.b, x.b+1)
	case x.c < len((*list)[x.b].Maps):
		*list = slices.Clone(*list)
		p := &(*list)[x.b]
		p.Maps = slices.Delete(slices.Clone(p.Maps), x.c, x.c+1)
	}
}

// tags lists the tags; an item's number is the tag's, counted from the end so that it stays right.
func tags(g *ir.Graph) []item {
	var out []item
	for n := range g.Nodes() {
		for i := len(n.Tags()) - 1; i >= 0; i-- {
			out = append(out, item{node: n.ID, a: i})
		}
	}
	return out
}

func dropTags(g *ir.Graph, items []item) int {
	done := 0
	for _, x := range items {
		if n := g.Node(x.node); n != nil && x.a < len(n.Tags()) {
			n.DropTag(n.Tags()[x.a].Kind())
			done++
		}
	}
	return done
}

// parameters lists the parameters of operations.
func parameters(g *ir.Graph) []item {
	var out []item
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok {
			for i := len(op.Params) - 1; i >= 0; i-- {
				out = append(out, item{node: n.ID, a: i})
			}
		}
	}
	return out
}

func dropParameters(g *ir.Graph, items []item) int {
	done := 0
	for _, x := range items {
		if op := tensorops.OperationOf(g, x.node); op != nil && x.a < len(op.Params) {
			op.Params = op.Params.Without(op.Params[x.a].Name)
			done++
		}
	}
	return done
}

// labels lists the nodes with a label.
func labels(g *ir.Graph) []item { return collect(g, func(n *ir.Node) bool { return n.Label != "" }) }

func dropLabels(g *ir.Graph, items []item) int {
	done := 0
	for _, x := range items {
		if n := g.Node(x.node); n != nil && n.Label != "" {
			n.Label = ""
			done++
		}
	}
	return done
}

// extents lists, for each length of a dimension in the graph, the shorter ones to try: an item's numbers are old and new.
// Dimensions that must agree have the same length, so all of a length are changed together, in ranges and projections.
func extents(g *ir.Graph) []item {
	l := &lengths{}
	for n := range g.Nodes() {
		visitRanges(n, l)
	}
	slices.Sort(l.seen)
	l.seen = slices.Compact(l.seen)
	slices.Reverse(l.seen)
	var out []item
	for _, v := range l.seen {
		last := int64(0)
		for _, w := range []int64{1, 2, v / 2, v - 1} {
			if w > last && w < v {
				out = append(out, item{a: int(v), b: int(w)})
				last = w
			}
		}
	}
	return out
}

// shorten changes lengths; of several items for one length the first counts.
func shorten(g *ir.Graph, items []item) int {
	l := &lengths{to: map[int64]int64{}}
	for _, x := range items {
		if _, ok := l.to[int64(x.a)]; !ok {
			l.to[int64(x.a)] = int64(x.b)
		}
	}
	for n := range g.Nodes() {
		n.Own()
		visitRanges(n, l)
	}
	return l.changed
}

func visitRanges(n *ir.Node, l *lengths) {
	n.Body.Fields(l)
	for _, t := range n.Tags() {
		t.Fields(l)
	}
}

// lengths visits the lengths of dimensions: it notes those beyond 1 and replaces those in its table.
type lengths struct {
	visitor
	seen    []int64
	to      map[int64]int64
	changed int
}

func (l *lengths) Range(_ ir.Field, r *zspace.Range) { *r = l.shortened(*r) }

func (l *lengths) Ports(_ ir.Field, p *ir.Ports) {
	p.All(func(_, _ int, s *ir.Selection) { s.SetRange(l.shortened(s.Range())) })
}

func (l *lengths) PortMaps(_ ir.Field, p *ir.PortMaps) {
	if l.to == nil {
		return
	}
	out := slices.Clone(*p)
	for i := range out {
		out[i].Maps = slices.Clone(out[i].Maps)
		for j := range out[i].Maps {
			shape := slices.Clone(out[i].Maps[j].Shape)
			for k, v := range shape {
				if w, ok := l.to[v]; ok {
					shape[k] = w
				}
			}
			out[i].Maps[j].Shape = shape
		}
	}
	*p = out
}

func (l *lengths) shortened(r zspace.Range) zspace.Range {
	if r.Validate() != nil {
		return r
	}
	end := slices.Clone(r.End)
	for i, start := range r.Start {
		v := r.End[i] - start
		if v > 1 {
			l.seen = append(l.seen, v)
		}
		if w, ok := l.to[v]; ok {
			end[i] = start + w
			l.changed++
		}
	}
	return zspace.Range{Start: r.Start, End: end}
}
