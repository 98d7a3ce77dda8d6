package loomjson

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Write writes the graph as canonical Loom JSON: nodes sorted by id, and behind them those whose order says something (ir.Kind), fields in the order of the schema, names sorted, two
// spaces of indent, arrays of plain values on one line, a newline at the end. Equal graphs give equal bytes. Nodes and a
// graph without an id get a derived one. A reference to nothing is written as null, which Read refuses. The form has no place
// for positions and provenance. The error is the writer's, or names a parameter that is not a number or a text that is not
// UTF-8.
func Write(w io.Writer, g *ir.Graph) error {
	e := &encoder{graph: g, uris: map[*ir.Kind][]byte{}, ids: make([]ir.UUID, g.Bound())}
	nodes := make([]keyed, 0, g.Len())
	var steps []*ir.Node
	for n := range g.Nodes() {
		u := g.UUIDOf(n)
		e.ids[n.ID] = u
		if n.Body.Kind().Step {
			steps = append(steps, n)
			continue
		}
		nodes = append(nodes, keyed{binary.BigEndian.Uint64(u[:8]), binary.BigEndian.Uint64(u[8:]), n})
	}
	slices.SortFunc(nodes, keyed.compare)
	for _, n := range steps {
		nodes = append(nodes, keyed{node: n})
	}
	e.buf = append(e.buf, "{\n  \"id\": "...)
	e.uuid(g.GraphUUID())
	e.buf = append(e.buf, ",\n  \"nodes\": ["...)
	e.depth = 2
	for i, k := range nodes {
		e.next(i == 0)
		e.node(k.node)
		if e.err != nil {
			return fmt.Errorf("%s: %w", g.Name(k.node.ID), e.err)
		}
		if len(e.buf) > 1<<16 {
			if _, err := w.Write(e.buf); err != nil {
				return err
			}
			e.buf = e.buf[:0]
		}
	}
	if len(nodes) > 0 {
		e.buf = append(e.buf, "\n  "...)
	}
	e.buf = append(e.buf, "]\n}\n"...)
	_, err := w.Write(e.buf)
	return err
}

// keyed is a node with its id as two numbers, to sort by.
type keyed struct {
	high, low uint64
	node      *ir.Node
}

func (k keyed) compare(l keyed) int {
	return cmp.Or(cmp.Compare(k.high, l.high), cmp.Compare(k.low, l.low), cmp.Compare(k.node.ID, l.node.ID))
}

// encoder is the ir.Fields that writes a body. It stands inside an object at depth levels of indent.
type encoder struct {
	graph *ir.Graph
	ids   []ir.UUID
	uris  map[*ir.Kind][]byte
	buf   []byte
	depth int
	any   bool // the object has a member already
	outer bool // any of the object around the body
	state bodyState
	err   error
}

const indents = "\n                                                                "

// newline starts a line at the present depth.
func (e *encoder) newline() {
	if n := 1 + 2*e.depth; n <= len(indents) {
		e.buf = append(e.buf, indents[:n]...)
		return
	}
	e.buf = append(e.buf, '\n')
	for range e.depth {
		e.buf = append(e.buf, "  "...)
	}
}

// next starts an item of a list or a member of an object.
func (e *encoder) next(first bool) {
	if !first {
		e.buf = append(e.buf, ',')
	}
	e.newline()
}

// key starts a member.
func (e *encoder) key(name string) {
	e.next(!e.any)
	e.any = true
	e.str(name)
	e.buf = append(e.buf, ':', ' ')
}

// open and shut write an object around the members that are written between them; outer is what open gave.
func (e *encoder) open() (outer bool) {
	e.buf = append(e.buf, '{')
	outer, e.any = e.any, false
	e.depth++
	return outer
}

func (e *encoder) shut(outer bool) {
	e.depth--
	if e.any {
		e.newline()
	}
	e.buf = append(e.buf, '}')
	e.any = outer
}

func (e *encoder) uuid(u ir.UUID) {
	e.buf = append(e.buf, '"')
	e.buf, _ = u.AppendText(e.buf)
	e.buf = append(e.buf, '"')
}

const hexDigits = "0123456789abcdef"

// str writes a string with the fewest escapes.
func (e *encoder) str(s string) {
	e.buf = append(e.buf, '"')
	i := 0
	for i < len(s) && plain[s[i]] {
		i++
	}
	e.buf = append(e.buf, s[:i]...)
	if i < len(s) {
		e.richString(s[i:])
	}
	e.buf = append(e.buf, '"')
}

// richString writes a part of a string that needs care.
func (e *encoder) richString(s string) {
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case plain[c]:
			e.buf = append(e.buf, c)
			i++
		case c < utf8.RuneSelf:
			e.escaped(c)
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n <= 1 && e.err == nil {
				e.err = fmt.Errorf("%q is not UTF-8", s)
			}
			e.buf = append(e.buf, s[i:i+n]...)
			i += n
		}
	}
}

func (e *encoder) escaped(c byte) {
	switch c {
	case '"', '\\':
		e.buf = append(e.buf, '\\', c)
	case '\n':
		e.buf = append(e.buf, `\n`...)
	case '\t':
		e.buf = append(e.buf, `\t`...)
	case '\r':
		e.buf = append(e.buf, `\r`...)
	default:
		e.buf = append(e.buf, `\u00`...)
		e.buf = append(e.buf, hexDigits[c>>4], hexDigits[c&15])
	}
}

