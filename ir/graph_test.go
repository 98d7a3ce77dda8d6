package ir_test

import (
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
)

// TestNodesStay adds, skips and removes thousands of nodes: each is found by its number where it was added, in the graph and in its copy,
// and none in a gap.
func TestNodesStay(t *testing.T) {
	g := ir.New()
	added := map[ir.NodeID]*ir.Node{}
	for i := range 3000 {
		if i%700 == 699 {
			g.Skip(i)
		}
		n := g.Add(&tensorops.Note{}, "")
		added[n.ID] = n
	}
	for id := range ir.NodeID(g.Bound()) {
		if id%5 == 2 && added[id] != nil {
			g.Remove(id)
			g.Remove(id)
			delete(added, id)
		}
	}
	c := g.Clone()
	if g.Len() != len(added) || c.Len() != len(added) || c.Bound() != g.Bound() {
		t.Errorf("%d and %d nodes, expected %d", g.Len(), c.Len(), len(added))
	}
	for id := ir.NodeID(-3); int(id) < g.Bound()+3; id++ {
		if g.Node(id) != added[id] {
			t.Fatalf("node %d is another", id)
		}
		if n := c.Node(id); (n == nil) != (added[id] == nil) || n != nil && (n == added[id] || n.ID != id) {
			t.Fatalf("node %d of the copy is another", id)
		}
	}
	last := ir.NodeID(-1)
	for n := range g.Nodes() {
		if n != added[n.ID] || n.ID <= last {
			t.Fatalf("node %d comes after %d", n.ID, last)
		}
		delete(added, n.ID)
		last = n.ID
	}
	if len(added) > 0 {
		t.Errorf("%d nodes are not visited", len(added))
	}
	c.Remove(0)
	if n := c.Add(&tensorops.Note{}, ""); n.ID != ir.NodeID(g.Bound()) || g.Node(0) == nil || g.Node(n.ID) != nil {
		t.Error("a change of a copy is one of the graph")
	}
}
