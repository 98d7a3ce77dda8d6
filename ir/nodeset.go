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

// Has says whether a node is in the set.
func (s *NodeSet) Has(id NodeID) bool { return id >= 0 && s.bits.Test(uint(id)) }
