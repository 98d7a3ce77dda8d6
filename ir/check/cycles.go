package check

import (
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir"
)

// Cycle is a closed path of a directed graph over node ids.
type Cycle struct {
	Nodes    []ir.NodeID // each leads to the next and the last to the first; begins at the least id
	Shortest bool        // no cycle of its strongly connected component is shorter
}

// searchBudget bounds how many edges the search for shorter cycles visits over the whole graph; one cycle for each component
// is found within linear time whatever the budget.
const searchBudget = 20_000_000

// Cycles gives one cycle for every strongly connected component that has one, a shortest one if the search stays within its
// budget, in the order of the least ids. Nodes are numbered from 0 to n-1; next gives the successors of a node, in a slice
// that is good until the next call. It takes time linear in the edges for a graph without cycles.
func Cycles(n int, next func(ir.NodeID) []ir.NodeID) []Cycle {
	comp := components(n, next)
	s := &cycleSearch{next: next, comp: comp.of, dist: make([]int32, n), from: make([]ir.NodeID, n), gone: make([]bool, n),
		budget: searchBudget}
	var out []Cycle
	for _, members := range comp.cyclic {
		out = append(out, s.shortest(members))
	}
	slices.SortFunc(out, func(a, b Cycle) int { return int(a.Nodes[0] - b.Nodes[0]) })
	return out
}

// scc holds the strongly connected components: a number for each node, and the members (ascending) of those with a cycle.
type scc struct {
	of     []int32
	cyclic [][]ir.NodeID
}

// frame is a node whose successors are being visited.
type frame struct {
	id   ir.NodeID
	out  []ir.NodeID
	loop bool // the node is its own successor
}

// sccSearch is Tarjan's algorithm with a stack of its own: R. Tarjan, "Depth-first search and linear graph algorithms", SIAM
// Journal on Computing 1 (1972).
type sccSearch struct {
	scc
	next   func(ir.NodeID) []ir.NodeID
	index  []int32 // order of discovery, from 1
	low    []int32
	stack  []ir.NodeID
	frames []frame
	found  int32
	comps  int32
}

func components(n int, next func(ir.NodeID) []ir.NodeID) scc {
	s := &sccSearch{scc: scc{of: make([]int32, n)}, next: next, index: make([]int32, n), low: make([]int32, n)}
	for i := range s.of {
		s.of[i] = -1
	}
	for id := range n {
		if s.index[id] == 0 {
			s.enter(ir.NodeID(id))
			s.walk()
		}
	}
	return s.scc
}

func (s *sccSearch) enter(id ir.NodeID) {
	s.found++
	s.index[id], s.low[id] = s.found, s.found
	s.stack = append(s.stack, id)
	out := slices.Clone(s.next(id))
	s.frames = append(s.frames, frame{id: id, out: out, loop: slices.Contains(out, id)})
}

func (s *sccSearch) walk() {
	for len(s.frames) > 0 {
		f := &s.frames[len(s.frames)-1]
		if len(f.out) == 0 {
			s.leave(*f)
			continue
		}
		to := f.out[0]
		f.out = f.out[1:]
		switch {
		case s.index[to] == 0:
			s.enter(to)
		case s.of[to] < 0:
			s.low[f.id] = min(s.low[f.id], s.index[to])
		}
	}
}

func (s *sccSearch) leave(f frame) {
	s.frames = s.frames[:len(s.frames)-1]
	if len(s.frames) > 0 {
		up := s.frames[len(s.frames)-1].id
		s.low[up] = min(s.low[up], s.low[f.id])
	}
	if s.low[f.id] != s.index[f.id] {
		return
	}
	at := len(s.stack) - 1
	for s.stack[at] != f.id {
		at--
	}
	members := s.stack[at:]
	for _, m := range members {
		s.of[m] = s.comps
	}
	if len(members) > 1 || f.loop {
		sorted := slices.Clone(members)
		slices.Sort(sorted)
		s.cyclic = append(s.cyclic, sorted)
	}
	s.comps++
	s.stack = s.stack[:at]
}

