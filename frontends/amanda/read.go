package amanda

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// Codes of what is wrong with a file of a graph, and with the graph.
const (
	CodeForm      = "TAP1421" // not the YAML of a graph: a key that means nothing, a value of another kind
	CodeReference = "TAP1422" // an edge to an op or a port that is not there
	CodeName      = "TAP1423" // a name that two have
	CodeFanIn     = "TAP1424" // two edges into one data input
	CodeKinds     = "TAP1425" // a data port joined to a control port
	CodeCycle     = "TAP1426" // ops that wait for each other
	CodeType      = "TAP1427" // an edge between ports of different element types
	CodeOpen      = "TAP1428" // a port that no edge reaches
	CodePorts     = "TAP1430" // a port, a tensor or a graph in an op that its namespace does not have so
	CodeTwice     = "TAP1429" // an edge that is there twice, which is one edge: a warning
)

// maxNest bounds how deep a file may nest.
const maxNest = 64

type reader struct {
	file string
	bad  diag.List
}

// Read reads a graph, in YAML or (when it begins with a brace and a quote) in JSON. All faults of form are reported, with line and column; Check finds
// the others. Aliases are not followed, so what is read is never larger than the file.
func Read(data []byte, file string) (*Graph, error) {
	r := &reader{file: file}
	top, err := document(data)
	if err != nil {
		d := diag.Errorf(CodeForm, ir.StageParse, diag.Location{File: file}, "%v", err)
		var at *syntaxError
		if errors.As(err, &at) {
			d.Location.Line, d.Location.Column = at.line, at.column
		}
		return nil, d
	}
	g := &Graph{File: file}
	kinds := 0
	r.fields(top, func(key string, v *yaml.Node) bool {
		switch key {
		case "graph":
			g.Place = place(v)
			r.graph(v, g)
		case "subgraph":
			g.Ops = append(g.Ops, r.op(v, true, 0))
		case "op":
			g.Ops = append(g.Ops, r.op(v, false, 0))
		default:
			return false
		}
		kinds++
		return true
	})
	if kinds != 1 && len(r.bad) == 0 {
		r.report(top, "one of graph, subgraph and op", fmt.Sprint(kinds), "a file holds one graph")
	}
	if err := r.bad.Err(); err != nil {
		return nil, err
	}
	return g, nil
}

var jsonStart = regexp.MustCompile(`^\s*\{\s*"`)

// document reads the only document of a file.
func document(data []byte) (*yaml.Node, error) {
	if jsonStart.Match(data) {
		return readJSON(data)
	}
	in := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := in.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty: expected a graph, subgraph or op")
		}
		return nil, yamlError(err)
	}
	if err := in.Decode(&more); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, yamlError(err)
		}
		return nil, &syntaxError{more.Line, more.Column, "more than one document in a file"}
	}
	if len(doc.Content) != 1 {
		return nil, errors.New("the file is empty: expected a graph, subgraph or op")
	}
	return doc.Content[0], nil
}

// syntaxError is a fault in the YAML or JSON itself.
type syntaxError struct {
	line, column int
	text         string
}

func (e *syntaxError) Error() string { return e.text }

// yamlError finds the line in an error of the YAML library, which has it in its text.
func yamlError(err error) error {
	text := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " ")
	e := &syntaxError{text: "not YAML: " + text}
	if m := lineOf.FindStringSubmatch(text); m != nil {
		e.line, _ = strconv.Atoi(m[1])
	}
	return e
}

var lineOf = regexp.MustCompile(`line (\d+)`)

func place(n *yaml.Node) Place { return Place{n.Line, n.Column} }

func (r *reader) fault(n *yaml.Node, format string, args ...any) diag.Diagnostic {
	return diag.Errorf(CodeForm, ir.StageParse, diag.Location{File: r.file, Line: n.Line, Column: n.Column}, format, args...)
}

// maxFaults bounds how many faults of form are reported, for a file may have one in every byte.
const maxFaults = 100

func (r *reader) report(n *yaml.Node, expected, found, format string, args ...any) {
	if len(r.bad) >= maxFaults {
		return
	}
	r.bad = append(r.bad, r.fault(n, format, args...).Want(expected, found))
}

