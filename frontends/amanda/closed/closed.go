// Package closed reads the subgraphs of an Amanda graph as functions: each is an op without an inside, and its inside a graph of its own.
//
// It knows no kernels: package own makes definitions of the subgraphs of tapc's vocabulary, and frontends/mapping of those of others. It must not import a form of files. Read next:
// closed.go, then lower.go.
package closed

import (
	"slices"

	"tensortapestry.org/tapc/frontends/amanda"
)

// Ops gives ops in which each subgraph that a function can be is an op without an inside. Define makes one of a subgraph, whose own subgraphs are closed before, and gives the type of the op; ok
// is false for a subgraph that stays. A function takes place at no time: subgraphs with control edges, inside or outside, stay, and so do those of which a port is fed by nothing.
func Ops(ops []*amanda.Op, edges []amanda.Edge, define func(op *amanda.Op) (typ string, ok bool, err error)) ([]*amanda.Op, error) {
	out, ends := make([]*amanda.Op, len(ops)), endsOf(edges)
	for i, op := range ops {
		if out[i] = op; !op.Sub {
			continue
		}
		inside, err := Ops(op.Ops, op.Edges, define)
		if err != nil {
			return nil, err
		}
		o := *op
		o.Ops, o.Outputs = inside, slices.Clone(op.Outputs)
		for k := range o.Outputs { // the name of the value is one outside
			o.Outputs[k].Attrs = o.Outputs[k].Attrs.Without(amanda.ValueName)
		}
		typ, ok := "", ends.all(op, i) && !hasOrder(op)
		if ok {
			typ, ok, err = define(&o)
		}
		if o.Outputs = op.Outputs; err != nil {
			return nil, err
		}
		if ok {
			o.Type, o.Sub, o.Ops, o.Edges, o.Attrs = typ, false, nil, nil, nil
		}
		out[i] = &o
	}
	return out, nil
}

// Program gives a graph in which each subgraph that a function can be is an op without an inside, as Ops does, but for the subgraph that is the program, if there is nothing else.
func Program(g *amanda.Graph, define func(op *amanda.Op) (typ string, ok bool, err error)) (*amanda.Graph, error) {
	plain, err := *g, error(nil)
	if len(g.Ops) == 1 && g.Ops[0].Sub {
		program := *g.Ops[0]
		plain.Ops = []*amanda.Op{&program}
		program.Ops, err = Ops(program.Ops, program.Edges, define)
		return &plain, err
	}
	plain.Ops, err = Ops(g.Ops, g.Edges, define)
	return &plain, err
}

// fed is the ends of edges, as edges name them, and the ops that are ordered.
type fed map[amanda.End]bool

func endsOf(edges []amanda.Edge) fed {
	out := fed{}
	for _, e := range edges {
		out[e.To] = true
		if e.From.Port == control {
			out[e.From] = true
		}
	}
	return out
}

var control = amanda.Ref{Index: amanda.Control}

// all says whether all input ports of an op are fed or left out, and it is not ordered.
func (f fed) all(op *amanda.Op, index int) bool {
	at := func(name string, index int, of amanda.Ref) bool {
		return f[amanda.End{Op: of, Port: amanda.Ref{Index: index}}] || name != "" && f[amanda.End{Op: of, Port: amanda.Ref{Name: name}}]
	}
	either := func(name string, port int) bool {
		return at(name, port, amanda.Ref{Index: index}) || op.Name != "" && at(name, port, amanda.Ref{Name: op.Name})
	}
	for k, p := range op.Inputs {
		if !either(p.Name, k) && !amanda.Optional(p) {
			return false
		}
	}
	return !either("", amanda.Control)
}

// hasOrder says whether there are control edges in a subgraph, or in those in it.
func hasOrder(op *amanda.Op) bool {
	ordered := func(e amanda.Edge) bool { return e.From.Port == control }
	return slices.ContainsFunc(op.Edges, ordered) || slices.ContainsFunc(op.Ops, hasOrder)
}
