package amanda

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
)

// Lift makes the abstraction of a foreign graph: an op for each operation and constant, an edge for each use of a value. The graph is
// one subgraph op, whose ports are the model's inputs and outputs. Formal ports come from the dictionary, where known has one. A value
// whose name is not that of its op (and port) keeps it as the port's attribute value. What Lower makes of the result is the same
// foreign graph, up to the names of operations that have none.
func Lift(fg *foreign.Graph, known namespace.Set) (*Graph, error) {
	root := &Op{Name: fg.Name, Type: "Graph", Sub: true}
	if root.Name == "" || root.Name == Self {
		root.Name = "model"
	}
	l := &lifter{fg: fg, known: known, root: root, at: map[string]End{}, names: NamesBut(root.Name)}
	g := &Graph{File: fg.File, Ops: []*Op{root}}
	if err := l.versions(g); err != nil {
		return nil, err
	}
	for _, p := range fg.Inputs {
		if fg.Consts[p.Name] == nil {
			root.Inputs = append(root.Inputs, Port{Name: p.Name, Attrs: portAttrs(p)})
			l.at[p.Name] = End{Ref{Name: Self}, Ref{Name: p.Name}}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fg.Consts)) {
		attrs, err := tensorAttrs(fg.Consts[name])
		if err != nil {
			l.fault(name, "constant %q: %v", name, err)
			continue
		}
		o := &Op{Type: initializer, Name: l.names.Unique(name), Attrs: attrs, Outputs: []Port{{Name: "output"}}}
		l.give(o, 0, name)
		root.Ops = append(root.Ops, o)
	}
	made, followed := map[*foreign.Op]*Op{}, map[*foreign.Op]bool{}
	for _, op := range fg.Ops {
		for _, x := range op.After {
			followed[x] = true
		}
	}
	for _, op := range fg.Ops {
		if op.IsOrder() {
			made[op] = l.between(op, followed[op])
		} else {
			made[op] = l.op(op)
		}
	}
	for _, op := range fg.Ops {
		for k, name := range op.In {
			if name != "" {
				l.edge(name, End{Ref{Name: made[op].Name}, Ref{Name: made[op].Inputs[k].Name}}, op.Title())
			}
		}
	}
	l.order(made, followed)
	for _, p := range fg.Outputs {
		root.Outputs = append(root.Outputs, Port{Name: p.Name, Attrs: portAttrs(p)})
		l.edge(p.Name, End{Ref{Name: Self}, Ref{Name: p.Name}}, "the graph's output")
	}
	return g, l.bad.Err()
}

type lifter struct {
	fg     *foreign.Graph
	known  namespace.Set
	domain string // of ops whose type names none
	root   *Op
	at     map[string]End // where each value comes from
	names  Names
	bad    diag.List
}

func (l *lifter) fault(node, format string, args ...any) {
	l.bad = append(l.bad, diag.Errorf(CodeForm, constraint, diag.Location{File: l.fg.File, Node: node}, format, args...))
}

// versions names the namespace, and those of other domains. A model without operators of the default domain is in the namespace of
// another one, the first by name.
func (l *lifter) versions(g *Graph) error {
	domains := slices.Sorted(maps.Keys(l.fg.Versions))
	if len(domains) == 0 {
		return fmt.Errorf("%s: the graph has no version of its vocabulary", l.fg.File)
	}
	l.domain = domains[0]
	ns, ok := l.known.Domain(l.fg.Namespace, l.domain, l.fg.Versions[l.domain])
	if !ok {
		return fmt.Errorf("%s: there is no dictionary of %s %s, version %d", l.fg.File, l.fg.Namespace, l.domain, l.fg.Versions[l.domain])
	}
	g.Namespace = ns.String()
	var others ir.Attrs
	for _, domain := range domains[1:] {
		others = others.With(domain, ir.IntAttr(l.fg.Versions[domain]))
	}
	if others != nil {
		g.Attrs = ir.Attrs{}.With(domainVersions, ir.AttrValue{Kind: ir.AttrMap, Map: others})
	}
	return nil
}

// give says that an output of an op is a value, and keeps its name where it is another than Lower would give it.
func (l *lifter) give(o *Op, port int, value string) {
	p := &o.Outputs[port]
	l.at[value] = End{Ref{Name: o.Name}, Ref{Name: p.Name}}
	name := o.Name
	if len(o.Outputs) > 1 {
		name += ":" + p.Name
	}
	if name != value {
		p.Attrs = p.Attrs.With(ValueName, ir.StringAttr(value))
	}
}

