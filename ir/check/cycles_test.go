package check

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir"
)

// reach gives the least number of edges from each node to each other, at least one; 0 if there is no path.
func reach(adj [][]ir.NodeID) [][]int {
	n := len(adj)
	d := make([][]int, n)
	for i := range d {
		d[i] = make([]int, n)
		for _, j := range adj[i] {
			d[i][j] = 1
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				if d[i][k] > 0 && d[k][j] > 0 && (d[i][j] == 0 || d[i][k]+d[k][j] < d[i][j]) {
					d[i][j] = d[i][k] + d[k][j]
				}
			}
		}
	}
	return d
}

func drawGraph(t *rapid.T) [][]ir.NodeID {
	n := rapid.IntRange(1, 12).Draw(t, "n")
	adj := make([][]ir.NodeID, n)
	for range rapid.IntRange(0, 24).Draw(t, "edges") {
		i := rapid.IntRange(0, n-1).Draw(t, "from")
		adj[i] = append(adj[i], ir.NodeID(rapid.IntRange(0, n-1).Draw(t, "to")))
	}
	return adj
}

func TestCyclesAreShortestAndComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adj := drawGraph(t)
		d := reach(adj)
		found := map[int]bool{}
		for _, c := range Cycles(len(adj), func(id ir.NodeID) []ir.NodeID { return adj[id] }) {
			checkCycle(t, adj, d, c)
			for j := range adj {
				if at := int(c.Nodes[0]); j == at || d[at][j] > 0 && d[j][at] > 0 {
					if found[j] {
						t.Fatalf("two cycles for the component of %d", j)
					}
					found[j] = true
				}
			}
		}
		for i := range adj {
			if d[i][i] > 0 != found[i] {
				t.Fatalf("node %d: on a cycle %v, reported %v", i, d[i][i] > 0, found[i])
			}
		}
	})
}

// checkCycle checks that c is a closed path and that no cycle of its component is shorter.
func checkCycle(t *rapid.T, adj [][]ir.NodeID, d [][]int, c Cycle) {
	for i, id := range c.Nodes {
		if next := c.Nodes[(i+1)%len(c.Nodes)]; !slices.Contains(adj[id], next) {
			t.Fatalf("%v: no edge from %d to %d", c.Nodes, id, next)
		}
	}
	if !c.Shortest || slices.Min(c.Nodes) != c.Nodes[0] {
		t.Fatalf("%+v", c)
	}
	at := int(c.Nodes[0])
	for j := range adj {
		same := d[at][j] > 0 && d[j][at] > 0
		if same && d[j][j] < len(c.Nodes) {
			t.Fatalf("%v is not shortest: %d lies on one of %d", c.Nodes, j, d[j][j])
		}
	}
}

func TestCyclesOfLargeComponents(t *testing.T) {
	n := 300_000
	if testing.Short() {
		n = 30_000
	}
	start := time.Now()
	ring := Cycles(n, func(id ir.NodeID) []ir.NodeID { return []ir.NodeID{(id + 1) % ir.NodeID(n)} })
	if len(ring) != 1 || len(ring[0].Nodes) != n || !ring[0].Shortest {
		t.Errorf("a ring gives %d cycles", len(ring))
	}
	// Edges to the next node and to two far ones: dense in cycles, so the search runs out of budget but gives an answer.
	tangle := Cycles(n, func(id ir.NodeID) []ir.NodeID {
		m := ir.NodeID(n)
		return []ir.NodeID{(id + 1) % m, (id*7 + 3) % m, (id*31 + 11) % m}
	})
	if len(tangle) != 1 || len(tangle[0].Nodes) == 0 {
		t.Errorf("a tangle gives %d cycles", len(tangle))
	}
	t.Logf("%d nodes: %v, a cycle of %d", n, time.Since(start), len(tangle[0].Nodes))
}
