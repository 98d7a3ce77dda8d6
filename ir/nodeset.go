package ir

import "github.com/bits-and-blooms/bitset"

// NodeSet is a set of nodes of one graph, with a bit for every number up to the greatest in it. It is for what is gathered about a graph as a
// whole; where each of many nodes has a set of a few others, a map is smaller. The zero value is empty. NoNode is in no set.
type NodeSet struct{ bits bitset.BitSet }

// Add adds a node, and says whether it is new.
func (s *NodeSet) Add(id NodeID) bool {
	if id < 0 || s.bits.Test(uint(id)) {
		return false
	}
	s.bits.Set(uint(id))
	return true
}

// AddPorts adds the nodes that ports select.
func (s *NodeSet) AddPorts(ports Ports) {
	ports.All(func(_, _ int, sel *Selection) { s.Add(sel.Tensor) })
}

// Remove takes a node away, if it is there.
func (s *NodeSet) Remove(id NodeID) {
	if id >= 0 {
		s.bits.Clear(uint(id))
	}
}

// Len is the number of nodes in the set.
func (s *NodeSet) Len() int { return int(s.bits.Count()) }

// All gives the nodes of the set in the order of their numbers.
func (s *NodeSet) All(yield func(NodeID) bool) {
	for i := range s.bits.EachSet() {
		if !yield(NodeID(i)) {
			return
		}
	}
}

// Has says whether a node is in the set.
func (s *NodeSet) Has(id NodeID) bool { return id >= 0 && s.bits.Test(uint(id)) }

// NodeList is a set of a few nodes in the order in which they came. The zero value is empty.
type NodeList struct {
	list []NodeID
	in   map[NodeID]bool
}

// Add adds a node, and says whether it is new.
func (l *NodeList) Add(id NodeID) bool {
	if l.in[id] {
		return false
	}
	if l.in == nil {
		l.in = map[NodeID]bool{}
	}
	l.in[id] = true
	l.list = append(l.list, id)
	return true
}

// List gives the nodes. The caller does not change it.
func (l *NodeList) List() []NodeID { return l.list }
