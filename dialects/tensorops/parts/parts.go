// Package parts is what a graph keeps of operations that were cut along what they reduce: the operation itself, as a node that nobody carries out, and a mark on what
// is in its place. So the cut can be taken back.
//
// It must not import dialects/tensorops, which has it in its environment. Read next: constraint.go; dialects/application/cut, which hides operations and gives them back.
package parts

import "tensortapestry.org/tapc/ir"

const base = "http://tensortapestry.org/schemas/tapc/2026-11/operation.jsd#/"

// WholeKind is the kind of operations in whose place others are, PartKind that of the mark of these.
var (
	WholeKind = &ir.Kind{URI: base + "nodes/Whole", Keyword: "whole", Num: 19, New: func() ir.Body { return new(Whole) }}
	PartKind  = &ir.Kind{URI: base + "tags/Part", Keyword: "part", Num: 10, New: func() ir.Body { return new(Part) }}
)

// Whole is an operation as it was before it was cut. Name was the label of its node. It reads and gives nothing.
type Whole struct {
	Name    string
	Kernel  string
	Params  ir.Attrs
	Inputs  ir.Ports
	Outputs ir.Ports
}

// Kind is WholeKind.
func (*Whole) Kind() *ir.Kind { return WholeKind }

// Fields names the label and what an operation has.
func (w *Whole) Fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "name", Style: ir.Positional}, &w.Name)
	f.String(ir.Field{Num: 2, Name: "kernel", Style: ir.Positional}, &w.Kernel)
	f.Attrs(ir.Field{Num: 3, Name: "params", Style: ir.Positional, Optional: true}, &w.Params)
	f.Ports(ir.Field{Num: 4, Name: "inputs", Style: ir.Positional, Optional: true}, &w.Inputs)
	f.Ports(ir.Field{Num: 5, Name: "outputs", Style: ir.Arrow, Optional: true}, &w.Outputs)
}

// Ports gives the ports of the operation that it was.
func (w *Whole) Ports() (in, out *ir.Ports) { return &w.Inputs, &w.Outputs }

// Former says that nobody carries it out: drawings dash what it read and gave.
func (*Whole) Former() {}

// Part marks an operation or a tensor that is there because an operation was cut.
type Part struct{}

// Kind is PartKind.
func (*Part) Kind() *ir.Kind { return PartKind }

// Fields visits nothing.
func (*Part) Fields(ir.Fields) {}

// Is says whether a node is there because an operation was cut.
func Is(n *ir.Node) bool { return n.Tag(PartKind) != nil }

// Forget takes the way back away from a graph: what operations were, the marks, and tensors of the former that no operation has any more. Who changes operations
// otherwise than by cuts calls it before.
func Forget(g *ir.Graph) {
	var wholes []ir.NodeID
	for n := range g.Nodes() {
		if n.Body.Kind() == WholeKind {
			wholes = append(wholes, n.ID)
		}
	}
	if wholes == nil {
		return
	}
	var had, used ir.NodeSet
	for _, id := range wholes {
		w := g.Node(id).Body.(*Whole)
		had.AddPorts(w.Inputs)
		had.AddPorts(w.Outputs)
		g.Remove(id)
	}
	for n := range g.Nodes() {
		n.DropTag(PartKind)
		if b, ok := n.Body.(ir.Ported); ok {
			in, out := b.Ports()
			used.AddPorts(*in)
			used.AddPorts(*out)
		}
	}
	for n := range g.Nodes() {
		if had.Has(n.ID) && !used.Has(n.ID) {
			g.Remove(n.ID)
		}
	}
}
