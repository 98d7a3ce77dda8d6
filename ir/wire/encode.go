package wire

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Marshal encodes a whole graph. Equal graphs with equal numbering give equal bytes. The error names the node whose body the
// form cannot carry: a string that is not UTF-8, or a map whose rows differ in length.
func Marshal(g *ir.Graph) ([]byte, error) {
	w := NewWriter(g)
	for w.nodes < g.Bound() {
		w.node()
	}
	if w.e.err != nil {
		return nil, w.e.err
	}
	return w.e.buf, nil
}

// Writer cuts a graph into chunks. The graph must not change meanwhile.
type Writer struct {
	e     encoder
	nodes int // numbers of nodes below it are encoded
	gap   int // numbers without a node before the next one
}

// NewWriter makes a writer for a graph.
func NewWriter(g *ir.Graph) *Writer {
	w := &Writer{e: encoder{graph: g}}
	e := &w.e
	e.varint(graphVersion, Version)
	if g.HasID {
		e.bytes(graphID, g.ID[:])
	}
	e.str(graphFile, g.File)
	for id := ir.NoNode - 1; ; id-- {
		u, ok := g.Dangling(id)
		if !ok {
			break
		}
		e.bytes(graphDangling, u[:])
	}
	return w
}

// Next gives the next chunk, of at most MaxChunk bytes; io.EOF after the last. The caller owns the bytes. Chunks end between
// nodes, but for a node that is larger than a chunk.
func (w *Writer) Next() ([]byte, error) {
	cut := 0
	for w.e.err == nil && w.nodes < w.e.graph.Bound() && len(w.e.buf) <= MaxChunk {
		cut = len(w.e.buf)
		w.node()
	}
	switch n := len(w.e.buf); {
	case w.e.err != nil:
		return nil, w.e.err
	case n == 0:
		return nil, io.EOF
	case n <= MaxChunk:
		cut = n
	case cut == 0 || cut > MaxChunk:
		cut = MaxChunk
	}
	chunk := slices.Clone(w.e.buf[:cut])
	w.e.buf = w.e.buf[cut:]
	return chunk, nil
}

// node encodes the next number: a node, or a gap that the node after it mentions.
func (w *Writer) node() {
	n := w.e.graph.Node(ir.NodeID(w.nodes))
	w.nodes++
	if n == nil {
		w.gap++
		return
	}
	e := &w.e
	at := e.open(graphNodes)
	e.varint(nodeGap, uint64(w.gap))
	w.gap = 0
	if id, given := n.UUID(); given {
		e.bytes(nodeID, id[:])
	}
	e.str(nodeLabel, n.Label)
	if n.Pos != (ir.Pos{}) {
		e.pos(nodePos, n.Pos)
	}
	if o := n.Origin(); o != nil {
		e.origin(o)
	}
	body := e.open(nodeBody + protowire.Number(n.Body.Kind().Num))
	n.Body.Fields(e)
	e.shut(body)
	for _, t := range byNumber(n.Tags()) {
		tag := e.open(nodeTag + protowire.Number(t.Kind().Num))
		t.Fields(e)
		e.shut(tag)
	}
	e.shut(at)
	if e.err != nil {
		e.err = fmt.Errorf("%s: %w", e.graph.Name(n.ID), e.err)
	}
}

// byNumber gives the tags in the order of their kinds' numbers.
func byNumber(tags []ir.Body) []ir.Body {
	compare := func(a, b ir.Body) int { return cmp.Compare(a.Kind().Num, b.Kind().Num) }
	if !slices.IsSortedFunc(tags, compare) {
		tags = slices.SortedFunc(slices.Values(tags), compare)
	}
	return tags
}

// encoder is the ir.Fields that writes a body's message.
type encoder struct {
	graph *ir.Graph
	buf   []byte
	err   error
}

// varint writes a number unless it is 0.
func (e *encoder) varint(num protowire.Number, v uint64) {
	if v != 0 {
		e.buf = protowire.AppendTag(e.buf, num, protowire.VarintType)
		e.buf = protowire.AppendVarint(e.buf, v)
	}
}

// bytes writes bytes, empty ones too.
func (e *encoder) bytes(num protowire.Number, b []byte) {
	e.buf = protowire.AppendTag(e.buf, num, protowire.BytesType)
	e.buf = protowire.AppendBytes(e.buf, b)
}

