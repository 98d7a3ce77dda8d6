// Package ir holds the graph that every stage of tapc works on: nodes with typed bodies and tags, edges by reference, and
// where each node came from.
//
// A Graph is a flat bag of nodes; a relation is a NodeID inside a body. Bodies and tags belong to dialects (package
// dialects/...), which describe their fields once for all the forms a graph is written in (ir/text, ir/loomjson, ir/wire).
// This package must not import any of those. Read next: dialects/tensorops.
package ir

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/bits-and-blooms/bitset"

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
//
// What few nodes have is kept aside, so that large graphs stay small: see UUID, Tags and Origin.
type Node struct {
	ID    NodeID
	Pos   Pos
	Label string
	Body  Body
	aside *aside
}

// aside is what only some nodes have.
type aside struct {
	uuid   UUID
	hasID  bool
	tags   []Body
	origin *Origin
}

// UUID gives the id that the node was given; without one, a form that needs it takes Graph.UUIDOf.
func (n *Node) UUID() (id UUID, given bool) {
	if n.aside == nil {
		return UUID{}, false
	}
	return n.aside.uuid, n.aside.hasID
}

// Own gives the node's body to who changes it in place: a body that other nodes may have too is copied first.
func (n *Node) Own() Body {
	if _, shared := n.Body.(Shared); shared {
		n.Body = CloneBody(n.Body)
	}
	return n.Body
}

// SetUUID gives the node an id.
func (n *Node) SetUUID(id UUID) {
	n.more().uuid, n.aside.hasID = id, true
}

// Tags gives the node's tags, sorted by kind URI, no kind twice. The caller does not change the list.
func (n *Node) Tags() []Body {
	if n.aside == nil {
		return nil
	}
	return n.aside.tags
}

// SetTags replaces all tags by a list that is sorted by kind URI, no kind twice.
func (n *Node) SetTags(tags []Body) {
	if n.aside != nil || len(tags) > 0 {
		n.more().tags = tags
	}
}

// Origin says where a node that a rewrite made came from; it is nil for a node that was read.
func (n *Node) Origin() *Origin {
	if n.aside == nil {
		return nil
	}
	return n.aside.origin
}

// SetOrigin says where the node came from.
func (n *Node) SetOrigin(o *Origin) {
	if n.aside != nil || o != nil {
		n.more().origin = o
	}
}

func (n *Node) more() *aside {
	if n.aside == nil {
		n.aside = &aside{}
	}
	return n.aside
}

// Origin says which rewrite made a node, and from which places of the source.
type Origin struct {
	Rule string
	From []Pos
}

// Tag gives the node's tag of a kind, or nil.
func (n *Node) Tag(k *Kind) Body {
	for _, t := range n.Tags() {
		if t.Kind() == k {
			return t
		}
	}
	return nil
}

// SetTag adds a tag or replaces the one of the same kind.
func (n *Node) SetTag(t Body) {
	i, found := slices.BinarySearchFunc(n.Tags(), t.Kind().URI, func(a Body, uri string) int {
		return strings.Compare(a.Kind().URI, uri)
	})
	tags := slices.Clone(n.Tags())
	if found {
		tags[i] = t
	} else {
		tags = slices.Insert(tags, i, t)
	}
	n.SetTags(tags)
}

// DropTag removes the tag of a kind, if there is one.
func (n *Node) DropTag(k *Kind) {
	n.SetTags(slices.DeleteFunc(slices.Clone(n.Tags()), func(t Body) bool { return t.Kind() == k }))
}

// Graph is a bag of nodes in a fixed order. It is not safe for concurrent change.
type Graph struct {
	ID       UUID
	HasID    bool
	File     string // where it was read from, for messages
	chunks   [][]Node
	bound    int
	gone     bitset.BitSet // numbers without a node
	live     int
	dangling []UUID // references to nodes that are not there, by NodeID -2, -3, …
}

// Nodes are in chunks that never move: the first has firstChunk numbers, each further one as many as all before it have, up to nodeChunk.
const (
	chunkBits  = 9
	nodeChunk  = 1 << chunkBits
	firstBits  = 2
	firstChunk = 1 << firstBits
)

// place gives the chunk of a number, and the place in it.
func place(id NodeID) (chunk, at int) {
	switch {
	case id >= nodeChunk:
		return chunkBits - firstBits + int(id>>chunkBits), int(id & (nodeChunk - 1))
	case id >= firstChunk:
		order := bits.Len32(uint32(id))
		return order - firstBits, int(id) - 1<<(order-1)
	}
	return 0, int(id)
}