func (l *lifter) op(op *foreign.Op) *Op {
	o := &Op{Type: op.Type, Name: op.Name}
	if op.Domain != l.domain {
		o.Type = op.Domain + ":" + op.Type
	}
	if o.Name == "" {
		o.Name = op.Type
	}
	o.Name = l.names.Unique(o.Name)
	var formal *namespace.Op
	if ns, ok := l.known.Domain(l.fg.Namespace, op.Domain, l.fg.Versions[op.Domain]); ok {
		formal = ns.Op(op.Type)
	}
	if formal == nil {
		formal = &namespace.Op{}
	}
	for i, name := range op.In {
		p := Port{Name: portNameOf(formal.In, i)}
		if name == "" {
			p.Attrs = p.Attrs.With("optional", ir.BoolAttr(true))
		}
		o.Inputs = append(o.Inputs, p)
	}
	for i := range op.Out {
		o.Outputs = append(o.Outputs, Port{Name: portNameOf(formal.Out, i)})
	}
	for i, name := range op.Out {
		if name != "" {
			l.give(o, i, name)
		} else {
			o.Outputs[i].Attrs = o.Outputs[i].Attrs.With("optional", ir.BoolAttr(true))
		}
	}
	attrs, err := liftAttrs(op.Attrs)
	if err != nil {
		l.fault(op.Name, "%s: %v", op.Title(), err)
	}
	o.Attrs = attrs
	l.root.Ops = append(l.root.Ops, o)
	return o
}

// portNameOf names port i; the ports of a variadic one, and those that no dictionary knows, are numbered.
func portNameOf(formal []namespace.Port, i int) string {
	for k, p := range formal {
		switch {
		case p.Variadic:
			return fmt.Sprintf("%s/%d", p.Name, i-k)
		case k == i:
			return p.Name
		}
	}
	return fmt.Sprint(i)
}

func (l *lifter) edge(value string, to End, what string) {
	from, ok := l.at[value]
	if !ok {
		l.fault(what, "%s takes %q, which is not there", what, value)
		return
	}
	l.root.Edges = append(l.root.Edges, Edge{From: from, To: to})
}

// between makes an op for an operation that is only between others, where the vocabulary has one that does; nil where it has none, or none is needed.
func (l *lifter) between(op *foreign.Op, followed bool) *Op {
	if ns, ok := l.known.Domain(l.fg.Namespace, l.domain, l.fg.Versions[l.domain]); !ok || ns.Op(nothing) == nil || !followed && op.Name == "" {
		return nil
	}
	return l.op(&foreign.Op{Name: op.Name, Domain: l.domain, Type: nothing})
}

// order writes what happens before operations as control edges, and what is observed as such edges to the end of the graph.
func (l *lifter) order(made map[*foreign.Op]*Op, followed map[*foreign.Op]bool) {
	known := map[*foreign.Op][]*Op{}
	var before func(op *foreign.Op) []*Op
	before = func(op *foreign.Op) []*Op { // the ops for what happens before an operation
		list, there := known[op]
		for _, x := range op.After {
			switch {
			case there:
			case made[x] != nil:
				list = append(list, made[x])
			default:
				list = append(list, before(x)...)
			}
		}
		known[op] = list
		return list
	}
	for _, op := range l.fg.Ops {
		name := Self
		if made[op] != nil {
			name = made[op].Name
		} else if followed[op] {
			continue
		}
		there := map[*Op]bool{}
		for _, x := range before(op) {
			if !there[x] {
				l.root.Edges = append(l.root.Edges, ControlEdge(x.Name, name))
			}
			there[x] = true
		}
	}
}

func portAttrs(p foreign.Port) ir.Attrs {
	var out ir.Attrs
	if p.DType != scalar.Invalid {
		out = out.With("dtype", ir.StringAttr(namespace.TypeName(p.DType)))
	}
	if p.Ranked {
		shape := ir.AttrValue{Kind: ir.AttrList, List: []ir.AttrValue{}}
		for _, s := range p.Shape {
			v := ir.IntAttr(s.Value)
			if s.Name != "" {
				v = ir.StringAttr(s.Name)
			}
			shape.List = append(shape.List, v)
		}
		out = out.With("shape", shape)
	}
	return out
}

func liftAttrs(list []foreign.Attr) (ir.Attrs, error) {
	var out ir.Attrs
	for _, a := range list {
		v, err := liftValue(a.Value)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", a.Name, err)
		}
		if a.Name == "name" || a.Name == "type" {
			return nil, fmt.Errorf("attribute %s has the name of a builtin attribute of ops", a.Name)
		}
		out = out.With(a.Name, v)
	}
	return out, nil
}

// liftValue gives an attribute's value as the abstraction has it.
func liftValue(v foreign.Value) (ir.AttrValue, error) {
	switch v.Kind {
	case foreign.None:
		return ir.AttrValue{}, nil
	case foreign.Bool:
		return ir.BoolAttr(v.Int != 0), nil
	case foreign.Int:
		return ir.IntAttr(v.Int), nil
	case foreign.Float:
		return ir.FloatAttr(v.Float), nil
	case foreign.String:
		return ir.StringAttr(v.Str), nil
	case foreign.List:
		out := ir.AttrValue{Kind: ir.AttrList, List: []ir.AttrValue{}}
		for _, x := range v.List {
			y, err := liftValue(x)
			if err != nil {
				return out, err
			}
			out.List = append(out.List, y)
		}
		return out, nil
	case foreign.DataKind:
		m, err := tensorAttrs(v.Data)
		return ir.AttrValue{Kind: ir.AttrMap, Map: m}, err
	case foreign.GraphKind:
		return liftInner(v.Graph)
	}
	return ir.AttrValue{}, fmt.Errorf("%v (%s)", v.Kind, v.Str)
}

