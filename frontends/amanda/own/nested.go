package own

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/frontends/amanda/closed"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/inline"
)

// FromIR makes the abstraction of an Operation Expression: an op for each operation, a subgraph for each that uses a definition, an edge for each use of a tensor, and control edges
// for what sequence points order. A composite that selects a part of a tensor is inlined, as a subgraph's port takes all of what an edge brings. ToIR gives the graph back.
func FromIR(g *ir.Graph) (*amanda.Graph, error) {
	if !composite.Used(g) {
		return flat(g)
	}
	g = g.Clone()
	_, err := inline.Run(g, inline.Options{Take: func(_ string, id ir.NodeID) bool { return takesPart(g, id) }})
	if err != nil {
		return nil, err
	}
	return from(g, definition.Of(g))
}

// takesPart says whether an operation selects a part of a tensor.
func takesPart(g *ir.Graph, id ir.NodeID) (part bool) {
	tensorops.OperationOf(g, id).Inputs.All(func(_, _ int, s *ir.Selection) {
		part = part || !s.Range().Equal(tensorops.TensorOf(g, s.Tensor).Range)
	})
	return part
}

// from writes a graph, whose definitions are removed, with subgraphs for all that use one.
func from(g *ir.Graph, all map[string]*definition.Definition) (*amanda.Graph, error) {
	for n := range g.Nodes() {
		if n.Body.Kind() == definition.Kind {
			g.Remove(n.ID)
		}
	}
	out, err := flat(g)
	if err != nil {
		return nil, err
	}
	for _, op := range out.Ops[0].Ops {
		name, used := definition.Used(op.Type)
		if !used || all[name] == nil {
			continue
		}
		inside, err := from(composite.Program(all[name], all), all)
		if err != nil {
			return nil, err
		}
		closed.Fill(op, inside.Ops[0])
	}
	return out, nil
}

// ToIR makes an Operation Expression of a graph in the namespace of tapc's kernels, with a definition for the subgraphs of each type def:NAME. Those of one type that are the same share it; another
// of the type has a name of its own. A definition has no order inside, and no sequence point names an operation that uses one: subgraphs with control edges, inside or outside, are taken apart. The graph
// must have passed amanda.Check.
func ToIR(g *amanda.Graph, lib *kernels.Library) (*ir.Graph, error) {
	r := &reader{file: g.File, namespace: g.Namespace, lib: lib, all: map[string]*definition.Definition{}}
	ops, err := closed.Ops(g.Ops, g.Edges, r.define)
	if err != nil {
		return nil, err
	}
	plain := *g
	plain.Ops = ops
	out, err := raised(&plain, lib)
	if err != nil {
		return nil, err
	}
	for _, name := range r.names {
		out.Add(r.all[name], "")
	}
	return out, nil
}

// reader makes definitions of subgraphs.
type reader struct {
	file, namespace string
	lib             *kernels.Library
	all             map[string]*definition.Definition
	names           []string // in the order in which they were made
}

// define makes the definition of a subgraph of the type of one, and gives the kernel of an operation that uses it.
func (r *reader) define(op *amanda.Op) (string, bool, error) {
	name, used := definition.Used(op.Type)
	if !used {
		return "", false, nil
	}
	g, err := raised(&amanda.Graph{File: r.file, Namespace: r.namespace, Ops: []*amanda.Op{op}}, r.lib)
	if err != nil {
		return "", false, err
	}
	d, err := composite.Of(g, name)
	if err != nil {
		return "", false, err
	}
	for i := 2; r.all[d.Name] != nil; i++ {
		if ir.EqualBody(r.all[d.Name], d) {
			return definition.Space + d.Name, true, nil
		}
		d.Name = fmt.Sprintf("%s_%d", name, i)
	}
	r.all[d.Name] = d
	r.names = append(r.names, d.Name)
	return definition.Space + d.Name, true, nil
}