// chunkLength is how many numbers a chunk has.
func chunkLength(chunk int) int { return firstChunk << min(max(0, chunk-1), chunkBits-firstBits) }

// New makes an empty graph.
func New() *Graph { return &Graph{} }

// Add puts a new node with a body into the graph and returns it.
func (g *Graph) Add(body Body, label string) *Node {
	id := NodeID(g.bound)
	chunk, at := place(id)
	for chunk >= len(g.chunks) {
		g.chunks = append(g.chunks, nil)
	}
	if g.chunks[chunk] == nil {
		g.chunks[chunk] = make([]Node, chunkLength(chunk))
	}
	n := &g.chunks[chunk][at]
	n.ID, n.Body, n.Label = id, body, label
	g.bound++
	g.live++
	return n
}

// Adopt puts a node that was made outside of the graph into it and returns the graph's own; the other is not used again.
func (g *Graph) Adopt(n Node) *Node {
	added := g.Add(n.Body, n.Label)
	n.ID = added.ID
	*added = n
	return added
}

// Node gives the node with an id, or nil if there is none.
func (g *Graph) Node(id NodeID) *Node {
	if id < 0 || int(id) >= g.bound || g.live < g.bound && g.gone.Test(uint(id)) {
		return nil
	}
	chunk, at := place(id)
	return &g.chunks[chunk][at]
}

// Remove takes a node out of the graph. References to it become dangling; the caller mends them.
func (g *Graph) Remove(id NodeID) {
	if g.Node(id) != nil {
		g.gone.Set(uint(id))
		g.live--
	}
}

// Skip leaves out the next n numbers: no node will have them, as if their nodes had been added and removed.
func (g *Graph) Skip(n int) {
	for range n {
		g.gone.Set(uint(g.bound))
		g.bound++
	}
	if n > 0 {
		for chunk, _ := place(NodeID(g.bound - 1)); chunk >= len(g.chunks); {
			g.chunks = append(g.chunks, nil)
		}
	}
}

// Len is the number of nodes.
func (g *Graph) Len() int { return g.live }

// Bound is one more than the largest NodeID, for tables indexed by NodeID.
func (g *Graph) Bound() int { return g.bound }

// Nodes runs over the nodes in order; nodes added meanwhile are not visited, removed ones are skipped.
func (g *Graph) Nodes() func(yield func(*Node) bool) {
	return func(yield func(*Node) bool) {
		for id := range NodeID(g.bound) {
			if n := g.Node(id); n != nil && !yield(n) {
				return
			}
		}
	}
}

// Grow makes room for n more nodes.
func (g *Graph) Grow(n int) {
	chunk, _ := place(NodeID(g.bound + n))
	g.chunks = slices.Grow(g.chunks, chunk+1-len(g.chunks))
}

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
	if id, given := n.UUID(); given {
		return id
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
	if n == nil {
		if u, ok := g.Dangling(id); ok {
			return u.String()
		}
		return "nothing"
	}
	if n.Label != "" {
		return fmt.Sprintf("%s %q", n.Body.Kind().Keyword, clip(n.Label))
	}
	if u, given := n.UUID(); given {
		return fmt.Sprintf("%s %s", n.Body.Kind().Keyword, u)
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

// Clone copies the graph: nodes and labels are new, bodies and tags are copied field by field, but for those that are Shared.
func (g *Graph) Clone() *Graph {
	c := *g
	c.chunks = make([][]Node, len(g.chunks))
	c.gone = *g.gone.Clone()
	c.dangling = slices.Clone(g.dangling)
	var bodies copier
	for n := range g.Nodes() {
		chunk, at := place(n.ID)
		if c.chunks[chunk] == nil {
			c.chunks[chunk] = make([]Node, chunkLength(chunk))
		}
		m := &c.chunks[chunk][at]
		*m = *n
		if _, shared := n.Body.(Shared); !shared {
			m.Body = bodies.clone(n.Body)
		}
		if n.aside != nil {
			m.aside = n.aside.clone(&bodies)
		}
	}
	return &c
}

// clone copies what is aside; tags are copied field by field, an origin is never changed and is shared.
func (a *aside) clone(bodies *copier) *aside {
	b := *a
	b.tags = make([]Body, len(a.tags))
	for i, t := range a.tags {
		b.tags[i] = bodies.clone(t)
	}
	return &b
}
