package mapping

import (
	"maps"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/called"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/frontends/mapping/ordered"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
)

// graphInputs gives every input of the program its type; all that is not known is reported at once.
func (m *mapper) graphInputs(fg *foreign.Graph, r *Region) ([]*foreign.Tensor, error) {
	var list []*foreign.Tensor
	var bad diag.List
	for _, p := range fg.Inputs {
		if d := m.opt.Bind[p.Name]; d != nil {
			t, err := expr.ConstantTensor(d)
			if err != nil {
				return nil, err
			}
			t.Label = p.Name
			r.values[p.Name] = foreign.TensorValue(t)
			continue
		}
		if fg.Consts[p.Name] != nil {
			continue // a default of older models
		}
		if m.opt.Open && (p.Reason != "" || p.DType == scalar.Invalid || !p.Ranked) {
			r.values[p.Name] = unknown
			continue
		}
		shape, err := p.Sizes(m.opt.Dims)
		if err != nil {
			bad = append(bad, diag.Errorf(CodeInput, "mapping", diag.Location{File: fg.File, Node: p.Name}, "input %q %v", p.Name, err))
			continue
		}
		t := &foreign.Tensor{DType: p.DType, Shape: shape, Label: p.Name}
		r.values[p.Name] = foreign.TensorValue(t)
		list = append(list, t)
	}
	return list, bad.Err()
}

// outputs gives the values of a graph's outputs, in order.
func (r *Region) outputs() ([]foreign.Value, error) {
	out := make([]foreign.Value, len(r.graph.Outputs))
	for i, p := range r.graph.Outputs {
		v, ok, err := r.find(p.Name)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, r.fault("output %q is not there: no operation gives it", p.Name)
		}
		if p.Reason != "" && (!p.Maps || v.Tensor == nil) && r.outer == nil && len(r.m.report.Unmapped) == 0 {
			return nil, r.fault("output %q %s", p.Name, p.Reason)
		}
		out[i] = v
	}
	return out, nil
}

// builder makes the graph of what the outputs need.
type builder struct {
	m      *mapper
	g      *ir.Graph
	used   map[*foreign.Tensor]bool // by an operation, or as an output
	made   map[*foreign.Tensor]ir.Selection
	ops    map[*node]ir.NodeID
	intern ir.Intern
	list   []ir.Port      // room for the ports of an operation
	sel    []ir.Selection // and for their selections
}

func (m *mapper) build(r *Region, inputs []*foreign.Tensor, outputs []foreign.Value) (*ir.Graph, error) {
	b := &builder{m: m, g: ir.New(), used: map[*foreign.Tensor]bool{}, made: map[*foreign.Tensor]ir.Selection{}, ops: map[*node]ir.NodeID{}}
	b.g.File = r.graph.File
	finals, err := m.finals(r.graph, outputs)
	if err != nil {
		return nil, err
	}
	live, used := m.live(finals, r.observed())
	maps.Copy(b.used, used)
	for _, t := range finals {
		b.used[t] = true
	}
	taken, err := b.named(inputs)
	if err != nil {
		return nil, err
	}
	tensorops.StateInputs(b.g, taken)
	for _, n := range m.nodes {
		if live[n] {
			if err := b.add(n); err != nil {
				return nil, err
			}
		}
	}
	given, err := b.named(finals)
	if err != nil {
		return nil, err
	}
	tensorops.StateOutputs(b.g, given)
	b.order(r)
	called.Outline(b.g, b.calls(m.trace.calls))
	return b.g, nil
}

// named gives the nodes of inputs or outputs, whose labels are their names.
func (b *builder) named(list []*foreign.Tensor) ([]tensorops.Named, error) {
	out := make([]tensorops.Named, len(list))
	for i, t := range list {
		sel, err := b.tensor(t)
		if err != nil {
			return nil, err
		}
		out[i] = tensorops.Named{Name: t.Label, Tensor: sel.Tensor}
	}
	return out, nil
}

// finals gives each output a tensor of its own with its name: an input, a constant or a value that is an output already is
// copied.
func (m *mapper) finals(fg *foreign.Graph, outputs []foreign.Value) ([]*foreign.Tensor, error) {
	taken := map[*foreign.Tensor]bool{}
	finals := make([]*foreign.Tensor, len(outputs))
	for i, v := range outputs {
		name := fg.Outputs[i].Name
		if v.Kind != foreign.TensorKind {
			return nil, diag.Errorf(CodeInput, "mapping", diag.Location{File: fg.File, Node: name}, "output %q is %v, not a tensor", name, v.Kind)
		}
		t := v.Tensor
		if t.Source == nil || taken[t] {
			m.rule = "output"
			n := &node{kernel: "op:copy", rule: "output", in: []portTensors{{port: "tensor", tensors: []*foreign.Tensor{t}}}}
			c := &foreign.Tensor{DType: t.DType, Shape: t.Shape, Source: n}
			n.out = []portTensors{{port: "result", tensors: []*foreign.Tensor{c}}}
			mark := len(m.nodes)
			m.nodes = append(m.nodes, n)
			m.note(mark, &foreign.Op{In: []string{name}})
			t = c
		}
		taken[t] = true
		t.Label = name
		finals[i] = t
	}
	return finals, nil
}

