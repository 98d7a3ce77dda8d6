package text

import (
	"slices"

	"tensortapestry.org/tapc/ir"
)

// inReadingOrder says whether readingOrder would leave the graph's order as it is.
func inReadingOrder(g *ir.Graph) bool {
	var seen, read ir.NodeSet
	ordered := true
	need := ir.ReferenceFields(func(ref *ir.NodeID) {
		ordered = ordered && (seen.Has(*ref) || g.Node(*ref) == nil)
	})
	for n := range g.Nodes() {
		seen.Add(n.ID)
		visit(n, need)
		if body, ok := n.Body.(ir.Ported); ok {
			in, out := body.Ports()
			out.All(func(_, _ int, s *ir.Selection) { ordered = ordered && !read.Has(s.Tensor) })
			read.AddPorts(*in)
		}
		if !ordered {
			return false
		}
	}
	return true
}

// readingOrder sorts the nodes so that a reader meets a thing before its use: what a node refers to, and who produces its
// inputs, come before it; nodes on a cycle keep the graph's order among themselves. Otherwise the order is the graph's. It is
// the components of Tarjan's algorithm, which come out in this order; ordering the result again changes nothing. The time is
// linear: who reads a tensor needs one vertex that stands for "all who write it", rather than each of them.
func readingOrder(g *ir.Graph) []*ir.Node {
	t := &tarjan{g: g, bound: ir.NodeID(g.Bound()), producers: producersOf(g), order: make([]*ir.Node, 0, g.Len())}
	t.index, t.low = make([]int32, 2*t.bound), make([]int32, 2*t.bound)
	t.references = ir.ReferenceFields(func(ref *ir.NodeID) {
		if t.g.Node(*ref) != nil {
			t.need(*ref)
		}
	})
	for n := range g.Nodes() {
		if t.index[n.ID] == 0 {
			t.walk(n.ID)
		}
	}
	return t.order
}

// tarjan walks over the nodes, and over a vertex bound+t for each tensor t that needs the tensor's producers.
type tarjan struct {
	g         *ir.Graph
	bound     ir.NodeID
	producers producers
	index     []int32 // 0 before the visit; then the number of the visit, done when the component is out
	low       []int32
	visits    int32
	stack     []ir.NodeID
	frames    []frame
	needs     []ir.NodeID // of the nodes on frames, one after the other
	order     []*ir.Node
	of        ir.NodeID // whose needs are listed

	references ir.Fields // lists them
}

const done = 1<<31 - 1

// frame is a node whose needs are being visited: those from next on, up to the next frame's.
type frame struct {
	id         ir.NodeID
	base, next int
}

func (t *tarjan) walk(root ir.NodeID) {
	t.enter(root)
	for len(t.frames) > 0 {
		f := &t.frames[len(t.frames)-1]
		if f.next < len(t.needs) {
			need := t.needs[f.next]
			f.next++
			switch at := t.index[need]; {
			case at == 0:
				t.enter(need)
			case at != done:
				t.low[f.id] = min(t.low[f.id], at)
			}
			continue
		}
		id := f.id
		t.needs = t.needs[:f.base]
		t.frames = t.frames[:len(t.frames)-1]
		if len(t.frames) > 0 {
			parent := t.frames[len(t.frames)-1].id
			t.low[parent] = min(t.low[parent], t.low[id])
		}
		if t.low[id] == t.index[id] {
			t.emit(id)
		}
	}
}

func (t *tarjan) enter(id ir.NodeID) {
	t.visits++
	t.index[id], t.low[id] = t.visits, t.visits
	t.stack = append(t.stack, id)
	base := len(t.needs)
	t.addNeeds(id)
	t.frames = append(t.frames, frame{id, base, base})
}

// emit writes out the component that ends with id at the bottom.
func (t *tarjan) emit(id ir.NodeID) {
	from := len(t.stack) - 1
	for t.stack[from] != id {
		from--
	}
	component := t.stack[from:]
	if len(component) > 1 {
		slices.Sort(component)
	}
	for _, c := range component {
		t.index[c] = done
		if c < t.bound {
			t.order = append(t.order, t.g.Node(c))
		}
	}
	t.stack = t.stack[:from]
}

// addNeeds lists what comes before a node: the producers of its inputs, and what it refers to.
func (t *tarjan) addNeeds(id ir.NodeID) {
	t.of = id
	if id >= t.bound {
		for _, p := range t.producers.of(id - t.bound) {
			t.need(p)
		}
		return
	}
	n := t.g.Node(id)
	if p, ok := n.Body.(ir.Ported); ok {
		in, _ := p.Ports()
		for i := range in.Len() {
			for j := range in.At(i).Sel {
				if tensor := in.At(i).Sel[j].Tensor; t.g.Node(tensor) != nil {
					t.need(t.bound + tensor)
				}
			}
		}
	}
	visit(n, t.references)
}

func (t *tarjan) need(id ir.NodeID) {
	if id != t.of && t.index[id] != done {
		t.needs = append(t.needs, id)
	}
}

// producers lists, for each node, the nodes that have it among their outputs.
type producers struct {
	start []int32
	ids   []ir.NodeID
}

func (p *producers) of(id ir.NodeID) []ir.NodeID {
	if id < 0 || int(id)+1 >= len(p.start) {
		return nil
	}
	return p.ids[p.start[id]:p.start[id+1]]
}

func producersOf(g *ir.Graph) producers {
	p := producers{start: make([]int32, g.Bound()+1)}
	each := func(f func(tensor, producer ir.NodeID)) {
		for n := range g.Nodes() {
			if body, ok := n.Body.(ir.Ported); ok {
				_, out := body.Ports()
				out.All(func(_, _ int, s *ir.Selection) {
					if g.Node(s.Tensor) != nil {
						f(s.Tensor, n.ID)
					}
				})
			}
		}
	}
	each(func(tensor, _ ir.NodeID) { p.start[tensor+1]++ })
	for i := 1; i < len(p.start); i++ {
		p.start[i] += p.start[i-1]
	}
	p.ids = make([]ir.NodeID, p.start[len(p.start)-1])
	next := append([]int32(nil), p.start...)
	each(func(tensor, producer ir.NodeID) {
		p.ids[next[tensor]] = producer
		next[tensor]++
	})
	return p
}
