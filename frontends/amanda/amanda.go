// Package amanda is the graph abstraction that fits every framework's graphs: ops with named input and output ports, data and control
// edges, subgraphs that are ops, attributes on everything.
//
// Read takes the YAML (or JSON) of the Amanda design, Check holds a graph to its invariants, Write gives the same form back,
// always in the same order. Nothing here knows what an op means: a namespace's dictionary does (package
// frontends/namespace), and rules map it (package frontends/mapping). It must not import a format of another framework. Read
// next: read.go, check.go, then lower.go.
package amanda

import (
	"fmt"

	"tensortapestry.org/tapc/ir"
)

// Control is the index that addresses an op's control port, on either side.
const Control = -1

// Graph is a graph of ops. A file that holds one subgraph is a graph with that op alone.
type Graph struct {
	File      string
	Namespace string
	Attrs     ir.Attrs
	Ops       []*Op
	Edges     []Edge
	Place
}

// Op is a computation, or a subgraph when Sub is set: then Ops and Edges are its inside.
type Op struct {
	Name, Type      string
	Inputs, Outputs []Port
	Attrs           ir.Attrs
	Sub             bool
	Ops             []*Op
	Edges           []Edge
	Place
}

// Port is an input or an output of an op.
type Port struct {
	Name  string
	Attrs ir.Attrs
	Place
}

// Edge carries a value, or a control signal, from an output port to an input port. Inside of a subgraph the roles of its own
// ports turn round: values come from its inputs and go to its outputs.
type Edge struct {
	From, To End
	Attrs    ir.Attrs
	Place
}

// End is one end of an edge.
type End struct{ Op, Port Ref }

// Ref is a name or, when Name is "", an index: of an op in its graph, or of a port on its side. The op Self is the subgraph around.
type Ref struct {
	Name  string
	Index int
}

// Self addresses the subgraph around an edge, named or not.
const Self = "."

// Place is where something stands in a file; lines and columns count from 1, and 0 is unknown.
type Place struct{ Line, Column int }

// String writes the reference as a file does.
func (r Ref) String() string {
	if r.Name != "" {
		return fmt.Sprintf("%q", r.Name)
	}
	return fmt.Sprint(r.Index)
}

// title names an op for messages: its name, or its type and index.
func (o *Op) title(index int) string {
	if o.Name != "" {
		return fmt.Sprintf("%q", o.Name)
	}
	return fmt.Sprintf("number %d", index)
}

// ControlEdge is an edge that says that one op happens before another.
func ControlEdge(from, to string) Edge {
	control := Ref{Index: Control}
	return Edge{From: End{Ref{Name: from}, control}, To: End{Ref{Name: to}, control}}
}

// Names are those that are taken.
type Names struct {
	taken map[string]bool
	next  map[string]int // the number that a name got last
}

// NamesBut gives names of which one is taken, and that of the subgraph around.
func NamesBut(name string) Names {
	return Names{map[string]bool{name: true, Self: true}, map[string]int{}}
}

// Unique gives a name that no other has: the one that it is given, with a number if need be.
func (n Names) Unique(name string) string {
	try := name
	for n.taken[try] || try == "" {
		n.next[name]++
		try = fmt.Sprintf("%s_%d", name, n.next[name]+1)
	}
	n.taken[try] = true
	return try
}

// ValueName is the attribute of an output port with the name of the value that it gives.
const ValueName = "value"

// nothing is the operator that computes nothing, in vocabularies that have one.
const nothing = "NoOp"
