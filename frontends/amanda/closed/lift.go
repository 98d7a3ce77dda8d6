package closed

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// maxLifted bounds the ops that the calls of functions become, which multiply when they nest.
const maxLifted = 1 << 20

// Lift is amanda.Lift, but for calls of the graph's functions, which are subgraphs. Lower gives the same functions back.
func Lift(fg *foreign.Graph, known namespace.Set) (*amanda.Graph, error) {
	l := &lifter{known: known, left: maxLifted}
	return l.graph(fg, fg.Functions)
}

// lifter makes subgraphs of calls.
type lifter struct {
	known namespace.Set
	left  int // ops that may still be made
}

// graph lifts a graph that calls some functions.
func (l *lifter) graph(fg *foreign.Graph, functions []*foreign.Graph) (*amanda.Graph, error) {
	plain := *fg
	plain.Versions = maps.Clone(fg.Versions)
	for _, f := range functions { // a domain that has only these is none of the vocabulary
		if _, there := l.known.Domain(fg.Namespace, f.Domain, plain.Versions[f.Domain]); !there {
			delete(plain.Versions, f.Domain)
		}
	}
	g, err := amanda.Lift(&plain, l.known)
	if err != nil {
		return nil, err
	}
	program, k := g.Ops[0], -1
	namedAsInputs(program)
	for _, op := range fg.Ops {
		i := slices.IndexFunc(functions, func(f *foreign.Graph) bool { return f.Domain == op.Domain && f.Name == op.Type })
		if i < 0 {
			continue
		}
		f, typ := functions[i], op.Type
		if op.Domain != slices.Min(slices.Collect(maps.Keys(plain.Versions))) {
			typ = op.Domain + ":" + op.Type
		}
		for k++; program.Ops[k].Type != typ; k++ { // ops are in the order of operations, with constants before them
		}
		at := diag.Location{File: fg.File, Line: int(op.Pos.Line), Column: int(op.Pos.Col), Node: op.Name}
		switch l.left -= len(f.Ops); {
		case l.left < 0:
			return nil, diag.Errorf(amanda.CodeForm, "amanda-graph", at, "the calls of functions are more than %d operations", maxLifted)
		case len(op.In) > len(f.Inputs) || len(op.Out) > len(f.Outputs):
			return nil, diag.Errorf(amanda.CodeForm, "amanda-graph", at, "%s has %d inputs and %d outputs, and the function has %d and %d", op.Title(), len(op.In), len(op.Out), len(f.Inputs), len(f.Outputs))
		}
		for domain, version := range fg.Versions {
			if v, named := f.Versions[domain]; named && v != version {
				return nil, diag.Errorf(amanda.CodeForm, "amanda-graph", at, "the function of %s is in version %d of its vocabulary, and the graph in version %d", op.Title(), v, version)
			}
		}
		body := &foreign.Graph{Name: program.Ops[k].Name, File: fg.File, Namespace: fg.Namespace, Versions: fg.Versions, Consts: f.Consts, Inputs: untyped(f.Inputs), Outputs: untyped(f.Outputs), Ops: f.Bound(op.Attrs)}
		inside, err := l.graph(body, slices.Delete(slices.Clone(functions), i, i+1))
		if err != nil {
			return nil, err
		}
		if fg.Namespace != "onnx" || f.Domain == foreign.Definitions {
			program.Ops[k].Type = foreign.DefinitionOf(f.Domain, f.Name)
		}
		program.Ops[k].Attrs = nil
		named(program.Edges, program.Ops[k], inside.Ops[0])
		Fill(program.Ops[k], inside.Ops[0])
	}
	return g, nil
}

// untyped gives the names of ports: a function has neither types nor shapes.
func untyped(ports []foreign.Port) []foreign.Port {
	out := make([]foreign.Port, len(ports))
	for i, p := range ports {
		out[i].Name = p.Name
	}
	return out
}

// named gives the ports of an op, which are numbers, the names that those of another have, in edges too.
func named(edges []amanda.Edge, op, as *amanda.Op) {
	side := func(ports, names []amanda.Port, end func(e *amanda.Edge) *amanda.End) {
		for i := range edges {
			if e := end(&edges[i]); e.Op.Name == op.Name && e.Port.Name != "" {
				k, _ := strconv.Atoi(e.Port.Name)
				e.Port.Name = names[k].Name
			}
		}
		for k := range ports {
			ports[k].Name = names[k].Name
		}
	}
	side(op.Inputs, as.Inputs, func(e *amanda.Edge) *amanda.End { return &e.To })
	side(op.Outputs, as.Outputs, func(e *amanda.Edge) *amanda.End { return &e.From })
}

// Fill makes an op the subgraph that another is. What is said of its ports stays; the order is that of the other, and ports that it does not have are left out.
func Fill(op, inside *amanda.Op) {
	op.Sub, op.Ops, op.Edges = true, inside.Ops, inside.Edges
	merge := func(ports, of []amanda.Port) (out []amanda.Port) {
		for _, p := range of {
			i := slices.IndexFunc(ports, func(q amanda.Port) bool { return q.Name == p.Name })
			if i < 0 {
				p.Attrs = p.Attrs.With("optional", ir.BoolAttr(true))
			} else {
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

// namedAsInputs gives outputs the names of inputs back that amanda.Lower put its suffix behind.
func namedAsInputs(program *amanda.Op) {
	has := func(list []amanda.Port, name string) bool {
		return slices.ContainsFunc(list, func(p amanda.Port) bool { return p.Name == name })
	}
	for i, p := range program.Outputs {
		name, ok := strings.CutSuffix(p.Name, amanda.OutputSuffix)
		for cut := ok; cut && !has(program.Inputs, name); {
			name, cut = strings.CutSuffix(name, amanda.OutputSuffix)
		}
		if !ok || !has(program.Inputs, name) || has(program.Outputs, name) {
			continue
		}
		program.Outputs[i].Name = name
		for k, e := range program.Edges {
			if e.To.Op.Name == amanda.Self && e.To.Port.Name == p.Name {
				program.Edges[k].To.Port.Name = name
			}
		}
	}
}
