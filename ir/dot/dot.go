// Package dot draws graphs as Graphviz text: tensors, operations and their shards with the boxes that they select, tags as
// tables, and the nodes of the schedule dialect. The text depends on the graph alone, byte for byte, so drawings can be
// compared and kept.
//
// It knows no dialect: what a body is, it tells from the interfaces that the body has (a range of its own, ports) and from its
// fields. It must not import a dialect or another form of the IR. Read next: picture.go.
package dot

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Options say what is left out of a drawing.
type Options struct {
	NoIDs          bool // the UUIDs
	NoTags         bool // the tags
	HideOperations bool // operations that have shards
	HideShards     bool // shards; operations are then drawn as if they had none
	Curves         bool // right angles: edges are curves, as they always are where there are many nodes
}

// Write draws a graph. The error is the writer's.
func Write(w io.Writer, g *ir.Graph, o Options) error {
	p := newPicture(g, o)
	p.draw()
	_, err := w.Write(p.out.Bytes())
	return err
}

// picture is a drawing in the making.
type picture struct {
	out     bytes.Buffer
	indent  int
	graph   *ir.Graph
	options Options
	nodes   []*item // by UUID
	items   []*item // by NodeID
	shards  map[ir.NodeID][]*item
	aliases map[ir.NodeID]string
}

// role is how a node is drawn.
type role uint8

const (
	plain     role = iota // a table, and an edge for each reference
	tensor                // has a range of its own
	operation             // has ports
	shard                 // has ports and refers to a node that has
)

// item is a node with what is needed to draw it.
type item struct {
	node    *ir.Node
	uuid    ir.UUID
	role    role
	of      ir.NodeID // the operation of a shard
	in, out ir.Ports
	facts   facts
	color   int // number of its colour class
}

func newPicture(g *ir.Graph, o Options) *picture {
	p := &picture{graph: g, options: o, items: make([]*item, g.Bound()), shards: map[ir.NodeID][]*item{}}
	for n := range g.Nodes() {
		it := &item{node: n, uuid: g.UUIDOf(n), facts: factsOf(g, n.Body), of: ir.NoNode}
		if b, ok := n.Body.(ir.Ported); ok {
			in, out := b.Ports()
			it.role, it.in, it.out = operation, *in, *out
		} else if _, ok := n.Body.(interface{ FullRange() zspace.Range }); ok {
			it.role = tensor
		}
		p.items[n.ID] = it
		p.nodes = append(p.nodes, it)
	}
	slices.SortStableFunc(p.nodes, func(a, b *item) int { return bytes.Compare(a.uuid[:], b.uuid[:]) })
	for _, it := range p.nodes {
		p.findOperation(it)
	}
	p.aliases = aliasesOf(p.nodes)
	p.colour()
	return p
}

// findOperation makes a ported node that refers to another one a shard of it.
func (p *picture) findOperation(it *item) {
	if it.role != operation {
		return
	}
	for _, r := range it.facts.refs {
		of := p.item(r.to)
		if of == nil || of.node.Body.Kind() == it.node.Body.Kind() {
			continue
		}
		if _, ported := of.node.Body.(ir.Ported); ported {
			it.role, it.of = shard, of.node.ID
			p.shards[it.of] = append(p.shards[it.of], it)
			return
		}
	}
}

func (p *picture) item(id ir.NodeID) *item {
	if id < 0 || int(id) >= len(p.items) {
		return nil
	}
	return p.items[id]
}

// line writes one line at the present indent.
func (p *picture) line(format string, args ...any) {
	for range p.indent {
		p.out.WriteString("  ")
	}
	fmt.Fprintf(&p.out, format, args...)
	p.out.WriteByte('\n')
}

// cluster draws a subgraph around what content draws.
func (p *picture) cluster(name string, attrs attributes, content func()) {
	p.line("subgraph %s {", quote("cluster_"+name))
	p.indent++
	for _, a := range attrs.sorted() {
		p.line("%s=%s;", a.name, a.value)
	}
	content()
	p.indent--
	p.line("}")
}

// attribute is a Graphviz attribute; its value is quoted, or HTML in angle brackets.
type attribute struct{ name, value string }

type attributes []attribute

// set gives the list with one more attribute, its value quoted.
func (a attributes) set(name, value string) attributes {
	return append(slices.Clip(a), attribute{name, quote(value)})
}

// html gives the list with an attribute whose value is HTML.
func (a attributes) html(name, value string) attributes {
	return append(slices.Clip(a), attribute{name, "<" + value + ">"})
}

func (a attributes) sorted() attributes {
	b := slices.Clone(a)
	slices.SortStableFunc(b, func(x, y attribute) int { return cmp.Compare(x.name, y.name) })
	return b
}

// String writes the list in brackets, sorted by name.
func (a attributes) String() string {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, x := range a.sorted() {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s=%s", x.name, x.value)
	}
	b.WriteByte(']')
	return b.String()
}

func (p *picture) vertex(id string, attrs attributes) { p.line("%s %s;", quote(id), attrs) }

func (p *picture) edge(from, to string, attrs attributes) {
	if len(attrs) == 0 {
		p.line("%s -> %s;", quote(from), quote(to))
		return
	}
	p.line("%s -> %s %s;", quote(from), quote(to), attrs)
}
