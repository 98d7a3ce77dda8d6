package text

import (
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
)

// Read reads a text. The graph's nodes are in the text's order. The error is a diag.List of every problem (up to MaxFindings,
// one for each node whose form is wrong) in the order of the text. The graph holds no reference to data.
func Read(data []byte, file string, reg *ir.Registry) (*ir.Graph, error) {
	d := &decoder{parser: parser{data: data, file: file}, graph: ir.New(), reg: reg, names: newNameTable(data, min(len(data)/96, 1<<20)),
		wanted: map[string]wanted{}, ids: map[ir.UUID]ir.NodeID{}, maps: map[string]zspace.ProjectionMap{}}
	d.graph.File = file
	d.graph.Grow(min(len(data)/128, 1<<20))
	if d.header() {
		for d.peek(); !d.full && d.pos < len(data); d.peek() {
			if d.nodeEntry(); d.bad {
				d.recover()
			}
		}
		d.settle()
	}
	if len(d.findings) > 0 {
		slices.SortStableFunc(d.findings, func(a, b diag.Diagnostic) int {
			if a.Location.Line != b.Location.Line {
				return a.Location.Line - b.Location.Line
			}
			return a.Location.Column - b.Location.Column
		})
		return nil, d.findings
	}
	return d.graph, nil
}

// decoder reads the nodes of a text into a graph.
type decoder struct {
	parser
	intern  ir.Intern
	graph   *ir.Graph
	reg     *ir.Registry
	names   *nameTable
	wanted  map[string]wanted // names referred to before their node
	ids     map[ir.UUID]ir.NodeID
	waiting []waiting
	maps    map[string]zspace.ProjectionMap
	placed  bool // the text says where nodes stand in another file
	scratch
}

// scratch holds what is read before its size is known.
type scratch struct {
	start, end []int64
	portList   []ir.Port
	places     []int // of the ports
	readers    []*reader
	nameEnd    int  // of the node's own name
	pending    bool // the node refers to names not met yet, or leaves out the range of a node not met yet
}

// wanted is a name that was referred to before its node: the number that stands for it, from unresolved down, and where.
type wanted struct {
	id ir.NodeID
	at int
}

// waiting is a node with references that are to be settled at the end.
type waiting struct {
	id ir.NodeID
	at int
}

// unresolved and the numbers below it stand for names that are referred to before their nodes.
const unresolved = ir.NoNode - 1<<30

// lost stands for a node that could not be read; the text is refused anyway.
const lost = unresolved + 1

// whole stands for the range of a selection that is left out, until its node is known; it is not a valid range.
var whole = zspace.Range{Start: zspace.Point{0}}

func isWhole(r zspace.Range) bool { return len(r.Start) == 1 && len(r.End) == 0 }

// header reads the first line; false, with a finding, if it is not that of this version.
func (d *decoder) header() bool {
	at := d.pos
	if d.peek(); d.isWordNext("tapc") {
		d.peek()
		at = d.pos
		if v := d.integer(); v == Version && !d.bad {
			return d.headerRest()
		}
	}
	d.findings = nil
	d.report(at, codeVersion, ir.StageParse, "this is not text of a version that tapc reads", "the header tapc "+strconv.Itoa(Version), d.describe(at))
	return false
}

func (d *decoder) headerRest() bool {
	if d.take('@') {
		if d.graph.ID, d.graph.HasID = d.uuid(); !d.graph.HasID {
			d.fail(d.pos, "an id of 8-4-4-4-12 hex digits")
		}
	}
	if d.isWordNext(wordFile) {
		if d.peek() != '"' {
			d.failHere("the name of a file in quotes")
		} else {
			d.graph.File, d.placed = d.quoted(), true
		}
	}
	if d.bad {
		d.recover()
	}
	return true
}

// nodeEntry reads one node with its tags.
func (d *decoder) nodeEntry() {
	d.node, d.pending = nil, false
	at := d.pos
	name, label := d.head()
	start := d.nameEnd - len(name)
	kind := d.nodeKind()
	if d.bad {
		if len(name) > 0 { // may be referred to without another finding
			d.names.add(name, start, lost)
		}
		return
	}
	body := d.intern.New(kind)
	n := d.graph.Add(body, label)
	if len(name) > 0 {
		d.name(name, start, n.ID, at)
	}
	if !d.placed {
		line, col := d.place(at)
		n.Pos = ir.Pos{Line: int32(line), Col: int32(col)}
	}
	d.read(0, body.Fields)
	if !d.bad {
		n.Body = d.intern.Body(body)
	}
	for !d.bad && d.trailer(n) {
	}
	if d.pending {
		d.waiting = append(d.waiting, waiting{n.ID, at})
	}
}

// head reads the name and the label of a node, if they are there. The label of a node that is named by a word is the word.
func (d *decoder) head() (name []byte, label string) {
	if d.peek() != '%' {
		return nil, ""
	}
	d.pos++
	name = d.refName()
	d.nameEnd = d.pos
	if len(name) > 0 && classes[name[0]] == letter {
		label = d.intern.Text(name)
	}
	if d.peek() == '"' && !d.bad {
		label = d.quoted()
	}
	d.expect('=')
	d.node = name
	return name, label
}

// refName reads the name behind a percent sign.
func (d *decoder) refName() []byte {
	n := wordLength(d.data[d.pos:], letter|digit)
	if n == 0 {
		d.fail(d.pos, "a name")
		return nil
	}
	d.pos += n
	return d.data[d.pos-n : d.pos]
}

