// Package own is Amanda graphs in the namespace of tapc's kernels: operations are written as ops, those that use definitions as subgraphs of the type def:NAME, what
// sequence points order as control edges; and all of it is read again. Subgraphs of other types are definitions too, on request.
//
// It must not import a form of files. Read next: own.go, order.go, raise.go, ports.go, then nested.go.
package own

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/frontends/amanda/closed"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
)

const constraint = "amanda-graph"

// Attributes of ports in the namespace of tapc's kernels: where a tensor's range begins when that is not at zero, and which box of it an
// operation takes when that is not all of it.
const (
	startAttr = "start"
	boxAttr   = "select" // a list of [from, to] for each dimension

	memoryAttr = closed.Memory
	roomAttr   = closed.Room
)

// ioAttr is the attribute of ops with the tag IOSequencePoint.
const ioAttr = "IOSequencePoint"

// builtin are the names of attributes of ops that are no parameters.
var builtin = []string{"name", "type", ioAttr}

// params gives the parameters of an op.
func params(op *amanda.Op) ir.Attrs {
	out := op.Attrs
	for _, name := range builtin {
		out = out.Without(name)
	}
	return slices.DeleteFunc(slices.Clone(out), func(a ir.Attr) bool { return isRemark(a.Name) })
}

// flat makes the abstraction of an Operation Expression: an op for each operation in the namespace of tapc's kernels, an edge for each
// tensor from its producer to each consumer. Output ports carry dtype and shape. Tags are left out, as they follow from the
// kernels, but for IOSequencePoint; observed tensors are the outputs.
func flat(g *ir.Graph) (*amanda.Graph, error) {
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		return nil, err
	}
	root := &amanda.Op{Name: "program", Type: "Graph", Sub: true}
	l := &lifter{g: g, root: root, names: amanda.NamesBut(root.Name), at: map[ir.NodeID]amanda.End{}, made: map[ir.NodeID]*amanda.Op{}}
	for i, x := range p.Inputs {
		if _, file := p.Sources[i]; !file {
			root.Inputs = append(root.Inputs, amanda.Port{Name: x.Name, Attrs: tensorPort(tensorops.TensorOf(g, x.Tensor))})
			l.at[x.Tensor] = self(x.Name)
		}
	}
	for n := range g.Nodes() {
		switch o := n.Body.(type) {
		case *tensorops.Operation:
			if o.HasResource() || !o.IsExport() && !o.IsImport() {
				l.operation(n, o)
			}
		case *tensorops.Tensor, *tensorops.Note, *sequence.Point:
		default:
			l.fault(n.Label, "a node of kind %s has no place in the namespace of kernels: only Operation Expressions have one", n.Body.Kind().Keyword)
		}
	}
	for n := range g.Nodes() {
		if o := l.made[n.ID]; o != nil {
			i := 0
			n.Body.(*tensorops.Operation).Inputs.All(func(_, _ int, s *ir.Selection) {
				l.edge(s.Tensor, amanda.End{Op: amanda.Ref{Name: o.Name}, Port: amanda.Ref{Name: o.Inputs[i].Name}}, o.Name)
				i++
			})
		}
	}
	aliases, bad := tensorops.AliasesOf(g)
	l.bad = append(l.bad, bad...)
	for i, x := range p.Outputs {
		if _, file := p.Sinks[i]; !file {
			port := amanda.Port{Name: x.Name, Attrs: tensorPort(tensorops.TensorOf(g, x.Tensor))}
			if i := slices.IndexFunc(aliases, func(a tensorops.Alias) bool { return a.Output == x.Name }); i >= 0 {
				port.Attrs = port.Attrs.With(memoryAttr, ir.StringAttr(aliases[i].Input)).With(roomAttr, ir.IntsAttr(aliases[i].Room...))
			}
			root.Outputs = append(root.Outputs, port)
			l.edge(x.Tensor, self(x.Name), "output "+x.Name)
		}
	}
	l.order()
	return &amanda.Graph{File: g.File, Namespace: namespace.Own, Ops: []*amanda.Op{root}}, l.bad.Err()
}

