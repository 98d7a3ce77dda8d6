package amanda

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Attributes of ports in the namespace of tapc's kernels: where a tensor's range begins when that is not at zero, and which box of it an
// operation takes when that is not all of it.
const (
	startAttr = "start"
	boxAttr   = "select" // a list of [from, to] for each dimension
)

// FromIR makes the abstraction of an Operation Expression: an op for each operation in the namespace of tapc's kernels, an edge for each
// tensor from its producer to each consumer. Output ports carry dtype and shape. Tags are left out, as they follow from the
// kernels; observed tensors are the outputs. ToIR gives the graph back.
func FromIR(g *ir.Graph) (*Graph, error) {
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		return nil, err
	}
	root := &Op{Name: "program", Type: "Graph", Sub: true}
	l := &lifter{fg: &foreign.Graph{File: g.File}, root: root, at: map[string]End{}, taken: map[string]bool{root.Name: true, Self: true}}
	key := func(id ir.NodeID) string { return fmt.Sprintf("%%%d", id) }
	for _, x := range p.Inputs {
		root.Inputs = append(root.Inputs, Port{Name: x.Name, Attrs: tensorPort(tensorops.TensorOf(g, x.Tensor))})
		l.at[key(x.Tensor)] = End{Ref{Name: Self}, Ref{Name: x.Name}}
	}
	made := map[ir.NodeID]*Op{}
	for n := range g.Nodes() {
		switch o := n.Body.(type) {
		case *tensorops.Operation:
			if !o.IsExport() && !o.IsImport() {
				made[n.ID] = l.operation(g, n, o, key)
			}
		case *tensorops.Tensor, *tensorops.Note:
		default:
			l.fault(n.Label, "a node of kind %s has no place in the namespace of kernels: only Operation Expressions have one", n.Body.Kind().Keyword)
		}
	}
	for n := range g.Nodes() {
		if o := made[n.ID]; o != nil {
			i := 0
			n.Body.(*tensorops.Operation).Inputs.All(func(_, _ int, s *ir.Selection) {
				l.edge(key(s.Tensor), End{Ref{Name: o.Name}, Ref{Name: o.Inputs[i].Name}}, o.Name)
				i++
			})
		}
	}
	for _, x := range p.Outputs {
		root.Outputs = append(root.Outputs, Port{Name: x.Name, Attrs: tensorPort(tensorops.TensorOf(g, x.Tensor))})
		l.edge(key(x.Tensor), End{Ref{Name: Self}, Ref{Name: x.Name}}, "output "+x.Name)
	}
	return &Graph{File: g.File, Namespace: namespace.Own, Ops: []*Op{root}}, l.bad.Err()
}

