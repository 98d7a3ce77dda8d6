package closed

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/ir/diag"
)

// Bodies are the functions of a graph, by the type of the ops that call them.
type Bodies map[string]*foreign.Graph

// Function gives the body of an operation of the graph, or nil.
func (b Bodies) Function(domain, op string) *foreign.Graph {
	if domain != "" {
		op = domain + ":" + op
	}
	return b[op]
}

// Check holds a graph and its functions to the dictionaries of their vocabulary.
func (b Bodies) Check(known namespace.Set, fg *foreign.Graph) diag.List {
	local := func(domain, op string) bool { return amanda.IsAdded(domain, op) || b.Function(domain, op) != nil }
	list := known.Check(fg, local)
	for _, typ := range slices.Sorted(maps.Keys(b)) {
		list = append(list, known.Check(b[typ], local)...)
	}
	return list
}

// Lower is amanda.Lower, but for subgraphs if these are functions: operations in the domain of definitions call them, whose names are those that definitions have. The program's inputs and outputs
// are the same; where they would not be, as where a subgraph brings something in from outside, it is taken apart. Ports that say whose memory they have are refused: only graphs of tapc's kernels can.
func Lower(g *amanda.Graph, dir string, known namespace.Set, functions bool) (*foreign.Graph, Bodies, error) {
	if err := ownMemory(g.File, g.Ops).Err(); err != nil {
		return nil, nil, err
	}
	whole, err := amanda.Lower(g, dir, known)
	if err != nil || !functions {
		return whole, nil, err
	}
	r := &reader{of: g, dir: dir, known: known, onnx: whole.Namespace == "onnx", texts: map[string]string{}, bodies: Bodies{}}
	plain, err := Program(g, r.define)
	if err != nil || len(r.bodies) == 0 {
		return whole, nil, err
	}
	fg, err := amanda.Lower(plain, dir, known)
	if err != nil || !slices.EqualFunc(fg.Inputs, whole.Inputs, samePort) || len(fg.Outputs) != len(whole.Outputs) {
		return whole, nil, nil
	}
	Rename(fg, whole.Outputs)
	return fg, r.bodies, nil
}

// Attributes of an output of a program of tapc's kernels: the input whose memory it has, and the shape of that memory.
const (
	Memory = "memory"
	Room   = "room"
)

// CodeMeaning is the code of an attribute that means nothing where it is.
const CodeMeaning = "TAP0862"

// ownMemory reports ports that say whose memory they have.
func ownMemory(file string, ops []*amanda.Op) (bad diag.List) {
	for _, o := range ops {
		for _, p := range slices.Concat(o.Inputs, o.Outputs) {
			for _, name := range []string{Memory, Room} {
				if _, there := p.Attrs.Get(name); there {
					at := diag.Location{File: file, Line: p.Line, Column: p.Column, Node: o.Name}
					bad = append(bad, diag.Errorf(CodeMeaning, "amanda-graph", at, "port %q: the attribute %s means nothing in this vocabulary", p.Name, name).
						Want("no memory that an output has of an input, which graphs of "+namespace.Own+" can say", name))
				}
			}
		}
		bad = append(bad, ownMemory(file, o.Ops)...)
	}
	return bad
}

// samePort says whether two inputs are the same.
func samePort(a, b foreign.Port) bool {
	return a.Name == b.Name && a.DType == b.DType && a.Ranked == b.Ranked && a.Reason == b.Reason && slices.Equal(a.Shape, b.Shape)
}

// Rename gives a graph's outputs the names that they have in another; a value that has one of these gets the old name in exchange.
func Rename(fg *foreign.Graph, outputs []foreign.Port) {
	to := map[string]string{}
	for i, p := range fg.Outputs {
		if name := outputs[i].Name; name != p.Name {
			to[name], to[p.Name] = cmp.Or(to[p.Name], p.Name), name
			fg.Outputs[i].Name = name
		}
	}
	for _, op := range fg.Ops {
		for _, names := range [][]string{op.In, op.Out} {
			for i, name := range names {
				names[i] = cmp.Or(to[name], name)
			}
		}
	}
}

// reader makes functions of the subgraphs of a graph.
type reader struct {
	of     *amanda.Graph
	dir    string
	known  namespace.Set
	onnx   bool
	texts  map[string]string // the type of an op that calls a subgraph, by what that is
	bodies Bodies
}

// define makes the function of a subgraph, whose name is its type, and gives the type of an op that calls it.
func (r *reader) define(op *amanda.Op) (string, bool, error) {
	one := &amanda.Graph{File: r.of.File, Namespace: r.of.Namespace, Attrs: r.of.Attrs, Ops: []*amanda.Op{op}}
	var text bytes.Buffer
	if err := amanda.Write(&text, one); err != nil {
		return "", false, err
	}
	if typ := r.texts[text.String()]; typ != "" {
		return typ, true, nil
	}
	body, err := amanda.Lower(one, r.dir, r.known)
	if err != nil {
		return "", false, err
	}
	if len(body.Inputs) != len(op.Inputs) || len(body.Outputs) != len(op.Outputs) || len(op.Outputs) == 0 {
		return "", false, nil // it brings something in, or gives nothing
	}
	body.Name = cmp.Or(op.Type, op.Name, "subgraph")
	if i := strings.LastIndexByte(body.Name, ':'); r.onnx && i >= 0 {
		body.Name = foreign.DefinitionOf(body.Name[:i], body.Name[i+1:])
	}
	typ := foreign.Definitions + ":" + body.Name
	for i := 2; r.bodies[typ] != nil; i++ {
		typ = fmt.Sprintf("%s:%s#%d", foreign.Definitions, body.Name, i)
	}
	r.texts[text.String()], r.bodies[typ] = typ, body
	return typ, true, nil
}
