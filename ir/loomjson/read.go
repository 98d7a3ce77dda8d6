package loomjson

import (
	"bytes"

	"tensortapestry.org/tapc/ir"
)

// Read decodes a document. The graph's nodes are in the document's order, with their places in the file; references to nodes
// that the document does not hold are kept as dangling. The error is a diag.List of every problem (up to MaxFindings) in the
// order of the document, each with line, column, JSON pointer and node. The graph holds no reference to data.
func Read(data []byte, file string, reg *ir.Registry) (*ir.Graph, error) {
	d := &decoder{scanner: scanner{data: data}, file: file, graph: ir.New(), kinds: kinds{byURI(reg.Nodes), byURI(reg.Tags), reg.Retired}}
	d.graph.File = file
	guess := min(len(data)/512, 1<<20)
	d.ids = make(map[ir.UUID]ir.NodeID, guess)
	d.wanted = map[ir.UUID]ir.NodeID{}
	d.graph.Grow(guess)
	d.document()
	if d.broken && d.code != "" {
		d.broken = false
		d.report(d.brokenAt, d.code, "parse", "this is not JSON", d.expected, d.found)
	}
	if len(d.problems) > 0 {
		return nil, d.diagnostics()
	}
	d.resolve()
	return d.graph, nil
}

func byURI(kinds []*ir.Kind) map[string]*ir.Kind {
	m := make(map[string]*ir.Kind, len(kinds))
	for _, k := range kinds {
		m[k.URI] = k
	}
	return m
}

// document reads the whole text.
func (d *decoder) document() {
	if d.peek() != '{' {
		d.wrongType("a graph, an object with an id and nodes")
		d.end()
		return
	}
	var m members
	d.open()
	for n := 0; d.more(n, '}'); n++ {
		switch d.memberOf(&m, documentFields) {
		case 0:
			if !d.word("null") {
				d.graph.ID, d.graph.HasID = d.id("the graph's id")
			}
		case 1:
			d.nodeList()
		}
	}
	d.end()
}

var (
	documentFields = []string{"id", "nodes"}
	nodeFields     = []string{"id", "type", "label", "body", "tags"}
)

// members notes which fields of the document or of a node have been met.
type members [8]bool

// memberOf reads the next key of the document or of a node and gives its number among the fields. An unknown or repeated one
// is reported and passed over; its number is -1.
func (d *decoder) memberOf(m *members, fields []string) int {
	d.peek()
	at := d.pos
	key := d.key()
	d.peek()
	if d.broken {
		return -1
	}
	for i, f := range fields {
		if string(key) != f {
			continue
		}
		if !m[i] {
			m[i] = true
			return i
		}
		d.report(at, codeRepeated, ir.StageParse, "a key is there twice", "each key once", quote(f))
		d.skip()
		return -1
	}
	d.report(at, codeEnvelope, ir.StageParse, "an unknown field", expectNames(fields), quote(string(key)))
	d.skip()
	return -1
}

func (d *decoder) end() {
	if d.peek(); !d.broken && d.pos < len(d.data) {
		d.report(d.pos, codeTrailing, ir.StageParse, "text after the end of the document", "the end of the text", d.describe(d.pos))
	}
}

// id reads the id of the document or of a node.
func (d *decoder) id(what string) (ir.UUID, bool) {
	if u, ok := d.plainUUID(); ok {
		return u, true
	}
	if d.peek() != '"' {
		d.wrongType(what)
		return ir.UUID{}, false
	}
	at := d.pos
	u, ok := ir.UUIDFromText(d.text())
	if !ok && !d.broken {
		d.report(at, codeID, ir.StageParse, "a malformed id", what+", 8-4-4-4-12 hex digits", d.describe(at))
	}
	return u, ok
}

func (d *decoder) nodeList() {
	if d.word("null") || !d.array("an array of nodes") {
		return
	}
	line, lineStart, counted := int32(1), 0, 0
	for n := 0; d.more(n, ']'); n++ {
		d.peek()
		if k := bytes.Count(d.data[counted:d.pos], newline); k > 0 {
			line += int32(k)
			lineStart = counted + bytes.LastIndexByte(d.data[counted:d.pos], '\n') + 1
		}
		counted = d.pos
		d.node(ir.Pos{Line: line, Col: int32(d.pos - lineStart + 1), Doc: int32(n + 1)})
	}
}

var newline = []byte{'\n'}

// node reads one node and adds it to the graph. A node whose type is unknown is left out, which is an error anyway.
func (d *decoder) node(pos ir.Pos) {
	d.owner = owner{}
	first, at := len(d.problems), d.pos
	if d.peek() != '{' {
		d.wrongType("a node")
		return
	}
	n := ir.Node{Pos: pos}
	var kind *ir.Kind
	var m members
	body := -1 // offset, where it comes before the type
	d.open()
	for k := 0; d.more(k, '}'); k++ {
		switch d.memberOf(&m, nodeFields) {
		case 0:
			d.nodeID(&n)
		case 1:
			kind = d.nodeType()
		case 2:
			if !d.word("null") {
				n.Label = d.label()
			}
		case 3:
			if body = d.pos; m[1] {
				d.body(kind, &n)
			} else {
				d.skip()
			}
		case 4:
			n.SetTags(d.tagList())
		}
	}
	if resume, depth := d.pos, d.depth; n.Body == nil && kind != nil && body >= 0 && !d.broken {
		d.pos = body
		d.body(kind, &n)
		if !d.broken {
			d.pos, d.depth = resume, depth
		}
	}
	d.missingIn(&m, at)
	for i := first; i < len(d.problems); i++ {
		d.problems[i].d.Location.Node = nodeName(kind, &n)
	}
	if n.Body != nil {
		d.add(&n)
	}
}