func (l *lifter) operation(g *ir.Graph, n *ir.Node, o *tensorops.Operation, key func(ir.NodeID) string) *Op {
	name := n.Label
	if name == "" {
		name = o.Kernel[strings.LastIndexByte(o.Kernel, ':')+1:]
	}
	op := &Op{Name: l.unique(name), Type: o.Kernel, Attrs: o.Params}
	for _, reserved := range []string{"name", "type"} {
		if _, ok := o.Params.Get(reserved); ok {
			l.fault(op.Name, "the parameter %s of %s has the name of a builtin attribute of ops", reserved, o.Kernel)
		}
	}
	portOf := func(ports ir.Ports, i, k int) string {
		if len(ports.At(i).Sel) > 1 {
			return fmt.Sprintf("%s/%d", ports.At(i).Name, k)
		}
		return ports.At(i).Name
	}
	o.Inputs.All(func(i, k int, s *ir.Selection) {
		x := Port{Name: portOf(o.Inputs, i, k)}
		if t := tensorops.TensorOf(g, s.Tensor); t != nil && !s.Range().Equal(t.Range) {
			x.Attrs = x.Attrs.With(boxAttr, boxOf(s.Range()))
		}
		op.Inputs = append(op.Inputs, x)
	})
	o.Outputs.All(func(i, k int, s *ir.Selection) {
		t := tensorops.TensorOf(g, s.Tensor)
		if t == nil || !s.Range().Equal(t.Range) {
			l.fault(op.Name, "%s writes a part of a tensor, which an output port can not", o.Kernel)
			return
		}
		x := Port{Name: portOf(o.Outputs, i, k), Attrs: tensorPort(t)}
		if label := g.Node(s.Tensor).Label; label != "" {
			x.Attrs = x.Attrs.With(valueName, ir.StringAttr(label))
		}
		op.Outputs = append(op.Outputs, x)
		l.at[key(s.Tensor)] = End{Ref{Name: op.Name}, Ref{Name: x.Name}}
	})
	l.root.Ops = append(l.root.Ops, op)
	return op
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

// ToIR makes an Operation Expression of a graph in the namespace of tapc's kernels. A type or shape that a port does not say comes from
// the kernel's own rules. The graph must have passed Check.
func ToIR(g *Graph, lib *kernels.Library) (*ir.Graph, error) {
	f, err := flatten(g, "", namespace.All())
	if err != nil {
		return nil, err
	}
	b := &raiser{f: f, lib: lib, g: ir.New(), tensors: map[string]ir.NodeID{}, outputs: map[string]bool{}}
	b.g.File = g.File
	for _, p := range f.out.Outputs {
		b.outputs[p.Name] = true
	}
	for _, p := range f.out.Inputs {
		b.input(p)
	}
	tensorops.StateInputs(b.g, b.named(f.out.Inputs))
	for _, op := range namespace.Order(f.out.Ops) {
		if op.Domain == "tapc" && op.Type == Output {
			b.copy(op)
			continue
		}
		b.operation(op)
	}
	if err := b.bad.Err(); err != nil {
		return nil, err
	}
	tensorops.StateOutputs(b.g, b.named(f.out.Outputs))
	return b.g, nil
}

func (b *raiser) named(ports []foreign.Port) []tensorops.Named {
	out := make([]tensorops.Named, len(ports))
	for i, p := range ports {
		out[i] = tensorops.Named{Name: p.Name, Tensor: b.tensors[p.Name]}
	}
	return out
}

// raiser builds a graph of tapc.
type raiser struct {
	f       *flattener
	lib     *kernels.Library
	g       *ir.Graph
	tensors map[string]ir.NodeID
	outputs map[string]bool
	bad     diag.List
}

func (b *raiser) fault(op *foreign.Op, format string, args ...any) {
	at := diag.Location{File: b.g.File, Line: int(op.Pos.Line), Column: int(op.Pos.Col), Node: op.Name}
	b.bad = append(b.bad, diag.Errorf(CodePorts, constraint, at, format, args...))
}

// input adds a tensor that the program takes, as the port or source that brings it says.
func (b *raiser) input(p foreign.Port) {
	t, err := tensorOf(b.f.ports[p.Name])
	if err != nil || t == nil {
		b.fault(&foreign.Op{Name: p.Name}, "the input %s needs a dtype and a shape of sizes", p.Name)
		t = &tensorops.Tensor{}
	}
	b.tensors[p.Name] = b.g.Add(t, p.Name).ID
}

func (b *raiser) all(name string) []ir.Selection {
	id := b.tensors[name]
	return []ir.Selection{ir.Select(id, tensorops.TensorOf(b.g, id).Range)}
}

func (b *raiser) add(kernel string, in, out ir.Ports, params ir.Attrs, pos ir.Pos) {
	b.g.Add(&tensorops.Operation{Kernel: kernel, Params: params, Inputs: in, Outputs: out}, "").Pos = pos
}

// copy gives a value that is an input, or another output, a tensor of its own under an output's name.
func (b *raiser) copy(op *foreign.Op) {
	if _, ok := b.tensors[op.In[0]]; !ok {
		return // its producer is at fault
	}
	from := b.all(op.In[0])
	t := *tensorops.TensorOf(b.g, from[0].Tensor)
	b.tensors[op.Out[0]] = b.g.Add(&t, op.Out[0]).ID
	b.add("op:copy", ir.PortsOf([]ir.Port{{Name: "tensor", Sel: from}}), ir.PortsOf([]ir.Port{{Name: "result", Sel: b.all(op.Out[0])}}), nil, op.Pos)
}

func (b *raiser) operation(op *foreign.Op) {
	from := b.f.made[op]
	var in, out ir.Ports
	for i, name := range op.In {
		if name == "" {
			continue
		}
		if _, ok := b.tensors[name]; !ok {
			return // its producer is at fault
		}
		sel := b.all(name)
		port := from.op.Inputs[from.in[i]]
		if box, ok := port.Attrs.Get(boxAttr); ok {
			r, err := rangeOf(box)
			if err != nil {
				b.fault(op, "port %s: %v", port.Name, err)
				return
			}
			sel[0].SetRange(r)
		}
		in = put(in, port.Name, sel)
	}
	types := b.results(op, from, in)
	if types == nil && len(op.Out) > 0 {
		return
	}
	for i, name := range op.Out {
		if name == "" {
			continue
		}
		label := name
		if v, ok := from.op.Outputs[from.out[i]].Attrs.Get(valueName); !ok || v.Str == "" {
			if !b.outputs[name] {
				label = ""
			}
		}
		b.tensors[name] = b.g.Add(types[i], label).ID
		out = put(out, from.op.Outputs[from.out[i]].Name, b.all(name))
	}
	kernel := op.Type
	if !strings.Contains(kernel, ":") {
		kernel = "op:" + kernel
	}
	b.add(kernel, in, out, from.op.Attrs.Without("name").Without("type"), op.Pos)
}

// put adds a selection to the port that a name such as x or x/1 stands for.
func put(ports ir.Ports, name string, sel []ir.Selection) ir.Ports {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[:i]
	}
	if p := ports.Get(name); p != nil {
		sel = append(p.Sel, sel...)
	}
	return ports.With(ir.Port{Name: name, Sel: sel})
}