func (e *encoder) ints(v []int64) {
	e.buf = append(e.buf, '[')
	for i, x := range v {
		if i > 0 {
			e.buf = append(e.buf, ", "...)
		}
		e.buf = strconv.AppendInt(e.buf, x, 10)
	}
	e.buf = append(e.buf, ']')
}

func (e *encoder) node(n *ir.Node) {
	outer := e.open()
	e.key("id")
	e.uuid(e.ids[n.ID])
	e.key("type")
	e.buf = append(e.buf, e.uri(n.Body.Kind())...)
	if n.Label != "" {
		e.key("label")
		e.str(n.Label)
	}
	e.key("body")
	e.body(n.Body)
	if len(n.Tags()) > 0 {
		e.key("tags")
		tags := e.open()
		for _, t := range n.Tags() {
			e.next(!e.any)
			e.any = true
			e.buf = append(append(e.buf, e.uri(t.Kind())...), ": "...)
			e.body(t)
		}
		e.shut(tags)
	}
	e.shut(outer)
}

// uri gives the type URI of a kind as a string of JSON.
func (e *encoder) uri(k *ir.Kind) []byte {
	text := e.uris[k]
	if text == nil {
		mark := len(e.buf)
		e.str(k.URI)
		text = slices.Clone(e.buf[mark:])
		e.buf, e.uris[k] = e.buf[:mark], text
	}
	return text
}

// body writes a body or a tag: an object, which field opens, or the value of the one field without a name.
func (e *encoder) body(b ir.Body) {
	e.state, e.outer = fresh, e.any
	b.Fields(e)
	switch e.state {
	case fresh:
		e.buf = append(e.buf, "{}"...)
	case inObject:
		e.shut(e.outer)
	}
}

// bodyState says how much of a body has been written.
type bodyState uint8

const (
	fresh    bodyState = iota // nothing
	inObject                  // an object is open
	isValue                   // the body is the value of a field without a name
)

// ref writes a reference by the id of its node.
func (e *encoder) ref(id ir.NodeID) {
	if e.graph.Node(id) != nil {
		e.uuid(e.ids[id])
		return
	}
	if u, ok := e.graph.Dangling(id); ok {
		e.uuid(u)
		return
	}
	e.buf = append(e.buf, "null"...)
}

func (e *encoder) box(r zspace.Range) {
	outer := e.open()
	e.key("start")
	e.ints(r.Start)
	e.key("end")
	e.ints(r.End)
	e.shut(outer)
}

func (e *encoder) affine(a zspace.AffineMap) {
	outer := e.open()
	e.key("projection")
	e.matrix(a.Projection)
	e.key("offset")
	e.ints(a.Offset)
	e.shut(outer)
}

// matrix writes a row a line; one without rows is [[]], as the documents' tools write it.
func (e *encoder) matrix(m zspace.Matrix) {
	if len(m) == 0 {
		e.buf = append(e.buf, "[[]]"...)
		return
	}
	e.list(len(m), func(i int) { e.ints(m[i]) })
}

// list writes an array with an item a line.
func (e *encoder) list(n int, item func(i int)) {
	e.buf = append(e.buf, '[')
	e.depth++
	for i := range n {
		e.next(i == 0)
		item(i)
	}
	e.depth--
	if n > 0 {
		e.newline()
	}
	e.buf = append(e.buf, ']')
}

func (e *encoder) attr(v ir.AttrValue) {
	switch v.Kind {
	case ir.AttrBool:
		e.buf = strconv.AppendBool(e.buf, v.Int != 0)
	case ir.AttrInt:
		e.buf = strconv.AppendInt(e.buf, v.Int, 10)
	case ir.AttrFloat:
		e.float(v.Num)
	case ir.AttrString:
		e.str(v.Str)
	case ir.AttrList:
		e.attrList(v.List)
	case ir.AttrMap:
		e.attrs(v.Map)
	default:
		e.buf = append(e.buf, "null"...)
	}
}

// attrList writes a list on one line if it holds no list and no map.
func (e *encoder) attrList(list []ir.AttrValue) {
	if slices.ContainsFunc(list, func(v ir.AttrValue) bool { return v.Kind >= ir.AttrList }) {
		e.list(len(list), func(i int) { e.attr(list[i]) })
		return
	}
	e.buf = append(e.buf, '[')
	for i, v := range list {
		if i > 0 {
			e.buf = append(e.buf, ", "...)
		}
		e.attr(v)
	}
	e.buf = append(e.buf, ']')
}

func (e *encoder) attrs(a ir.Attrs) {
	outer := e.open()
	for _, x := range a {
		e.key(x.Name)
		e.attr(x.Value)
	}
	e.shut(outer)
}

// float writes a number so that it reads back as one that is no integer: with a fraction or an exponent.
func (e *encoder) float(f float64) {
	switch {
	case math.IsNaN(f):
		if e.err == nil {
			e.err = fmt.Errorf("a parameter is not a number, which JSON cannot say")
		}
	case math.IsInf(f, 0):
		if f < 0 {
			e.buf = append(e.buf, '-')
		}
		e.buf = append(e.buf, infinity...)
	default:
		mark := len(e.buf)
		e.buf = strconv.AppendFloat(e.buf, f, 'g', -1, 64)
		if !bytes.ContainsAny(e.buf[mark:], ".e") {
			e.buf = append(e.buf, ".0"...)
		}
	}
}
