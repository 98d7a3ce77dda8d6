package text

import (
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Options say what Write writes beside the nodes' meaning.
type Options struct {
	IDs        bool // the ids of the graph and of its nodes
	Positions  bool // where each node stands in the file that the graph came from
	Provenance bool // which rewrite made a node, and from where
	GraphOrder bool // nodes in the graph's own order, not in reading order
}

// Write writes the graph as text: in reading order, names from labels, a selection of a whole tensor without its range. The
// output depends on the graph alone. A value that text cannot say (a ragged matrix, a range that starts beyond its end, a string
// that is not UTF-8) is an error that names the node; w then has at most the nodes before it.
func Write(w io.Writer, g *ir.Graph, o Options) error {
	e := &encoder{graph: g, options: o}
	var order iter.Seq[*ir.Node] = g.Nodes()
	if !o.GraphOrder && !inReadingOrder(g) {
		order = slices.Values(readingOrder(g))
	}
	e.names = nameNodes(g, order)
	e.header()
	for n := range order {
		e.node(n)
		if e.err != nil {
			return fmt.Errorf("%s: %w", g.Name(n.ID), e.err)
		}
		if len(e.buf) > 1<<16 {
			if _, err := w.Write(e.buf); err != nil {
				return err
			}
			e.buf = e.buf[:0]
		}
	}
	_, err := w.Write(e.buf)
	return err
}

// encoder is the ir.Fields that writes a body. It stands behind a word, to which it adds.
type encoder struct {
	graph   *ir.Graph
	options Options
	names   *nodeNames
	buf     []byte
	group   bool // braces with named fields are open
	bare    bool // nothing has been written of a list's item
	nested  int  // lists around
	err     error
}

func (e *encoder) put(s string) { e.buf = append(e.buf, s...) }

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}

func (e *encoder) header() {
	e.put("tapc ")
	e.buf = strconv.AppendInt(e.buf, Version, 10)
	if e.options.IDs && e.graph.HasID {
		e.id(e.graph.ID)
	}
	if e.options.Positions {
		e.put(" " + wordFile + " ")
		e.quoted(e.graph.File)
	}
	e.put("\n")
}

func (e *encoder) id(u ir.UUID) {
	e.put(" @")
	e.buf, _ = u.AppendText(e.buf)
}

// node writes one node: a line, and a line for each tag.
func (e *encoder) node(n *ir.Node) {
	if e.names.has(n.ID) {
		e.put("%")
		mark := len(e.buf)
		e.buf = e.names.append(e.buf, n.ID)
		if n.Label != "" && n.Label != string(e.buf[mark:]) {
			e.put(" ")
			e.quoted(n.Label)
		}
		e.put(" = ")
	}
	e.body(n.Body)
	if id, given := n.UUID(); given && e.options.IDs {
		e.id(id)
	}
	if e.options.Positions && n.Pos != (ir.Pos{}) {
		e.put(" " + wordPlace)
		e.pos(n.Pos, '(')
		e.put(")")
	}
	if o := n.Origin(); o != nil && e.options.Provenance {
		e.origin(o)
	}
	for _, t := range n.Tags() {
		e.put("\n    ")
		e.body(t)
	}
	e.put("\n")
}

func (e *encoder) pos(p ir.Pos, open byte) {
	e.buf = append(e.buf, open)
	e.buf = strconv.AppendInt(e.buf, int64(p.Line), 10)
	e.buf = append(e.buf, ':')
	e.buf = strconv.AppendInt(e.buf, int64(p.Col), 10)
	if p.Doc != 0 {
		e.buf = append(e.buf, '#')
		e.buf = strconv.AppendInt(e.buf, int64(p.Doc), 10)
	}
}

func (e *encoder) origin(o *ir.Origin) {
	e.put(" " + wordOrigin + " ")
	e.quoted(o.Rule)
	open := byte('[')
	for _, p := range o.From {
		if open == '[' {
			e.put(" ")
		}
		e.pos(p, open)
		open = ','
	}
	if open == ',' {
		e.put("]")
	}
}