// results gives the tensors of an operation's outputs: as their ports say, or as the kernel's rules find them.
func (b *raiser) results(op *foreign.Op, from *flat, in ir.Ports) []*tensorops.Tensor {
	out := make([]*tensorops.Tensor, len(op.Out))
	missing := false
	for i, k := range from.out {
		if k < 0 {
			continue
		}
		t, err := tensorOf(from.op.Outputs[k].Attrs)
		if err != nil {
			b.fault(op, "output %s: %v", from.op.Outputs[k].Name, err)
			return nil
		}
		out[i] = t
		missing = missing || t == nil
	}
	if !missing {
		return out
	}
	decl, ok := b.lib.Find(op.Type)
	if !ok {
		b.fault(op, "%s is no kernel of tapc, so its outputs need a dtype and a shape", op.Type)
		return nil
	}
	c := kernels.Call{Params: from.op.Attrs.Without("name").Without("type")}
	for _, p := range in.Each() {
		x := kernels.PortSel{Name: p.Name}
		for _, s := range p.Sel {
			x.Sel = append(x.Sel, kernels.Selected{Sel: s, Type: tensorops.TensorOf(b.g, s.Tensor).Type()})
		}
		c.Inputs = append(c.Inputs, x)
	}
	shapes, types, err := decl.Infer(c)
	for i := range out {
		if err != nil || i >= len(shapes) || types[i] == scalar.Invalid {
			b.fault(op, "the type and shape of its outputs can not be told (%v): give their ports a dtype and a shape", err)
			return nil
		}
		r, err := zspace.FromShape(shapes[i]...)
		if err != nil {
			b.fault(op, "%v", err)
			return nil
		}
		if out[i] == nil {
			out[i] = &tensorops.Tensor{DType: types[i].String(), Range: r}
		}
	}
	return out
}

// tensorOf reads what a port says about its tensor; nil if it does not say all.
func tensorOf(attrs ir.Attrs) (*tensorops.Tensor, error) {
	dtype, okType := attrs.Get("dtype")
	v, okShape := attrs.Get("shape")
	shape, okInts := v.Ints()
	if !okType || !okShape || !okInts {
		return nil, nil
	}
	start := make([]int64, len(shape))
	if s, ok := attrs.Get(startAttr); ok {
		if start, ok = s.Ints(); !ok || len(start) != len(shape) {
			return nil, fmt.Errorf("start: expected %d integers", len(shape))
		}
	}
	r, err := zspace.FromShape(shape...)
	if err == nil {
		r, err = r.Translate(start)
	}
	return &tensorops.Tensor{DType: namespace.DType(dtype.Str).String(), Range: r}, err
}

func rangeOf(v ir.AttrValue) (zspace.Range, error) {
	var start, end []int64
	for _, x := range v.List {
		pair, ok := x.Ints()
		if !ok || len(pair) != 2 {
			return zspace.Range{}, fmt.Errorf("%s: expected a list of [from, to]", boxAttr)
		}
		start, end = append(start, pair[0]), append(end, pair[1])
	}
	return zspace.NewRange(start, end)
}
