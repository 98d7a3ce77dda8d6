package own

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/frontends/amanda/closed"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// raised makes an Operation Expression of a graph whose subgraphs are taken apart, and whose ops may use definitions, with outputs of the names that another graph has, if there is
// one. A type or shape that a port does not say comes from the kernel's own rules. The graph must have passed Check.
func raised(g *amanda.Graph, lib *kernels.Library, all map[string]*definition.Definition, as []foreign.Port) (*raiser, error) {
	f, err := amanda.Flatten(g, "", namespace.All())
	if err != nil {
		return nil, err
	}
	if len(as) == len(f.Graph.Outputs) {
		closed.Rename(f.Graph, as)
	}
	outputs := slices.Clone(f.Graph.Outputs)
	b := &raiser{f: f, lib: lib, all: all, as: outputs, shown: distinct(f.Graph), g: ir.New(), tensors: map[string]ir.NodeID{}, made: map[*foreign.Op]ir.NodeID{}, outputs: map[string]bool{}}
	b.g.File = g.File
	for _, p := range f.Graph.Outputs {
		b.outputs[p.Name] = true
	}
	for _, p := range f.Graph.Inputs {
		b.input(p)
	}
	tensorops.StateInputs(b.g, b.named(f.Graph.Inputs))
	for _, op := range namespace.Order(f.Graph.Ops) {
		switch {
		case isOutput(op):
			b.copy(op)
		case !isPoint(op):
			b.operation(op)
		}
	}
	b.order(f.Graph.Ops)
	if err := b.bad.Err(); err != nil {
		return nil, err
	}
	tensorops.StateOutputs(b.g, b.named(f.Graph.Outputs))
	return b, aliases(b.g, g)
}

func (b *raiser) named(ports []foreign.Port) []tensorops.Named {
	out := make([]tensorops.Named, len(ports))
	for i, p := range ports {
		out[i] = tensorops.Named{Name: cmp.Or(b.shown[p.Name], p.Name), Tensor: b.tensors[p.Name]}
	}
	return out
}

// distinct gives each output that has the name of an input, and another value, a name of its own, and the names that these outputs had.
func distinct(fg *foreign.Graph) map[string]string {
	shown, input := map[string]string{}, map[string]bool{}
	for _, p := range fg.Inputs {
		input[p.Name] = true
	}
	for _, op := range fg.Ops {
		if !isOutput(op) || !input[op.Out[0]] {
			continue
		}
		name := op.Out[0]
		i := slices.IndexFunc(fg.Outputs, func(p foreign.Port) bool { return p.Name == name })
		op.Out[0] = "output\x00" + name // which no value in a file can have
		fg.Outputs[i].Name, shown[op.Out[0]] = op.Out[0], name
	}
	return shown
}

// isOutput says whether an operation gives a value the name of an output.
func isOutput(op *foreign.Op) bool { return op.Domain == foreign.Added && op.Type == amanda.Output }

// aliases states which outputs of a program have the memory of inputs, as the ports of a file's only subgraph say.
func aliases(g *ir.Graph, from *amanda.Graph) error {
	var list []tensorops.Alias
	for _, op := range from.Ops {
		for _, p := range op.Outputs {
			memory, there := p.Attrs.Get(memoryAttr)
			room, sized := p.Attrs.Get(roomAttr)
			ints, ok := room.Ints()
			switch {
			case !there && !sized:
			case memory.Kind != ir.AttrString || !ok || len(from.Ops) > 1 || !op.Sub:
				return diag.Errorf(amanda.CodePorts, constraint, diag.Location{File: from.File, Line: p.Line, Column: p.Column}, "port %q does not say whose memory it has", p.Name).
					Want("on an output of the program, the name of an input (memory) and a shape (room)", fmt.Sprintf("memory: %v, room: %v", memory.Kind, room.Kind))
			default:
				list = append(list, tensorops.Alias{Input: memory.Str, Output: p.Name, Room: ints})
			}
		}
	}
	if list != nil {
		tensorops.StateAliases(g, list)
	}
	return nil
}

// raiser builds a graph of tapc.
type raiser struct {
	f       *amanda.Flat
	lib     *kernels.Library
	all     map[string]*definition.Definition
	g       *ir.Graph
	tensors map[string]ir.NodeID
	made    map[*foreign.Op]ir.NodeID
	outputs map[string]bool
	as      []foreign.Port    // the outputs
	shown   map[string]string // the names of outputs that inputs have too, by those of their values
	bad     diag.List
}

