package own

import (
	"cmp"
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

// ToIR makes an Operation Expression of a graph in the namespace of tapc's kernels, with a definition for the subgraphs of each type def:NAME and, with all, for each other subgraph that can be
// one, whose name is its type, or its name where it has no type. Those of one type that are the same share it; another of the type has a name of its own. A definition has no order inside and no effects,
// and no sequence point names an operation that uses one: subgraphs with control edges, inside or outside, are taken apart, and so are others that can be none. The inputs and outputs
// of the program are the same either way. The graph must have passed amanda.Check.
func ToIR(g *amanda.Graph, lib *kernels.Library, all bool) (*ir.Graph, error) {
	if err := meaning(g); err != nil {
		return nil, err
	}
	whole, err := raised(g, lib, nil, nil)
	if err != nil {
		return nil, err
	}
	typed, err := whole.ports(g)
	if err != nil {
		return nil, err
	}
	r := &reader{file: g.File, namespace: g.Namespace, lib: lib, others: all, all: map[string]*definition.Definition{}}
	plain, err := closed.Program(typed, r.define)
	if err != nil || len(r.names) == 0 {
		return whole.g, err
	}
	out, err := raised(plain, lib, r.all, whole.as)
	if err != nil {
		return nil, err
	}
	for _, name := range r.names {
		out.g.Add(r.all[name], "")
	}
	return out.g, nil
}

// reader makes definitions of subgraphs.
type reader struct {
	file, namespace string
	lib             *kernels.Library
	others          bool // subgraphs of other types than def:NAME too
	all             map[string]*definition.Definition
	names           []string // in the order in which they were made
}

// define makes the definition of a subgraph, and gives the kernel of an operation that uses it.
func (r *reader) define(op *amanda.Op) (string, bool, error) {
	name, used := definition.Used(op.Type)
	if !used && !r.others {
		return "", false, nil
	}
	d, err := r.definition(op, cmp.Or(name, op.Name, "subgraph"))
	if err != nil || d == nil {
		return "", false, nil // it is taken apart, as where the whole graph was read
	}
	base := d.Name
	for i := 2; r.all[d.Name] != nil; i++ {
		if ir.EqualBody(r.all[d.Name], d) {
			return definition.Space + d.Name, true, nil
		}
		d.Name = fmt.Sprintf("%s_%d", base, i)
	}
	r.all[d.Name] = d
	r.names = append(r.names, d.Name)
	return definition.Space + d.Name, true, nil
}

// definition makes what is inside of a subgraph a definition; nil of one that takes other values than come in at its ports, or leaves a port out.
func (r *reader) definition(op *amanda.Op, name string) (*definition.Definition, error) {
	b, err := raised(&amanda.Graph{File: r.file, Namespace: r.namespace, Ops: []*amanda.Op{op}}, r.lib, r.all, nil)
	if err != nil {
		return nil, err
	}
	d, err := composite.Of(b.g, name)
	if err != nil || len(d.Inputs) != len(op.Inputs) || len(d.Outputs) != len(op.Outputs) {
		return nil, err
	}
	return d, nil
}