// missingIn reports the fields that every node must have and this one has not.
func (d *decoder) missingIn(m *members, at int) {
	for _, i := range []int{0, 1, 3} {
		if !m[i] {
			d.report(at, codeEnvelope, ir.StageParse, "a field is missing", quote(nodeFields[i]), "nothing")
		}
	}
}

func (d *decoder) nodeID(n *ir.Node) {
	at := d.pos
	id, given := d.id("the node's id")
	if !given {
		return
	}
	n.SetUUID(id)
	other, taken := d.ids[id]
	if !taken {
		return
	}
	d.report(at, codeDuplicateID, schemaConstraint, "two nodes have the same id", "an id of its own", id.String())
	if last := &d.problems[len(d.problems)-1].d; last.Code == codeDuplicateID {
		*last = last.WithNote(d.graph.At(d.graph.Node(other), "/id"), "the other is %s", d.graph.Name(other))
	}
}

func (d *decoder) nodeType() *ir.Kind {
	at := d.pos
	if d.peek() != '"' {
		d.wrongType("a type URI")
		return nil
	}
	uri := d.text()
	kind := d.nodes[string(uri)]
	if kind == nil && !d.broken {
		d.report(at, codeNodeType, typeConstraint, "Illegal node type", "a node type that tapc knows", quote(string(uri)))
	}
	return kind
}

func (d *decoder) body(kind *ir.Kind, n *ir.Node) {
	if kind == nil {
		d.skip()
		return
	}
	d.owner.inBody = true
	body := d.pool.New(kind)
	n.Body = body
	d.read(0, body.Fields)
	n.Body = d.pool.Body(body)
	d.owner.inBody = false
}

// tagList reads the tags of a node, sorted by their type.
func (d *decoder) tagList() []ir.Body {
	if d.word("null") {
		return nil
	}
	if d.peek() != '{' {
		d.wrongType("an object of tags by type")
		return nil
	}
	var tags []ir.Body
	var at []int
	d.open()
	for n := 0; d.more(n, '}'); n++ {
		d.peek()
		place := d.pos
		uri := d.key()
		kind := d.tags[string(uri)]
		if kind == nil {
			d.report(place, codeTagType, typeConstraint, "Illegal tag type", "a tag type that tapc knows", quote(string(uri)))
			d.skip()
			continue
		}
		tag := kind.New()
		d.owner.inBody = true
		d.peek()
		d.read(0, tag.Fields)
		d.owner.inBody = false
		tags, at = append(tags, tag), append(at, place)
	}
	return sortNamed(d, tags, at, func(b *ir.Body) string { return (*b).Kind().URI })
}

// add puts a node into the graph and notes whether it waits for others.
func (d *decoder) add(n *ir.Node) {
	added := d.graph.Adopt(*n)
	if id, given := n.UUID(); given {
		if _, taken := d.ids[id]; !taken {
			d.ids[id] = added.ID
		}
	}
	if d.owner.pending {
		d.waiting = append(d.waiting, added.ID)
	}
}

// label reads a label.
func (d *decoder) label() string {
	if d.peek() != '"' {
		d.wrongType("a string or null")
		return ""
	}
	return d.pool.Text(d.text())
}

// nodeName names a node in messages, before it is in a graph.
func nodeName(kind *ir.Kind, n *ir.Node) string {
	what := "node"
	if kind != nil {
		what = kind.Keyword
	}
	if n.Label != "" {
		return what + " " + quote(n.Label)
	}
	if id, given := n.UUID(); given {
		return what + " " + id.String()
	}
	return what
}

// resolve replaces the numbers of nodes that were referred to before they were met.
func (d *decoder) resolve() {
	byNumber := make([]ir.UUID, len(d.wanted))
	for u, id := range d.wanted {
		byNumber[unresolved-id] = u
	}
	ids := make([]ir.NodeID, len(byNumber))
	for i, u := range byNumber {
		id, ok := d.ids[u]
		if !ok {
			id = d.graph.AddDangling(u)
		}
		ids[i] = id
	}
	settle := func(ref *ir.NodeID) {
		if *ref <= unresolved {
			*ref = ids[unresolved-*ref]
		}
	}
	fields := ir.ReferenceFields(settle)
	for _, id := range d.waiting {
		n := d.graph.Node(id)
		n.Body.Fields(fields)
		for _, t := range n.Tags() {
			t.Fields(fields)
		}
	}
}