// nodeKind reads the keyword of a node.
func (d *decoder) nodeKind() *ir.Kind {
	d.peek()
	at := d.pos
	word := d.word()
	if d.bad {
		return nil
	}
	for _, k := range d.reg.Nodes {
		if k.Keyword == string(word) {
			return k
		}
	}
	if len(word) == 0 {
		d.fail(at, "a node: "+keywords(d.reg.Nodes))
		return nil
	}
	d.report(at, codeNodeType, typeConstraint, "Illegal node type", keywords(d.reg.Nodes), quote(string(word)))
	d.bad = true
	return nil
}

func keywords(kinds []*ir.Kind) string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = k.Keyword
	}
	return "one of " + strings.Join(words, ", ")
}

// name gives a name, which is at start, to a node that begins at an offset.
func (d *decoder) name(name []byte, start int, id ir.NodeID, at int) {
	taken, ok := d.names.add(name, start, id)
	if ok {
		return
	}
	d.report(at, codeName, ir.StageParse, "a name is given twice", "a name of its own", quote("%"+string(name)))
	if last := &d.findings[len(d.findings)-1]; last.Code == codeName && taken != lost {
		*last = last.WithNote(d.graph.At(d.graph.Node(taken), ""), "the other node")
	}
}

// trailer reads one of the things behind a body: an id, a place, an origin or a tag; false if none follows.
func (d *decoder) trailer(n *ir.Node) bool {
	c := d.peek()
	at := d.pos
	if c == '@' {
		d.pos++
		d.nodeID(n, at)
		return true
	}
	if classes[c] != letter {
		return false
	}
	word := d.word()
	if tag := tagKind(d.reg, word); tag != nil {
		d.tag(n, tag, at)
		return true
	}
	switch string(word) {
	case wordPlace:
		d.expect('(')
		if pos := d.docPos(); d.placed {
			n.Pos = pos
		}
		d.expect(')')
		return true
	case wordOrigin:
		d.origin(n)
		return true
	}
	d.pos = at
	return false
}

func tagKind(reg *ir.Registry, word []byte) *ir.Kind {
	for _, k := range reg.Tags {
		if k.Keyword == string(word) {
			return k
		}
	}
	return nil
}

func (d *decoder) nodeID(n *ir.Node, at int) {
	u, ok := d.uuid()
	if !ok {
		d.fail(d.pos, "an id of 8-4-4-4-12 hex digits")
		return
	}
	if other, taken := d.ids[u]; taken {
		d.report(at, codeDuplicateID, schemaConstraint, "two nodes have the same id", "an id of its own", u.String())
		if last := &d.findings[len(d.findings)-1]; last.Code == codeDuplicateID {
			*last = last.WithNote(d.graph.At(d.graph.Node(other), ""), "the other is %s", d.graph.Name(other))
		}
	}
	d.ids[u] = n.ID
	n.SetUUID(u)
}

func (d *decoder) tag(n *ir.Node, kind *ir.Kind, at int) {
	if n.Tag(kind) != nil {
		d.report(at, codeRepeated, ir.StageParse, "a tag is there twice", "each tag once", quote(kind.Keyword))
	}
	tag := kind.New()
	d.read(0, tag.Fields)
	if tags := n.Tags(); len(tags) == 0 || tags[len(tags)-1].Kind().URI < kind.URI {
		n.SetTags(append(tags, tag))
		return
	}
	n.SetTag(tag)
}

// docPos reads a place in the graph's file: line:column, and #number for a node of a document.
func (d *decoder) docPos() ir.Pos {
	number := func() int32 {
		d.peek()
		at := d.pos
		v := d.integer()
		if v < 0 || v > 1<<31-1 {
			d.fail(at, "a number of 31 bits")
		}
		return int32(v)
	}
	pos := ir.Pos{Line: number()}
	d.expect(':')
	pos.Col = number()
	if d.take('#') {
		pos.Doc = number()
	}
	return pos
}

func (d *decoder) origin(n *ir.Node) {
	if d.peek() != '"' {
		d.failHere("the name of a rule in quotes")
		return
	}
	o := &ir.Origin{Rule: d.quoted()}
	n.SetOrigin(o)
	if !d.take('[') {
		return
	}
	for k := 0; d.more(k, ']'); k++ {
		o.From = append(o.From, d.docPos())
	}
}

// settle replaces the numbers that stand for names, and fills in the ranges left out.
func (d *decoder) settle() {
	ids := make([]ir.NodeID, len(d.wanted))
	for name, w := range d.wanted {
		id, ok := d.names.find([]byte(name))
		if !ok {
			d.node, id = nil, lost
			d.report(w.at, codeUnknown, ir.StageParse, "no node has this name", "the name of a node", quote("%"+name))
		}
		ids[unresolved-w.id] = id
	}
	fields := ir.ReferenceFields(func(ref *ir.NodeID) {
		if *ref <= unresolved {
			*ref = ids[unresolved-*ref]
		}
	})
	for _, w := range d.waiting {
		n := d.graph.Node(w.id)
		visit(n, fields)
		fill := func(s *ir.Selection) { d.fill(s, w.at) }
		ir.EachSelection(n.Body, fill)
		for _, t := range n.Tags() {
			ir.EachSelection(t, fill)
		}
	}
}

// fill gives a selection without a range the range of what it selects.
func (d *decoder) fill(s *ir.Selection, at int) {
	if !isWhole(s.Range()) || s.Tensor == lost {
		return
	}
	if target := d.graph.Node(s.Tensor); target != nil {
		if body, ok := target.Body.(fullRanger); ok {
			*s = d.intern.Select(s.Tensor, body.FullRange())
			return
		}
	}
	d.node = nil
	d.report(at, codeRange, ir.StageParse, "a selection has no range, and neither has what it selects",
		"a range such as [0:10]", d.graph.Name(s.Tensor))
}