// liftInner writes a graph that is an attribute, such as a loop's body. It is written by the names of its values, as it may use those of
// the graphs around it.
func liftInner(g *foreign.Graph) (ir.AttrValue, error) {
	out := ir.Attrs{}
	var ports [2]ir.AttrValue
	for i, list := range [][]foreign.Port{g.Inputs, g.Outputs} {
		ports[i] = ir.AttrValue{Kind: ir.AttrList, List: []ir.AttrValue{}}
		for _, p := range list {
			ports[i].List = append(ports[i].List, ir.AttrValue{Kind: ir.AttrMap, Map: portAttrs(p).With("name", ir.StringAttr(p.Name))})
		}
	}
	out = out.With("inputs", ports[0]).With("outputs", ports[1])
	var consts ir.Attrs
	for name, d := range g.Consts {
		m, err := tensorAttrs(d)
		if err != nil {
			return ir.AttrValue{}, err
		}
		consts = consts.With(name, ir.AttrValue{Kind: ir.AttrMap, Map: m})
	}
	ops := ir.AttrValue{Kind: ir.AttrList, List: []ir.AttrValue{}}
	for _, op := range g.Ops {
		attrs, err := liftAttrs(op.Attrs)
		if err != nil {
			return ir.AttrValue{}, err
		}
		typ := op.Domain + ":" + op.Type
		if op.Domain == "" {
			typ = op.Type
		}
		x := ir.Attrs{}.With("type", ir.StringAttr(typ)).With("inputs", nameList(op.In)).With("outputs", nameList(op.Out))
		if op.Name != "" {
			x = x.With("name", ir.StringAttr(op.Name))
		}
		if len(attrs) > 0 {
			x = x.With("attrs", ir.AttrValue{Kind: ir.AttrMap, Map: attrs})
		}
		ops.List = append(ops.List, ir.AttrValue{Kind: ir.AttrMap, Map: x})
	}
	out = out.With("ops", ops)
	if len(consts) > 0 {
		out = out.With("constants", ir.AttrValue{Kind: ir.AttrMap, Map: consts})
	}
	if g.Name != "" {
		out = out.With("name", ir.StringAttr(g.Name))
	}
	return ir.AttrValue{Kind: ir.AttrMap, Map: out}, nil
}

func nameList(names []string) ir.AttrValue {
	out := ir.AttrValue{Kind: ir.AttrList, List: []ir.AttrValue{}}
	for _, n := range names {
		out.List = append(out.List, ir.StringAttr(n))
	}
	return out
}

// inner reads a graph that is an attribute.
func (f *flattener) inner(o *Op, m ir.Attrs) *foreign.Graph {
	g := &foreign.Graph{File: f.g.File, Consts: map[string]*foreign.Data{}}
	text := func(m ir.Attrs, key string) string {
		v, _ := m.Get(key)
		return v.Str
	}
	list := func(m ir.Attrs, key string) []ir.AttrValue {
		v, _ := m.Get(key)
		return v.List
	}
	names := func(m ir.Attrs, key string) []string {
		var out []string
		for _, v := range list(m, key) {
			out = append(out, v.Str)
		}
		return out
	}
	g.Name = text(m, "name")
	for i, key := range []string{"inputs", "outputs"} {
		for _, v := range list(m, key) {
			shape, _ := v.Map.Get("shape")
			p := foreign.Port{Name: text(v.Map, "name"), DType: namespace.DType(text(v.Map, "dtype"))}
			p.Shape, p.Ranked = sizes(shape)
			to := []*[]foreign.Port{&g.Inputs, &g.Outputs}[i]
			*to = append(*to, p)
		}
	}
	consts, _ := m.Get("constants")
	for _, a := range consts.Map {
		d, err := f.data(a.Value, "")
		if err != nil {
			f.fault(o.Place, "op %q, constant %q of a graph in it: %v", o.Name, a.Name, err)
			continue
		}
		g.Consts[a.Name] = d
	}
	for _, v := range list(m, "ops") {
		domain, typ := "", text(v.Map, "type")
		if i := strings.LastIndexByte(typ, ':'); i >= 0 {
			domain, typ = typ[:i], typ[i+1:]
		}
		op := &foreign.Op{Name: text(v.Map, "name"), Domain: domain, Type: typ, In: names(v.Map, "inputs"), Out: names(v.Map, "outputs"),
			Pos: ir.Pos{Line: int32(o.Line), Col: int32(o.Column)}}
		attrs, _ := v.Map.Get("attrs")
		for _, a := range attrs.Map {
			op.Attrs = append(op.Attrs, foreign.Attr{Name: a.Name, Value: f.attribute(o, f.formal(domain, typ), a)})
		}
		g.Ops = append(g.Ops, op)
	}
	return g
}
