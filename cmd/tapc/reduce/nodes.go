package reduce

import (
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/collective"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// oneIf lists one item if something holds of the graph.
func oneIf(holds func(ir.Body) bool) func(*ir.Graph) []item {
	return func(g *ir.Graph) []item {
		for n := range g.Nodes() {
			if holds(n.Body) {
				return []item{{}}
			}
		}
		return nil
	}
}

func hasSchedule(b ir.Body) bool {
	switch b.(type) {
	case *schedule.Device, *schedule.Buffer, *schedule.Kernel, *schedule.Transfer, *collective.Collective:
		return true
	}
	return false
}

func hasApplications(b ir.Body) bool {
	_, ok := b.(*application.Application)
	return ok
}

func dropSchedule(g *ir.Graph, _ []item) int { return dropIf(g, hasSchedule) }

func dropApplications(g *ir.Graph, _ []item) int {
	return dropIf(g, func(b ir.Body) bool { return hasApplications(b) || hasSchedule(b) })
}

func dropIf(g *ir.Graph, gone func(ir.Body) bool) int {
	n := 0
	for x := range g.Nodes() {
		if gone(x.Body) {
			g.Remove(x.ID)
			n++
		}
	}
	return n
}

// operations lists the operations, last ones first: nothing depends on them.
func operations(g *ir.Graph) []item {
	return collect(g, func(n *ir.Node) bool { return n.Body.Kind() == tensorops.OperationKind })
}

// nodes lists the nodes that are no operations, last ones first.
func nodes(g *ir.Graph) []item {
	return collect(g, func(n *ir.Node) bool { return n.Body.Kind() != tensorops.OperationKind })
}

func collect(g *ir.Graph, take func(*ir.Node) bool) []item {
	var out []item
	for n := range g.Nodes() {
		if take(n) {
			out = append(out, item{node: n.ID})
		}
	}
	slices.Reverse(out)
	return out
}

// dropNodes removes nodes, what can not be without them, and tensors, buffers and devices that nothing refers to any more.
func dropNodes(g *ir.Graph, items []item) int {
	users := make([][]ir.NodeID, g.Bound())
	for n := range g.Nodes() {
		for _, ref := range hardReferences(n) {
			if g.Node(ref) != nil {
				users[ref] = append(users[ref], n.ID)
			}
		}
	}
	gone := make([]bool, g.Bound())
	var work []ir.NodeID
	drop := func(id ir.NodeID) {
		if g.Node(id) != nil && !gone[id] {
			gone[id] = true
			work = append(work, id)
		}
	}
	for _, x := range items {
		drop(x.node)
	}
	for i := 0; i < len(work); i++ {
		for _, u := range users[work[i]] {
			drop(u)
		}
	}
	for id, list := range users {
		passive := len(list) > 0 && !slices.ContainsFunc(list, func(u ir.NodeID) bool { return !gone[u] })
		if n := g.Node(ir.NodeID(id)); n != nil && passive && isPassive(n.Body) {
			drop(n.ID)
		}
	}
	for _, id := range work {
		g.Remove(id)
	}
	for n := range g.Nodes() {
		n.Body.Fields(&soft{gone: gone})
	}
	return len(work)
}

func isPassive(b ir.Body) bool {
	switch b.(type) {
	case *tensorops.Tensor, *schedule.Buffer, *schedule.Device:
		return true
	}
	return false
}

// hardReferences gives the references that a node can not be without: all but those in lists.
func hardReferences(n *ir.Node) []ir.NodeID {
	h := &soft{}
	n.Body.Fields(h)
	return slices.DeleteFunc(ir.References(n.Body), func(id ir.NodeID) bool { return slices.Contains(h.seen, id) })
}

// soft visits the lists of references: it notes what is in them and takes out what is gone.
type soft struct {
	visitor
	gone []bool
	seen []ir.NodeID
}

func (s *soft) Refs(_ ir.Field, v *[]ir.NodeID) {
	s.seen = append(s.seen, *v...)
	if s.gone != nil {
		*v = slices.DeleteFunc(*v, func(id ir.NodeID) bool { return id >= 0 && int(id) < len(s.gone) && s.gone[id] })
	}
}

// visitor is an ir.Fields that leaves everything as it is. Lists are visited item by item only where they are overridden.
type visitor struct{}

func (visitor) Bool(ir.Field, *bool)                                {}
func (visitor) Int(ir.Field, *int64)                                {}
func (visitor) Ints(ir.Field, *[]int64)                             {}
func (visitor) String(ir.Field, *string)                            {}
func (visitor) Ref(ir.Field, *ir.NodeID)                            {}
func (visitor) Refs(ir.Field, *[]ir.NodeID)                         {}
func (visitor) Range(ir.Field, *zspace.Range)                       {}
func (visitor) Affine(ir.Field, *zspace.AffineMap)                  {}
func (visitor) Attrs(ir.Field, *ir.Attrs)                           {}
func (visitor) Ports(ir.Field, *ir.Ports)                           {}
func (visitor) PortMaps(ir.Field, *ir.PortMaps)                     {}
func (visitor) Fail(ir.Field, string, string)                       {}
func (visitor) List(ir.Field, int, func(int), func(int, ir.Fields)) {}

// sharded lists the operations with more than one application.
func sharded(g *ir.Graph) []item {
	apps := application.ByOperation(g)
	return collect(g, func(n *ir.Node) bool { return len(apps[n.ID]) > 1 })
}

// mergeShards gives operations one application that covers them.
func mergeShards(g *ir.Graph, items []item) int {
	apps := application.ByOperation(g)
	done := 0
	for _, x := range items {
		op := tensorops.OperationOf(g, x.node)
		if op == nil || len(apps[x.node]) < 2 {
			continue
		}
		done++
		list := apps[x.node]
		for _, id := range list[1:] {
			g.Remove(id)
		}
		n := g.Node(list[0])
		n.Body = &application.Application{Operation: x.node, Inputs: op.Inputs.Clone(), Outputs: op.Outputs.Clone()}
		if index := tensorops.IndexOf(g.Node(x.node)); index != nil && n.Tag(tensorops.IndexKind) != nil {
			n.SetTag(&tensorops.Index{Range: index.Range})
		}
	}
	return done
}
