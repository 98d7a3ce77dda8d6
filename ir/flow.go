package ir

// Ported is a body with inputs and outputs: an operation or one shard of it.
type Ported interface {
	Body
	// Ports gives the body's own input and output ports, to read or to change in place.
	Ports() (in, out *Ports)
}

// Flow is an index of who produces and who consumes each node, built once for a graph and true until the graph changes.
type Flow struct {
	Ops       []NodeID // the ported nodes of the kind, in graph order
	consumers csr
	producers csr
}

// csr holds a list of nodes for each NodeID in two flat slices.
type csr struct {
	start []int32
	ids   []NodeID
}

func (c *csr) of(id NodeID) []NodeID {
	if id < 0 || int(id)+1 >= len(c.start) {
		return nil
	}
	return c.ids[c.start[id]:c.start[id+1]]
}

// NewFlow indexes the ported nodes of one kind. Entries of empty ranges count; a node that selects a tensor twice is listed
// once for it.
func NewFlow(g *Graph, kind *Kind) *Flow {
	f := &Flow{}
	for n := range g.Nodes() {
		if _, ok := n.Body.(Ported); ok && n.Body.Kind() == kind {
			f.Ops = append(f.Ops, n.ID)
		}
	}
	f.consumers = invert(g, f.Ops, func(p Ported) *Ports { in, _ := p.Ports(); return in })
	f.producers = invert(g, f.Ops, func(p Ported) *Ports { _, out := p.Ports(); return out })
	return f
}

func invert(g *Graph, ops []NodeID, side func(Ported) *Ports) csr {
	c := csr{start: make([]int32, g.Bound()+1)}
	last := make([]NodeID, g.Bound())
	for i := range last {
		last[i] = NoNode
	}
	each := func(f func(tensor, op NodeID)) {
		for _, op := range ops {
			side(g.Node(op).Body.(Ported)).All(func(_, _ int, s *Selection) {
				if t := s.Tensor; t >= 0 && int(t) < len(last) && last[t] != op {
					last[t] = op
					f(t, op)
				}
			})
		}
	}
	each(func(t, _ NodeID) { c.start[t+1]++ })
	for i := 1; i < len(c.start); i++ {
		c.start[i] += c.start[i-1]
	}
	c.ids = make([]NodeID, c.start[len(c.start)-1])
	next := append([]int32(nil), c.start...)
	for i := range last {
		last[i] = NoNode
	}
	each(func(t, op NodeID) {
		c.ids[next[t]] = op
		next[t]++
	})
	return c
}

// Producers gives the nodes with the tensor among their outputs, in graph order.
func (f *Flow) Producers(tensor NodeID) []NodeID { return f.producers.of(tensor) }

// Consumers gives the nodes with the tensor among their inputs, in graph order.
func (f *Flow) Consumers(tensor NodeID) []NodeID { return f.consumers.of(tensor) }

// Order sorts the indexed nodes so that producers come before consumers; among the ready ones the earliest in the graph comes
// first. Nodes on a cycle, or behind one, are left out: the result is then shorter than Ops.
func (f *Flow) Order(g *Graph) []NodeID {
	wait := make([]int32, g.Bound())
	for _, op := range f.Ops {
		in, _ := g.Node(op).Body.(Ported).Ports()
		f.sources(in, func(NodeID) { wait[op]++ })
	}
	var ready idHeap
	for _, op := range f.Ops {
		if wait[op] == 0 {
			ready.push(op)
		}
	}
	order := make([]NodeID, 0, len(f.Ops))
	for len(ready) > 0 {
		op := ready.pop()
		order = append(order, op)
		_, out := g.Node(op).Body.(Ported).Ports()
		seen := map[NodeID]bool{}
		out.All(func(_, _ int, s *Selection) {
			if seen[s.Tensor] {
				return
			}
			seen[s.Tensor] = true
			for _, c := range f.Consumers(s.Tensor) {
				if wait[c]--; wait[c] == 0 {
					ready.push(c)
				}
			}
		})
	}
	return order
}

// sources calls f for every edge from a producer into the given ports, an edge for each different tensor and producer.
func (f *Flow) sources(in *Ports, visit func(producer NodeID)) {
	seen := map[NodeID]bool{}
	in.All(func(_, _ int, s *Selection) {
		if seen[s.Tensor] {
			return
		}
		seen[s.Tensor] = true
		for _, p := range f.Producers(s.Tensor) {
			visit(p)
		}
	})
}

// idHeap is a min-heap of node ids.
type idHeap []NodeID

func (h *idHeap) push(id NodeID) {
	*h = append(*h, id)
	s := *h
	for i := len(s) - 1; i > 0 && s[i] < s[(i-1)/2]; i = (i - 1) / 2 {
		s[i], s[(i-1)/2] = s[(i-1)/2], s[i]
	}
}

func (h *idHeap) pop() NodeID {
	s := *h
	top := s[0]
	s[0] = s[len(s)-1]
	s = s[:len(s)-1]
	for i := 0; ; {
		c := 2*i + 1
		if c+1 < len(s) && s[c+1] < s[c] {
			c++
		}
		if c >= len(s) || s[i] <= s[c] {
			break
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
	*h = s
	return top
}
