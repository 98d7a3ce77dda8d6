package wire

import (
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Limits bound what a Reader accepts. A field that is 0 stands for a default: 2^24 nodes, 4 GiB in all, 256 MiB for one field
// of the graph.
type Limits struct {
	Nodes int   // numbers of nodes, those without a node counted
	Bytes int64 // of all chunks
	Field int   // bytes of one node, or of another field of the graph
}

func (l Limits) orDefault() Limits {
	if l.Nodes <= 0 {
		l.Nodes = 1 << 24
	}
	if l.Bytes <= 0 {
		l.Bytes = 4 << 30
	}
	if l.Field <= 0 {
		l.Field = 256 << 20
	}
	return l
}

// Unmarshal decodes a whole graph. The error is an *Error. The graph holds no reference to data.
func Unmarshal(data []byte, reg *ir.Registry, limits Limits) (*ir.Graph, error) {
	r := NewReader(reg, limits)
	if err := r.Feed(data); err != nil {
		return nil, err
	}
	return r.Finish()
}

// Reader joins the chunks of a graph, which may be cut anywhere. It keeps at most one field of the graph undecoded.
type Reader struct {
	limits Limits
	taken  int64
	rest   []byte // the start of a field that is not complete yet
	need   int    // bytes of rest without which it is not complete
	err    error
	d      decoder
}

// NewReader makes a reader of the kinds in a registry. Nodes and tags of other kinds are unknown fields: a tag is skipped, a
// node without a known body is an error.
func NewReader(reg *ir.Registry, limits Limits) *Reader {
	r := &Reader{limits: limits.orDefault(), d: decoder{graph: ir.New(), bodies: map[protowire.Number]*ir.Kind{},
		tags: map[protowire.Number]*ir.Kind{}, maps: map[string]zspace.ProjectionMap{}, node: -1}}
	for _, k := range reg.Nodes {
		r.d.bodies[nodeBody+protowire.Number(k.Num)] = k
	}
	for _, k := range reg.Tags {
		r.d.tags[nodeTag+protowire.Number(k.Num)] = k
	}
	return r
}

// Feed takes the next chunk, which it does not keep. After an error every call gives that error.
func (r *Reader) Feed(chunk []byte) error {
	if r.err != nil {
		return r.err
	}
	if r.taken += int64(len(chunk)); r.taken > r.limits.Bytes {
		return r.fail("the graph is larger than %d bytes", r.limits.Bytes)
	}
	if len(r.rest) > 0 {
		r.rest = append(r.rest, chunk...)
		if len(r.rest) < r.need {
			return nil
		}
		chunk, r.rest = r.rest, nil
	}
	for len(chunk) > 0 {
		n, err := r.field(chunk)
		if err != nil {
			return err
		}
		if n == 0 {
			r.rest = append([]byte(nil), chunk...)
			return nil
		}
		chunk = chunk[n:]
	}
	return nil
}

func (r *Reader) fail(format string, args ...any) error {
	if r.err == nil {
		r.err = &Error{Node: r.d.node, Field: r.d.field, Problem: fmt.Sprintf(format, args...)}
	}
	return r.err
}

// field decodes the field of the graph at the start of b and gives its length, 0 if it is not complete.
func (r *Reader) field(b []byte) (int, error) {
	r.d.node, r.d.field = -1, ""
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return r.incomplete(n)
	}
	value := b[n:]
	if typ == protowire.StartGroupType || typ == protowire.EndGroupType {
		return 0, r.fail("a group, which this form does not have")
	}
	if typ == protowire.BytesType {
		size, k := protowire.ConsumeVarint(value)
		if k < 0 {
			return r.incomplete(k)
		}
		if size > uint64(r.limits.Field) {
			return 0, r.fail("a field of %d bytes is larger than %d", size, r.limits.Field)
		}
		if uint64(len(value)-k) < size {
			r.need = n + k + int(size)
			return 0, nil
		}
	}
	k := protowire.ConsumeFieldValue(num, typ, value)
	if k < 0 {
		return r.incomplete(k)
	}
	var m message
	m.num, m.typ, m.body = num, typ, value[:k]
	if err := r.d.graphField(&m, r.limits); err != nil {
		r.err = err
		return 0, err
	}
	return n + k, nil
}