// fields calls f for every entry of a map; a key that f does not take, or that is there twice, is a fault.
func (r *reader) fields(n *yaml.Node, f func(key string, v *yaml.Node) bool) {
	if n.Kind != yaml.MappingNode {
		r.report(n, "a map", kindOf(n), "a value of another kind")
		return
	}
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode:
			r.report(key, "a key that is a string", kindOf(key), "a key of another kind")
		case seen[key.Value]:
			r.report(key, "each key once", strconv.Quote(key.Value)+" twice", "a key is there twice")
		case !f(key.Value, n.Content[i+1]):
			r.report(key, "a key of the graph's form", strconv.Quote(key.Value), "a key that means nothing here")
		}
		seen[key.Value] = true
	}
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	if text := []rune(n.Value); len(text) > 60 {
		return strconv.Quote(string(text[:60]) + "…")
	}
	return strconv.Quote(n.Value)
}

func (r *reader) text(n *yaml.Node, into *string) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		r.report(n, "a string, in quotes if it looks like something else", kindOf(n), "a value of another kind")
		return
	}
	*into = n.Value
}

func (r *reader) list(n *yaml.Node, f func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		r.report(n, "a list", kindOf(n), "a value of another kind")
		return
	}
	for _, x := range n.Content {
		f(x)
	}
}

func (r *reader) graph(n *yaml.Node, g *Graph) {
	r.fields(n, func(key string, v *yaml.Node) bool {
		switch key {
		case "namespace":
			r.text(v, &g.Namespace)
		case "attrs":
			g.Attrs = r.attrs(v)
		case "ops":
			r.list(v, func(x *yaml.Node) { g.Ops = append(g.Ops, r.op(x, false, 1)) })
		case "edges":
			r.list(v, func(x *yaml.Node) { g.Edges = append(g.Edges, r.edge(x)) })
		default:
			return false
		}
		return true
	})
	r.builtin(n, g.Attrs, "namespace", &g.Namespace)
}

// op reads an op; one that has ops or edges is a subgraph.
func (r *reader) op(n *yaml.Node, sub bool, depth int) *Op {
	o := &Op{Sub: sub, Place: place(n)}
	if depth > maxNest {
		r.report(n, fmt.Sprintf("at most %d levels", maxNest), "more", "subgraphs are nested too deep")
		return o
	}
	r.fields(n, func(key string, v *yaml.Node) bool {
		switch key {
		case "name":
			r.text(v, &o.Name)
		case "type":
			r.text(v, &o.Type)
		case "attrs":
			o.Attrs = r.attrs(v)
		case "input_ports":
			r.list(v, func(x *yaml.Node) { o.Inputs = append(o.Inputs, r.port(x)) })
		case "output_ports":
			r.list(v, func(x *yaml.Node) { o.Outputs = append(o.Outputs, r.port(x)) })
		case "ops":
			o.Sub = true
			r.list(v, func(x *yaml.Node) { o.Ops = append(o.Ops, r.op(x, false, depth+1)) })
		case "edges":
			o.Sub = true
			r.list(v, func(x *yaml.Node) { o.Edges = append(o.Edges, r.edge(x)) })
		default:
			return false
		}
		return true
	})
	r.builtin(n, o.Attrs, "name", &o.Name)
	r.builtin(n, o.Attrs, "type", &o.Type)
	return o
}

// builtin takes a builtin attribute that stands among the others; it may not say something else than its own key.
func (r *reader) builtin(n *yaml.Node, attrs ir.Attrs, name string, into *string) {
	v, ok := attrs.Get(name)
	if !ok || v.Kind != ir.AttrString {
		return
	}
	if *into != "" && *into != v.Str {
		r.report(n, strconv.Quote(*into), strconv.Quote(v.Str), "the attribute %s says something else than the key of this name", name)
	}
	*into = v.Str
}

func (r *reader) port(n *yaml.Node) Port {
	p := Port{Place: place(n)}
	r.fields(n, func(key string, v *yaml.Node) bool {
		switch key {
		case "name":
			r.text(v, &p.Name)
		case "attrs":
			p.Attrs = r.attrs(v)
		default:
			return false
		}
		return true
	})
	r.builtin(n, p.Attrs, "name", &p.Name)
	return p
}