// cycleSearch looks for shortest cycles by breadth-first search from each node of a component in turn. A node that was
// searched from is taken away, and with it the nodes that then lie on no cycle at one of their ends.
type cycleSearch struct {
	next   func(ir.NodeID) []ir.NodeID
	comp   []int32
	dist   []int32 // 0: not reached in this search
	from   []ir.NodeID
	gone   []bool
	queue  []ir.NodeID
	budget int
}

func (s *cycleSearch) shortest(members []ir.NodeID) Cycle {
	var best []ir.NodeID
	shortest := true
	peel := newPeeling(s, members)
	for _, m := range members {
		if s.gone[m] {
			continue
		}
		if best != nil && s.budget <= 0 {
			shortest = false
			break
		}
		if c := s.search(m, len(best)); c != nil {
			best = c
		}
		peel.remove(m)
	}
	at := 0
	for i, id := range best {
		if id < best[at] {
			at = i
		}
	}
	return Cycle{slices.Concat(best[at:], best[:at]), shortest}
}

// search gives the shortest cycle through start if it is shorter than limit (0 is no limit), or nil.
func (s *cycleSearch) search(start ir.NodeID, limit int) []ir.NodeID {
	s.queue = append(s.queue[:0], start)
	s.dist[start] = 1
	var last ir.NodeID = ir.NoNode
	for i := 0; i < len(s.queue) && last == ir.NoNode; i++ {
		id := s.queue[i]
		if limit > 0 && int(s.dist[id]) >= limit {
			break
		}
		for _, to := range s.next(id) {
			s.budget--
			if to == start {
				last = id
				break
			}
			if s.comp[to] == s.comp[start] && !s.gone[to] && s.dist[to] == 0 {
				s.dist[to], s.from[to] = s.dist[id]+1, id
				s.queue = append(s.queue, to)
			}
		}
	}
	var cycle []ir.NodeID
	if last != ir.NoNode {
		for id := last; id != start; id = s.from[id] {
			cycle = append(cycle, id)
		}
		cycle = append(cycle, start)
		slices.Reverse(cycle)
	}
	for _, id := range s.queue {
		s.dist[id] = 0
	}
	return cycle
}

// peeling keeps how many edges lead into and out of each node of a component, among the nodes that are not gone.
type peeling struct {
	s       *cycleSearch
	at      map[ir.NodeID]int
	members []ir.NodeID
	in, out []int32
	preds   [][]ir.NodeID
}

func newPeeling(s *cycleSearch, members []ir.NodeID) *peeling {
	p := &peeling{s: s, at: make(map[ir.NodeID]int, len(members)), members: members, in: make([]int32, len(members)),
		out: make([]int32, len(members)), preds: make([][]ir.NodeID, len(members))}
	for i, m := range members {
		p.at[m] = i
	}
	for i, m := range members {
		for _, to := range s.next(m) {
			if j, ok := p.at[to]; ok {
				p.out[i]++
				p.in[j]++
				p.preds[j] = append(p.preds[j], m)
			}
		}
	}
	return p
}

// remove takes a node away and, over and over, those that nothing leads to or that lead to nothing.
func (p *peeling) remove(id ir.NodeID) {
	work := []ir.NodeID{id}
	p.s.gone[id] = true
	drop := func(other ir.NodeID, count []int32) {
		j := p.at[other]
		if count[j]--; count[j] == 0 && !p.s.gone[other] {
			p.s.gone[other] = true
			work = append(work, other)
		}
	}
	for len(work) > 0 {
		m := work[len(work)-1]
		work = work[:len(work)-1]
		for _, to := range p.s.next(m) {
			if _, ok := p.at[to]; ok {
				drop(to, p.in)
			}
		}
		for _, from := range p.preds[p.at[m]] {
			drop(from, p.out)
		}
	}
}

// MaxShown bounds how many nodes of a cycle are named.
const MaxShown = 12

// CycleText names the nodes of a cycle, the first of them again behind the last.
func CycleText(g *ir.Graph, nodes []ir.NodeID) string {
	var names []string
	for _, id := range nodes[:min(len(nodes), MaxShown)] {
		names = append(names, g.Name(id))
	}
	if len(nodes) > MaxShown {
		names = append(names, "…")
	}
	return strings.Join(append(names, g.Name(nodes[0])), " -> ")
}
