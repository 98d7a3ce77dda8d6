// Package ir holds the graph that every stage of tapc works on: nodes with typed bodies and tags, edges by reference, and
// where each node came from.
//
// A Graph is a flat bag of nodes; a relation is a NodeID inside a body. Bodies and tags belong to dialects (package
// dialects/...), which describe their fields once for all the forms a graph is written in (ir/text, ir/loomjson, ir/wire).
// This package must not import any of those. Read next: dialects/tensorops.
package ir

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir/diag"
)

// NodeID is a node's dense number within its graph.
type NodeID int32

// NoNode is the reference that refers to nothing.
const NoNode NodeID = -1

// Pos is a place in the graph's source file. Line and Col count from 1; 0 is unknown. Doc is the node's number in the file,
// counted from 1.
type Pos struct {
	Line, Col, Doc int32
}

// Node is one node of a graph. A node belongs to one graph; its ID never changes. A reference that names no node of the
// file is kept in the graph's dangling list, so that it can be reported and written back.
type Node struct {
	ID     NodeID
	UUID   UUID
	HasID  bool // UUID was given; otherwise one is derived when a form needs it
	Label  string
	Body   Body
	Tags   []Body // sorted by kind URI, no kind twice
	Pos    Pos
	Origin *Origin
}

// Origin says which rewrite made a node, and from which places of the source.
type Origin struct {
	Rule string
	From []Pos
}

// Tag gives the node's tag of a kind, or nil.
func (n *Node) Tag(k *Kind) Body {
	for _, t := range n.Tags {
		if t.Kind() == k {
			return t
		}
	}
	return nil
}

// SetTag adds a tag or replaces the one of the same kind.
func (n *Node) SetTag(t Body) {
	i, found := slices.BinarySearchFunc(n.Tags, t.Kind().URI, func(a Body, uri string) int {
		return compareStrings(a.Kind().URI, uri)
	})
	tags := slices.Clone(n.Tags)
	if found {
		tags[i] = t
	} else {
		tags = slices.Insert(tags, i, t)
	}
	n.Tags = tags
}

// DropTag removes the tag of a kind, if there is one.
func (n *Node) DropTag(k *Kind) {
	n.Tags = slices.DeleteFunc(slices.Clone(n.Tags), func(t Body) bool { return t.Kind() == k })
}

func compareStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Graph is a bag of nodes in a fixed order. It is not safe for concurrent change.
type Graph struct {
	ID       UUID
	HasID    bool
	File     string // where it was read from, for messages
	nodes    []*Node
	live     int
	dangling []UUID // references to nodes that are not there, by NodeID -2, -3, …
	reserve  []Node // room for the next nodes
}

// nodeChunk is how many nodes are made at once in a large graph.
const nodeChunk = 64

// New makes an empty graph.
func New() *Graph { return &Graph{} }

// Add puts a new node with a body into the graph and returns it.
func (g *Graph) Add(body Body, label string) *Node {
	if len(g.reserve) == 0 {
		g.reserve = make([]Node, min(nodeChunk, len(g.nodes)+1))
	}
	n := &g.reserve[0]
	g.reserve = g.reserve[1:]
	n.ID, n.Body, n.Label = NodeID(len(g.nodes)), body, label
	g.nodes = append(g.nodes, n)
	g.live++
	return n
}

// Node gives the node with an id, or nil if there is none.
func (g *Graph) Node(id NodeID) *Node {
	if id < 0 || int(id) >= len(g.nodes) {
		return nil
	}
	return g.nodes[id]
}

// Remove takes a node out of the graph. References to it become dangling; the caller mends them.
func (g *Graph) Remove(id NodeID) {
	if g.Node(id) != nil {
		g.nodes[id] = nil
		g.live--
	}
}

// Skip leaves out the next n numbers: no node will have them, as if their nodes had been added and removed.
func (g *Graph) Skip(n int) { g.nodes = append(g.nodes, make([]*Node, n)...) }

// Len is the number of nodes.
func (g *Graph) Len() int { return g.live }

// Bound is one more than the largest NodeID, for tables indexed by NodeID.
func (g *Graph) Bound() int { return len(g.nodes) }

// Nodes runs over the nodes in order; nodes added meanwhile are not visited, removed ones are skipped.
func (g *Graph) Nodes() func(yield func(*Node) bool) {
	return func(yield func(*Node) bool) {
		for _, n := range g.nodes[:len(g.nodes):len(g.nodes)] {
			if n != nil && g.nodes[n.ID] == n && !yield(n) {
				return
			}
		}
	}
}

// Grow makes room for n more nodes.
func (g *Graph) Grow(n int) { g.nodes = slices.Grow(g.nodes, n) }

// AddDangling gives a reference to a node that the graph does not hold.
func (g *Graph) AddDangling(u UUID) NodeID {
	g.dangling = append(g.dangling, u)
	return NoNode - NodeID(len(g.dangling))
}

// Dangling gives the UUID behind a reference made by AddDangling.
func (g *Graph) Dangling(id NodeID) (UUID, bool) {
	i := int(NoNode-id) - 1
	if i < 0 || i >= len(g.dangling) {
		return UUID{}, false
	}
	return g.dangling[i], true
}

// UUIDOf gives a node's UUID: its own or, for a node made by tapc, one derived from the graph's id, the node's number and
// label. Derived ids are stable as long as the graph's id and order are.
func (g *Graph) UUIDOf(n *Node) UUID {
	if n.HasID {
		return n.UUID
	}
	return DeriveUUID(g.ID, n.Label, uint64(n.ID))
}

// GraphUUID gives the graph's id, or one derived from its nodes' number when it has none.
func (g *Graph) GraphUUID() UUID {
	if g.HasID {
		return g.ID
	}
	return DeriveUUID(UUID{}, "graph", uint64(g.live))
}

// Name gives a readable name of a node for messages: its label in quotes with its kind, or its number.
func (g *Graph) Name(id NodeID) string {
	n := g.Node(id)
	switch {
	case n == nil:
		if u, ok := g.Dangling(id); ok {
			return u.String()
		}
		return "nothing"
	case n.Label != "":
		return fmt.Sprintf("%s %q", n.Body.Kind().Keyword, clip(n.Label))
	case n.HasID:
		return fmt.Sprintf("%s %s", n.Body.Kind().Keyword, n.UUID)
	}
	return fmt.Sprintf("%s #%d", n.Body.Kind().Keyword, n.ID)
}

// At gives the place of a node in the user's file; field is the JSON pointer inside the node, such as
// "/body/inputs/tensors/0", or "".
func (g *Graph) At(n *Node, field string) diag.Location {
	at := diag.Location{File: g.File, Line: int(n.Pos.Line), Column: int(n.Pos.Col), Node: g.Name(n.ID)}
	if n.Pos.Doc > 0 {
		at.Pointer = fmt.Sprintf("/nodes/%d%s", n.Pos.Doc-1, field)
	}
	return at
}

// Clone copies the graph: nodes, labels and tags are new, bodies and tags are copied field by field.
func (g *Graph) Clone() *Graph {
	c := *g
	c.reserve = nil
	c.nodes = make([]*Node, len(g.nodes))
	c.dangling = slices.Clone(g.dangling)
	for i, n := range g.nodes {
		if n == nil {
			continue
		}
		m := *n
		m.Body = CloneBody(n.Body)
		m.Tags = make([]Body, len(n.Tags))
		for j, t := range n.Tags {
			m.Tags[j] = CloneBody(t)
		}
		c.nodes[i] = &m
	}
	return &c
}