// live finds the operations that the outputs and what is observed need, and the tensors that live operations take.
func (m *mapper) live(finals []*foreign.Tensor, observed []*node) (map[*node]bool, map[*foreign.Tensor]bool) {
	live, used := map[*node]bool{}, map[*foreign.Tensor]bool{}
	for _, n := range observed {
		live[n] = true
	}
	for _, t := range finals {
		live[maker(t)] = true
	}
	for _, n := range slices.Backward(m.nodes) {
		if !live[n] && !slices.ContainsFunc(n.guards, func(g *node) bool { return live[g] }) {
			continue
		}
		live[n] = true
		for _, p := range n.in {
			for _, t := range p.tensors {
				used[t] = true
				if t.Source != nil {
					live[maker(t)] = true
				}
			}
		}
	}
	return live, used
}

func (b *builder) add(n *node) error {
	op := &tensorops.Operation{Kernel: n.kernel, Params: n.params}
	var err error
	if op.Inputs, err = b.ports(n.in); err != nil {
		return err
	}
	unused := func(p portTensors) bool { return p.optional && !slices.ContainsFunc(p.tensors, b.isUsed) }
	out := n.out
	if slices.ContainsFunc(out, unused) {
		out = slices.DeleteFunc(slices.Clone(out), unused)
	}
	if op.Outputs, err = b.ports(out); err != nil {
		return err
	}
	made := b.g.Add(op, "")
	made.Pos, b.ops[n] = n.pos, made.ID
	if n.rule != "" {
		origin := &ir.Origin{Rule: n.rule}
		if n.pos != (ir.Pos{}) {
			origin.From = []ir.Pos{n.pos}
		}
		made.SetOrigin(origin)
	}
	return nil
}

func (b *builder) isUsed(t *foreign.Tensor) bool { return b.used[t] }

func (b *builder) ports(list []portTensors) (ir.Ports, error) {
	b.list = b.list[:0]
	for _, p := range list {
		b.sel = b.sel[:0]
		for _, t := range p.tensors {
			sel, err := b.tensor(t)
			if err != nil {
				return ir.Ports{}, err
			}
			b.sel = append(b.sel, sel)
		}
		b.list = append(b.list, ir.Port{Name: p.port, Sel: b.intern.Selections(b.sel)})
	}
	slices.SortFunc(b.list, func(a, c ir.Port) int { return strings.Compare(a.Name, c.Name) })
	return b.intern.Ports(b.list), nil
}

// tensor gives the node of a tensor, made when it is first needed, with the operation of a constant.
func (b *builder) tensor(t *foreign.Tensor) (ir.Selection, error) {
	if sel, ok := b.made[t]; ok {
		return sel, nil
	}
	sel, err := addTensor(b.g, t, t.Label)
	if err != nil {
		return sel, err
	}
	b.made[t] = sel
	if t.Data == nil {
		return sel, nil
	}
	params, err := t.Data.Params()
	if err != nil {
		return sel, err
	}
	b.g.Add(&tensorops.Operation{Kernel: "op:constant", Params: params, Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{sel}}})}, "")
	return sel, nil
}

// observed gives what has to be computed because something happens after it.
func (r *Region) observed() (list []*node) {
	before := map[*foreign.Op]bool{}
	for _, op := range r.graph.Ops {
		for _, x := range op.After {
			before[x] = true
		}
	}
	for _, s := range r.m.trace.spans {
		if op := s.ops[len(s.ops)-1]; before[op] {
			list = append(list, r.makers(slices.Concat(op.In, op.Out))...)
		}
	}
	return list
}

// makers gives the nodes that compute values.
func (r *Region) makers(names []string) (list []*node) {
	for _, name := range names {
		if v, ok := r.values[name]; ok && v.Kind == foreign.TensorKind && maker(v.Tensor) != nil {
			list = append(list, maker(v.Tensor))
		}
	}
	return list
}

// order adds the sequence points of the program.
func (b *builder) order(r *Region) {
	var groups []ordered.Group
	for _, s := range b.m.trace.spans {
		x := ordered.Group{Ops: s.ops, Nodes: b.present(b.m.nodes[s.from:s.to])}
		for _, op := range s.ops {
			x.From = append(x.From, b.present(r.makers(op.In))...)
		}
		groups = append(groups, x)
	}
	ordered.Points(b.g, groups)
}

// present gives the operations of the nodes that are in the program.
func (b *builder) present(nodes []*node) (list []ir.NodeID) {
	for _, n := range nodes {
		if id, there := b.ops[n]; there {
			list = append(list, id)
		}
	}
	return list
}

// calls says what the calls became in the program.
func (b *builder) calls(list []call) (out []called.Call) {
	for _, c := range list {
		x := called.Call{Name: foreign.DefinitionOf(c.op.Domain, c.body.Name), Label: c.op.Name, Pos: c.op.Pos, Ops: b.present(b.m.nodes[c.from:c.to]), Inner: b.calls(c.inner)}
		for i, n := range c.copies {
			if id, there := b.ops[n]; there && n != nil {
				x.In = append(x.In, called.Port{Name: c.body.Inputs[i].Name, Node: id})
			}
		}
		for i, v := range c.out {
			if sel, there := b.made[v.Tensor]; there {
				x.Out = append(x.Out, called.Port{Name: c.body.Outputs[i].Name, Node: sel.Tensor})
			}
		}
		out = append(out, x)
	}
	return out
}