// body writes the keyword and the fields of a body or a tag.
func (e *encoder) body(b ir.Body) {
	e.put(b.Kind().Keyword)
	b.Fields(e)
	e.shut()
}

// shut closes the braces around named fields.
func (e *encoder) shut() {
	if e.group {
		e.put("}")
	}
	e.group = false
}

// quoted writes a string in quotes.
func (e *encoder) quoted(s string) {
	if !utf8.ValidString(s) {
		e.fail("%q is not UTF-8", s)
	}
	e.buf = strconv.AppendQuote(e.buf, s)
}

// ref writes a reference: a name, or the id of a node that is not there, or "?" for nothing.
func (e *encoder) ref(id ir.NodeID) {
	if e.graph.Node(id) != nil {
		e.buf = append(e.buf, '%')
		e.buf = e.names.append(e.buf, id)
		return
	}
	e.buf = append(e.buf, '?')
	if u, ok := e.graph.Dangling(id); ok {
		e.buf, _ = u.AppendText(e.buf)
	}
}

func (e *encoder) ints(v []int64) {
	e.buf = append(e.buf, '[')
	for i, x := range v {
		e.comma(i)
		e.buf = strconv.AppendInt(e.buf, x, 10)
	}
	e.buf = append(e.buf, ']')
}

func (e *encoder) comma(i int) {
	if i > 0 {
		e.buf = append(e.buf, ", "...)
	}
}

func (e *encoder) box(r zspace.Range) {
	if err := r.Validate(); err != nil {
		e.fail("%w", err)
		return
	}
	e.buf = append(e.buf, '[')
	for i := range r.Start {
		e.comma(i)
		e.buf = strconv.AppendInt(e.buf, r.Start[i], 10)
		e.buf = append(e.buf, ':')
		e.buf = strconv.AppendInt(e.buf, r.End[i], 10)
	}
	e.buf = append(e.buf, ']')
}

// selection writes a tensor's name and, unless it is the whole tensor, the box.
func (e *encoder) selection(s ir.Selection) {
	e.ref(s.Tensor)
	if n := e.graph.Node(s.Tensor); n != nil {
		if whole, ok := n.Body.(fullRanger); ok && whole.FullRange().Equal(s.Range()) {
			return
		}
	}
	e.box(s.Range())
}

// fullRanger is a body with a range of its own, which a selection without a range takes.
type fullRanger interface{ FullRange() zspace.Range }

// key writes the name of a port or a parameter.
func (e *encoder) key(name string) {
	if isIdentifier(name) {
		e.put(name)
	} else {
		e.quoted(name)
	}
	e.put(": ")
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
		e.quoted(v.Str)
	case ir.AttrList:
		e.buf = append(e.buf, '[')
		for i, x := range v.List {
			e.comma(i)
			e.attr(x)
		}
		e.buf = append(e.buf, ']')
	case ir.AttrMap:
		e.attrs(v.Map)
	default:
		e.put("null")
	}
}

func (e *encoder) attrs(a ir.Attrs) {
	e.buf = append(e.buf, '{')
	for i, x := range a {
		e.comma(i)
		e.key(x.Name)
		e.attr(x.Value)
	}
	e.buf = append(e.buf, '}')
}

// float writes a number so that it is no integer: with a fraction, an exponent or as a word.
func (e *encoder) float(f float64) {
	switch {
	case math.IsNaN(f):
		e.put("nan")
	case math.IsInf(f, 1):
		e.put("inf")
	case math.IsInf(f, -1):
		e.put("-inf")
	default:
		mark := len(e.buf)
		e.buf = strconv.AppendFloat(e.buf, f, 'g', -1, 64)
		if !strings.ContainsAny(string(e.buf[mark:]), ".e") {
			e.put(".0")
		}
	}
}