func (b *raiser) fault(op *foreign.Op, format string, args ...any) {
	at := diag.Location{File: b.g.File, Line: int(op.Pos.Line), Column: int(op.Pos.Col), Node: op.Name}
	b.bad = append(b.bad, diag.Errorf(amanda.CodePorts, constraint, at, format, args...))
}

// input adds a tensor that the program takes, as the port or source that brings it says.
func (b *raiser) input(p foreign.Port) {
	t, err := tensorOf(b.f.Ports[p.Name])
	if err != nil || t == nil {
		b.fault(&foreign.Op{Name: p.Name}, "the input %s needs a dtype and a shape of sizes", p.Name)
		t = &tensorops.Tensor{}
	}
	b.tensors[p.Name] = b.g.Add(t, p.Name).ID
}

func (b *raiser) whole(name string) []ir.Selection {
	id := b.tensors[name]
	return []ir.Selection{ir.Select(id, tensorops.TensorOf(b.g, id).Range)}
}

func (b *raiser) add(op *foreign.Op, kernel string, in, out ir.Ports, params ir.Attrs) {
	body, label := &tensorops.Operation{Kernel: kernel, Params: params, Inputs: in, Outputs: out}, ""
	if body.HasResource() && body.IsExport() { // its name is that of the output
		label = named(op.Name, "export")
	}
	n := b.g.Add(body, label)
	n.Pos = op.Pos
	if from := b.f.Of[op].Op; from != nil {
		if _, io := from.Attrs.Get(ioAttr); io {
			n.SetTag(&tensorops.IOSequencePoint{})
		}
	}
	b.made[op] = n.ID
}

// copy gives a value that is an input, or another output, a tensor of its own under an output's name.
func (b *raiser) copy(op *foreign.Op) {
	if _, ok := b.tensors[op.In[0]]; !ok {
		return // its producer is at fault
	}
	from := b.whole(op.In[0])
	t := *tensorops.TensorOf(b.g, from[0].Tensor)
	b.tensors[op.Out[0]] = b.g.Add(&t, cmp.Or(b.shown[op.Out[0]], op.Out[0])).ID
	b.add(op, "op:copy", ir.PortsOf([]ir.Port{{Name: "tensor", Sel: from}}), ir.PortsOf([]ir.Port{{Name: "result", Sel: b.whole(op.Out[0])}}), nil)
}

func (b *raiser) operation(op *foreign.Op) {
	from := b.f.Of[op]
	var in, out ir.Ports
	var d *definition.Definition // whose ports have names that values can have
	if name, used := definition.Used(op.Type); used {
		d = b.all[name]
	}
	for i, name := range op.In {
		if name == "" {
			continue
		}
		if _, ok := b.tensors[name]; !ok {
			return // its producer is at fault
		}
		sel := b.whole(name)
		port := from.Op.Inputs[from.In[i]]
		if box, ok := port.Attrs.Get(boxAttr); ok {
			r, err := rangeOf(box)
			if err != nil {
				b.fault(op, "port %s: %v", port.Name, err)
				return
			}
			sel[0].SetRange(r)
		}
		if d != nil {
			port.Name = d.Inputs[from.In[i]].Port
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
		if v, ok := from.Op.Outputs[from.Out[i]].Attrs.Get(amanda.ValueName); !ok || v.Str == "" {
			if !b.outputs[name] {
				label = ""
			}
		}
		b.tensors[name] = b.g.Add(types[i], label).ID
		port := from.Op.Outputs[from.Out[i]].Name
		if d != nil {
			port = d.Outputs[from.Out[i]].Port
		}
		out = put(out, port, b.whole(name))
	}
	kernel := op.Type
	if !strings.Contains(kernel, ":") {
		kernel = "op:" + kernel
	}
	b.add(op, kernel, in, out, params(from.Op))
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
func (b *raiser) results(op *foreign.Op, from amanda.Source, in ir.Ports) []*tensorops.Tensor {
	out := make([]*tensorops.Tensor, len(op.Out))
	missing := false
	for i, k := range from.Out {
		if k < 0 {
			continue
		}
		t, err := tensorOf(from.Op.Outputs[k].Attrs)
		if err != nil {
			b.fault(op, "output %s: %v", from.Op.Outputs[k].Name, err)
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
	shapes, types, err := infer.Outputs(decl, infer.CallOf(b.g, params(from.Op), in, ir.Ports{}))
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