// incomplete tells a field whose end has not come yet from one that is malformed.
func (r *Reader) incomplete(code int) (int, error) {
	if protowire.ParseError(code) == io.ErrUnexpectedEOF {
		r.need = 0
		return 0, nil
	}
	return 0, r.fail("malformed field: %v", protowire.ParseError(code))
}

// Finish gives the graph after the last chunk.
func (r *Reader) Finish() (*ir.Graph, error) {
	if r.err != nil {
		return nil, r.err
	}
	r.d.node, r.d.field = -1, ""
	switch {
	case len(r.rest) > 0:
		return nil, r.fail("the graph ends in the middle of a field")
	case r.d.version == 0:
		return nil, r.fail("the graph has no version")
	}
	if err := r.d.checkReferences(); err != nil {
		r.err = err
		return nil, err
	}
	return r.d.graph, nil
}

// decoder reads the fields of a graph.
type decoder struct {
	graph   *ir.Graph
	bodies  map[protowire.Number]*ir.Kind
	tags    map[protowire.Number]*ir.Kind
	intern  ir.Intern
	maps    map[string]zspace.ProjectionMap
	version uint64
	lowest  ir.NodeID // the lowest and the highest reference met
	highest ir.NodeID
	node    int    // for messages
	field   string // for messages
	err     error
	scratch
}

// scratch holds what is read before its size is known, and the readers of bodies by depth.
type scratch struct {
	readers    []*reader
	start, end []int64
	ports      []ir.Port
}

// fail records the first error of a node.
func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = &Error{Node: d.node, Field: d.field, Problem: fmt.Sprintf(format, args...)}
	}
}

// graphField takes one field of the graph. Unknown ones are skipped.
func (d *decoder) graphField(m *message, limits Limits) error {
	ok, num := true, m.num
	switch num {
	case graphVersion:
		if d.version, ok = m.varint(); ok && (d.version == 0 || d.version > Version) {
			d.fail("version %d of the form, of which this tapc reads up to %d", d.version, Version)
		}
	case graphID:
		d.graph.ID, ok = m.uuid()
		d.graph.HasID = ok
	case graphFile:
		var b []byte
		b, ok = m.text()
		d.graph.File = string(b)
	case graphDangling:
		var u ir.UUID
		u, ok = m.uuid()
		d.graph.AddDangling(u)
	case graphNodes:
		var b []byte
		if b, ok = m.bytes(); ok {
			d.node = d.graph.Bound()
			d.readNode(b, limits)
		}
	}
	if !ok {
		d.fail("field %d of the graph is malformed", num)
	}
	if d.err != nil {
		return d.err
	}
	return nil
}

// uuid reads an id of 16 bytes.
func (m *message) uuid() (u ir.UUID, ok bool) {
	b, ok := m.bytes()
	return u, ok && copy(u[:], b) == len(u) && len(b) == len(u)
}

// open starts on a message in b; false, with an error, if it is malformed.
func (d *decoder) open(m *message, b []byte) bool {
	b, ok := well(b)
	if !ok {
		d.fail("a malformed message")
		return false
	}
	m.start(b)
	return true
}

func (d *decoder) readNode(b []byte, limits Limits) {
	var m message
	if !d.open(&m, b) {
		return
	}
	d.skipNumbers(&m, limits)
	if d.err != nil {
		return
	}
	n := d.graph.Add(nil, "")
	d.node = int(n.ID)
	if m.find(nodeID) {
		id, ok := m.uuid()
		if n.SetUUID(id); !ok {
			d.fail("malformed id")
		}
	}
	if m.find(nodeLabel) {
		text, ok := m.text()
		if n.Label = d.intern.Text(text); !ok {
			d.fail("malformed label")
		}
	}
	if m.find(nodePos) {
		n.Pos = d.pos(&m)
	}
	if m.find(nodeOrigin) {
		n.SetOrigin(d.origin(&m))
	}
	for m.num != 0 && d.err == nil {
		d.readPart(&m, n)
	}
	if n.Body == nil {
		d.fail("no body of a kind that this tapc knows")
	}
}

