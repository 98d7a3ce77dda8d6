package own

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/amanda"
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
		fill(op, inside.Ops[0])
	}
	return out, nil
}

// fill makes an op the subgraph that another is. What ports are called, and what is said of the outputs, stays; the order is that of the definition.
func fill(op, inside *amanda.Op) {
	op.Sub, op.Ops, op.Edges = true, inside.Ops, inside.Edges
	merge := func(ports, of []amanda.Port) (out []amanda.Port) {
		for _, p := range of {
			if i := slices.IndexFunc(ports, func(q amanda.Port) bool { return q.Name == p.Name }); i >= 0 {
				for _, a := range ports[i].Attrs {
					p.Attrs = p.Attrs.With(a.Name, a.Value)
				}
			}
			out = append(out, p)
		}
		return out
	}
	op.Inputs, op.Outputs = merge(op.Inputs, inside.Inputs), merge(op.Outputs, inside.Outputs)
}

// ToIR makes an Operation Expression of a graph in the namespace of tapc's kernels, with a definition for the subgraphs of each type def:NAME. Those of one type that are the same share it; another
// of the type has a name of its own. A definition has no order inside, and no sequence point names an operation that uses one: subgraphs with control edges, inside or outside, are taken apart. The graph
// must have passed amanda.Check.
func ToIR(g *amanda.Graph, lib *kernels.Library) (*ir.Graph, error) {
	r := &reader{file: g.File, namespace: g.Namespace, lib: lib, all: map[string]*definition.Definition{}}
	ops, err := r.closed(g.Ops, g.Edges)
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

// closed gives ops in which each subgraph of a definition is an op without an inside.
func (r *reader) closed(ops []*amanda.Op, edges []amanda.Edge) ([]*amanda.Op, error) {
	out, ordered := make([]*amanda.Op, len(ops)), orderedOps(edges)
	for i, op := range ops {
		if out[i] = op; !op.Sub {
			continue
		}
		inside, err := r.closed(op.Ops, op.Edges)
		if err != nil {
			return nil, err
		}
		o := *op
		out[i], o.Ops = &o, inside
		name, used := definition.Used(op.Type)
		if !used || op.Name != "" && ordered[amanda.Ref{Name: op.Name}] || ordered[amanda.Ref{Index: i}] || hasOrder(op) {
			continue
		}
		if name, err = r.define(&o, name); err != nil {
			return nil, err
		}
		o.Type, o.Sub, o.Ops, o.Edges = definition.Space+name, false, nil, nil
		o.Attrs = nil
		o.Inputs = slices.Clone(op.Inputs)
		for k := range o.Inputs { // a type and a shape of an input are those of the definition
			o.Inputs[k].Attrs = nil
		}
	}
	return out, nil
}

// orderedOps gives the ops that control edges name, as they name them.
func orderedOps(edges []amanda.Edge) map[amanda.Ref]bool {
	out := map[amanda.Ref]bool{}
	for _, e := range edges {
		if e.From.Port == (amanda.Ref{Index: amanda.Control}) {
			out[e.From.Op], out[e.To.Op] = true, true
		}
	}
	return out
}

// hasOrder says whether there are control edges in a subgraph, or in those in it.
func hasOrder(op *amanda.Op) bool {
	return len(orderedOps(op.Edges)) > 0 || slices.ContainsFunc(op.Ops, hasOrder)
}

// define makes the definition of a subgraph, and gives its name.
func (r *reader) define(op *amanda.Op, name string) (string, error) {
	o := *op
	o.Outputs = slices.Clone(op.Outputs)
	for i := range o.Outputs { // the name of the value is one outside
		o.Outputs[i].Attrs = o.Outputs[i].Attrs.Without("value")
	}
	g, err := raised(&amanda.Graph{File: r.file, Namespace: r.namespace, Ops: []*amanda.Op{&o}}, r.lib)
	if err != nil {
		return "", err
	}
	d, err := composite.Of(g, name)
	if err != nil {
		return "", err
	}
	for i := 2; r.all[d.Name] != nil; i++ {
		if ir.EqualBody(r.all[d.Name], d) {
			return d.Name, nil
		}
		d.Name = fmt.Sprintf("%s_%d", name, i)
	}
	r.all[d.Name] = d
	r.names = append(r.names, d.Name)
	return d.Name, nil
}