// lifter makes ops of a graph.
type lifter struct {
	g     *ir.Graph
	root  *amanda.Op
	names amanda.Names
	at    map[ir.NodeID]amanda.End // where each tensor comes from
	made  map[ir.NodeID]*amanda.Op // of each operation
	bad   diag.List
}

// self is an end of an edge at a port of the subgraph around.
func self(port string) amanda.End {
	return amanda.End{Op: amanda.Ref{Name: amanda.Self}, Port: amanda.Ref{Name: port}}
}

func (l *lifter) fault(node, format string, args ...any) {
	l.bad = append(l.bad, diag.Errorf(amanda.CodeForm, constraint, diag.Location{File: l.g.File, Node: node}, format, args...))
}

func (l *lifter) edge(tensor ir.NodeID, to amanda.End, what string) {
	from, ok := l.at[tensor]
	if !ok {
		l.fault(what, "%s takes %s, which nothing gives", what, l.g.Name(tensor))
		return
	}
	l.root.Edges = append(l.root.Edges, amanda.Edge{From: from, To: to})
}

func (l *lifter) operation(n *ir.Node, o *tensorops.Operation) {
	name := n.Label
	if name == "" {
		name = o.Kernel[strings.LastIndexByte(o.Kernel, ':')+1:]
	}
	op := &amanda.Op{Name: l.names.Unique(name), Type: o.Kernel, Attrs: o.Params}
	for _, p := range o.Params {
		if isRemark(p.Name) || slices.Contains(builtin, p.Name) {
			l.fault(op.Name, "the parameter %s of %s has the name of a builtin attribute of ops, or of a remark", p.Name, o.Kernel)
		}
	}
	if n.Tag(tensorops.IOSequencePointKind) != nil {
		op.Attrs = op.Attrs.With(ioAttr, ir.AttrValue{Kind: ir.AttrMap})
	}
	portOf := func(ports ir.Ports, i, k int) string {
		if len(ports.At(i).Sel) > 1 {
			return fmt.Sprintf("%s/%d", ports.At(i).Name, k)
		}
		return ports.At(i).Name
	}
	o.Inputs.All(func(i, k int, s *ir.Selection) {
		x := amanda.Port{Name: portOf(o.Inputs, i, k)}
		if t := tensorops.TensorOf(l.g, s.Tensor); t != nil && !s.Range().Equal(t.Range) {
			x.Attrs = x.Attrs.With(boxAttr, boxOf(s.Range()))
		}
		op.Inputs = append(op.Inputs, x)
	})
	o.Outputs.All(func(i, k int, s *ir.Selection) {
		t := tensorops.TensorOf(l.g, s.Tensor)
		if t == nil || !s.Range().Equal(t.Range) {
			l.fault(op.Name, "%s writes a part of a tensor, which an output port can not", o.Kernel)
			return
		}
		x := amanda.Port{Name: portOf(o.Outputs, i, k), Attrs: tensorPort(t)}
		if label := l.g.Node(s.Tensor).Label; label != "" {
			x.Attrs = x.Attrs.With(amanda.ValueName, ir.StringAttr(label))
		}
		op.Outputs = append(op.Outputs, x)
		l.at[s.Tensor] = amanda.End{Op: amanda.Ref{Name: op.Name}, Port: amanda.Ref{Name: x.Name}}
	})
	l.root.Ops, l.made[n.ID] = append(l.root.Ops, op), op
}

func tensorPort(t *tensorops.Tensor) ir.Attrs {
	out := ir.Attrs{}.With("dtype", ir.StringAttr(t.DType)).With("shape", ir.IntsAttr(t.Range.Shape()...))
	if start := t.Range.Start; slices.ContainsFunc(start, func(x int64) bool { return x != 0 }) {
		out = out.With(startAttr, ir.IntsAttr(start...))
	}
	return out
}

func boxOf(r zspace.Range) ir.AttrValue {
	out := ir.AttrValue{Kind: ir.AttrList, List: []ir.AttrValue{}}
	start, end := r.Start, r.End
	for i := range start {
		out.List = append(out.List, ir.IntsAttr(start[i], end[i]))
	}
	return out
}