// skipNumbers leaves out the numbers before a node that no node has.
func (d *decoder) skipNumbers(m *message, limits Limits) {
	gap, ok := uint64(0), true
	if m.find(nodeGap) {
		gap, ok = m.varint()
	}
	if !ok || gap >= uint64(limits.Nodes-min(limits.Nodes, d.graph.Bound())) {
		d.fail("more than %d numbers of nodes", limits.Nodes)
		return
	}
	d.graph.Skip(int(gap))
}

// readPart reads the body or a tag of a node, or skips an unknown field.
func (d *decoder) readPart(m *message, n *ir.Node) {
	body, tag := d.bodies[m.num], d.tags[m.num]
	if body == nil && tag == nil {
		m.next()
		return
	}
	b, ok := m.bytes()
	if !ok {
		d.fail("a body or a tag is no message")
		return
	}
	if tag != nil {
		if n.Tag(tag) != nil {
			d.fail("tag %s is there twice", tag.Keyword)
		}
		t := tag.New()
		d.read(0, b, t.Fields)
		n.SetTag(t)
		return
	}
	if n.Body != nil {
		d.fail("two bodies")
	}
	filled := d.intern.New(body)
	d.read(0, b, filled.Fields)
	n.Body = d.intern.Body(filled)
}

func (d *decoder) pos(m *message) (p ir.Pos) {
	b, ok := m.bytes()
	var in message
	if !ok || !d.open(&in, b) {
		d.fail("malformed position")
		return p
	}
	for i, v := range []*int32{&p.Line, &p.Col, &p.Doc} {
		if in.find(protowire.Number(posLine + i)) {
			x, _ := in.varint()
			*v = int32(x)
		}
	}
	return p
}

func (d *decoder) origin(m *message) *ir.Origin {
	b, ok := m.bytes()
	var in message
	o := &ir.Origin{}
	if !ok || !d.open(&in, b) {
		d.fail("malformed origin")
		return o
	}
	if in.find(originRule) {
		text, ok := in.text()
		if o.Rule = d.intern.Name(text); !ok {
			d.fail("malformed rule")
		}
	}
	for in.find(originFrom) {
		o.From = append(o.From, d.pos(&in))
	}
	return o
}

// ref gives the reference behind its number; checkReferences judges it when all nodes are there.
func (d *decoder) ref(v int64) ir.NodeID {
	if v > 1<<31-1 || v < -1<<31 {
		d.fail("reference %d is out of bounds", v)
		return ir.NoNode
	}
	id := ir.NodeID(v - 1)
	d.lowest, d.highest = min(d.lowest, id), max(d.highest, id)
	return id
}

// checkReferences makes sure that every reference is to a node, to a dangling id or to nothing.
func (d *decoder) checkReferences() error {
	if int(d.highest) < d.graph.Bound() && d.graph.Len() == d.graph.Bound() {
		if _, ok := d.graph.Dangling(d.lowest); ok || d.lowest >= ir.NoNode {
			return nil
		}
	}
	var err error
	for n := range d.graph.Nodes() {
		check := func(ref *ir.NodeID) {
			_, dangling := d.graph.Dangling(*ref)
			if err == nil && !dangling && *ref != ir.NoNode && d.graph.Node(*ref) == nil {
				err = &Error{Node: int(n.ID), Problem: fmt.Sprintf("reference %d is to no node", int64(*ref)+1)}
			}
		}
		ir.EachReference(n.Body, check)
		for _, t := range n.Tags() {
			ir.EachReference(t, check)
		}
	}
	return err
}