func (r *reader) edge(n *yaml.Node) Edge {
	e := Edge{Place: place(n)}
	have := 0
	r.fields(n, func(key string, v *yaml.Node) bool {
		switch key {
		case "output_port":
			e.From = r.end(v)
			have |= 1
		case "input_port":
			e.To = r.end(v)
			have |= 2
		case "attrs":
			e.Attrs = r.attrs(v)
		default:
			return false
		}
		return true
	})
	if have != 3 && n.Kind == yaml.MappingNode {
		r.report(n, "output_port and input_port", "one of them", "an edge without an end")
	}
	return e
}

func (r *reader) end(n *yaml.Node) End {
	e := End{}
	have := 0
	r.fields(n, func(key string, v *yaml.Node) bool {
		switch key {
		case "op":
			e.Op = r.ref(v, 0)
			have |= 1
		case "port":
			e.Port = r.ref(v, Control)
			have |= 2
		default:
			return false
		}
		return true
	})
	if have != 3 && n.Kind == yaml.MappingNode {
		r.report(n, "op and port", "one of them", "an end of an edge names an op and a port")
	}
	return e
}

// ref reads a name or an index: an integer of YAML is an index, and a string is a name, a quoted number too.
func (r *reader) ref(n *yaml.Node, least int) Ref {
	if n.Kind != yaml.ScalarNode {
		r.report(n, "a name or an index", kindOf(n), "a value of another kind")
		return Ref{}
	}
	if n.Tag == "!!int" {
		i, err := strconv.ParseInt(n.Value, 0, 32)
		if err != nil || int(i) < least {
			r.report(n, fmt.Sprintf("an index of at least %d", least), n.Value, "an index that addresses nothing")
		}
		return Ref{Index: int(i)}
	}
	if n.Value == "" || n.Tag != "!!str" {
		r.report(n, "a name or an index", kindOf(n), "a reference that names nothing")
	}
	return Ref{Name: n.Value}
}

func (r *reader) attrs(n *yaml.Node) ir.Attrs {
	var out []ir.Attr
	r.fields(n, func(key string, v *yaml.Node) bool {
		out = append(out, ir.Attr{Name: key, Value: r.value(v, 0)})
		return true
	})
	return sorted(out)
}

func sorted(list []ir.Attr) ir.Attrs {
	slices.SortStableFunc(list, func(a, b ir.Attr) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(list, func(a, b ir.Attr) bool { return a.Name == b.Name }) // those that are there twice are reported
}

// value reads an attribute's value.
func (r *reader) value(n *yaml.Node, depth int) ir.AttrValue {
	if depth > maxNest {
		r.report(n, fmt.Sprintf("at most %d levels", maxNest), "more", "a value is nested too deep")
		return ir.AttrValue{}
	}
	switch n.Kind {
	case yaml.SequenceNode:
		out := ir.AttrValue{Kind: ir.AttrList, List: make([]ir.AttrValue, 0, len(n.Content))}
		for _, x := range n.Content {
			out.List = append(out.List, r.value(x, depth+1))
		}
		return out
	case yaml.MappingNode:
		var list []ir.Attr
		r.fields(n, func(key string, v *yaml.Node) bool {
			list = append(list, ir.Attr{Name: key, Value: r.value(v, depth+1)})
			return true
		})
		return ir.AttrValue{Kind: ir.AttrMap, Map: sorted(list)}
	case yaml.AliasNode:
		r.report(n, "a value", "an alias", "aliases are not read")
		return ir.AttrValue{}
	}
	return r.scalar(n)
}

func (r *reader) scalar(n *yaml.Node) ir.AttrValue {
	var err error
	var out ir.AttrValue
	switch n.Tag {
	case "!!null":
	case "!!bool":
		var b bool
		err = n.Decode(&b)
		out = ir.BoolAttr(b)
	case "!!int":
		var i int64
		err = n.Decode(&i)
		out = ir.IntAttr(i)
	case "!!float":
		var f float64
		err = n.Decode(&f)
		if strings.Trim(n.Value, "+-0123456789") == "" {
			err = strconv.ErrRange // an integer that is too large
		}
		out = ir.FloatAttr(f)
	case "!!str", "!!timestamp":
		out = ir.StringAttr(n.Value)
	default:
		r.report(n, "a value without a tag", n.Tag, "a value of a kind that is not read")
	}
	if err != nil {
		r.report(n, "a number of 64 bits", strconv.Quote(n.Value), "a value that does not fit")
	}
	return out
}