// str writes a string unless it is empty.
func (e *encoder) str(num protowire.Number, s string) {
	if s != "" {
		e.anyString(num, s)
	}
}

func (e *encoder) anyString(num protowire.Number, s string) {
	if !utf8.ValidString(s) && e.err == nil {
		e.err = fmt.Errorf("%q is not UTF-8", s)
	}
	e.buf = protowire.AppendTag(e.buf, num, protowire.BytesType)
	e.buf = protowire.AppendString(e.buf, s)
}

// open and shut write a message around what is written between them; open gives what shut wants.
func (e *encoder) open(num protowire.Number) int {
	e.buf = append(protowire.AppendTag(e.buf, num, protowire.BytesType), 0)
	return len(e.buf)
}

func (e *encoder) shut(at int) {
	n := uint64(len(e.buf) - at)
	extra := protowire.SizeVarint(n) - 1
	if extra > 0 {
		e.buf = append(e.buf, make([]byte, extra)...)
		copy(e.buf[at+extra:], e.buf[at:])
	}
	protowire.AppendVarint(e.buf[:at-1], n)
}

// packed writes integers, one behind the other; nothing if there are none.
func (e *encoder) packed(num protowire.Number, v []int64) {
	if len(v) == 0 {
		return
	}
	at := e.open(num)
	for _, x := range v {
		e.buf = protowire.AppendVarint(e.buf, protowire.EncodeZigZag(x))
	}
	e.shut(at)
}

func (e *encoder) pos(num protowire.Number, p ir.Pos) {
	at := e.open(num)
	e.varint(posLine, uint64(uint32(p.Line)))
	e.varint(posCol, uint64(uint32(p.Col)))
	e.varint(posDoc, uint64(uint32(p.Doc)))
	e.shut(at)
}

func (e *encoder) origin(o *ir.Origin) {
	at := e.open(nodeOrigin)
	e.str(originRule, o.Rule)
	for _, p := range o.From {
		e.pos(originFrom, p)
	}
	e.shut(at)
}

// refNumber is how a reference stands in the form: 0 for nothing, from 1 up for nodes, from -1 down for dangling ones. A
// reference to a node that was removed becomes one to nothing.
func (e *encoder) refNumber(id ir.NodeID) int64 {
	if _, dangling := e.graph.Dangling(id); e.graph.Node(id) == nil && !dangling {
		return 0
	}
	return int64(id) + 1
}

func (e *encoder) attr(a *ir.Attr) {
	e.str(named1, a.Name)
	at := e.open(named2)
	e.value(&a.Value)
	e.shut(at)
}

// value writes the one member that says the value's kind, zero or not; null has none.
func (e *encoder) value(v *ir.AttrValue) {
	switch v.Kind {
	case ir.AttrBool:
		e.buf = protowire.AppendTag(e.buf, valueBool, protowire.VarintType)
		e.buf = protowire.AppendVarint(e.buf, uint64(v.Int&1))
	case ir.AttrInt:
		e.buf = protowire.AppendTag(e.buf, valueInt, protowire.VarintType)
		e.buf = protowire.AppendVarint(e.buf, protowire.EncodeZigZag(v.Int))
	case ir.AttrFloat:
		e.buf = protowire.AppendTag(e.buf, valueFloat, protowire.Fixed64Type)
		e.buf = protowire.AppendFixed64(e.buf, math.Float64bits(v.Num))
	case ir.AttrString:
		e.anyString(valueString, v.Str)
	case ir.AttrList:
		list := e.open(valueList)
		for i := range v.List {
			at := e.open(items)
			e.value(&v.List[i])
			e.shut(at)
		}
		e.shut(list)
	case ir.AttrMap:
		m := e.open(valueMap)
		for i := range v.Map {
			at := e.open(items)
			e.attr(&v.Map[i])
			e.shut(at)
		}
		e.shut(m)
	}
}

// affine writes the matrix row by row; the number of rows is that of the offsets.
func (e *encoder) affine(a *zspace.AffineMap) {
	if err := a.Validate(); err != nil && e.err == nil {
		e.err = err
	}
	if a.Projection.Rows() > 0 && a.Projection.Cols() > 0 {
		at := e.open(mapCoefficients)
		for _, row := range a.Projection {
			for _, x := range row {
				e.buf = protowire.AppendVarint(e.buf, protowire.EncodeZigZag(x))
			}
		}
		e.shut(at)
	}
	e.packed(mapOffset, a.Offset)
}
