package mapping

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/called"
	"tensortapestry.org/tapc/frontends/mapping/emit"
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

// build makes the graph of what the outputs need.
func (m *mapper) build(r *Region, inputs []*foreign.Tensor, outputs []foreign.Value) (*ir.Graph, error) {
	finals, err := m.finals(r.graph, outputs)
	if err != nil {
		return nil, err
	}
	live, used := m.made.Live(finals, r.observed())
	for _, t := range finals {
		used[t] = true
	}
	b := emit.NewBuilder(r.graph.File, used)
	taken, err := b.Named(inputs)
	if err != nil {
		return nil, err
	}
	tensorops.StateInputs(b.Graph, taken)
	for _, n := range m.made.Nodes {
		if live[n] {
			if err := b.Add(n); err != nil {
				return nil, err
			}
		}
	}
	given, err := b.Named(finals)
	if err != nil {
		return nil, err
	}
	tensorops.StateOutputs(b.Graph, given)
	r.order(b)
	called.Outline(b.Graph, m.inGraph(b, m.trace.calls))
	return b.Graph, nil
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
			mark := len(m.made.Nodes)
			_, t = m.made.Copy(t, "", emit.Origin{Rule: "output"})
			m.note(mark, &foreign.Op{In: []string{name}})
		}
		taken[t] = true
		t.Label = name
		finals[i] = t
	}
	return finals, nil
}

// observed gives what has to be computed because something happens after it.
func (r *Region) observed() (list []*emit.Node) {
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
func (r *Region) makers(names []string) (list []*emit.Node) {
	for _, name := range names {
		if v, ok := r.values[name]; ok && v.Kind == foreign.TensorKind && emit.Maker(v.Tensor) != nil {
			list = append(list, emit.Maker(v.Tensor))
		}
	}
	return list
}

// order adds the sequence points of the program.
func (r *Region) order(b *emit.Builder) {
	var groups []ordered.Group
	for _, s := range r.m.trace.spans {
		x := ordered.Group{Ops: s.ops, Nodes: b.Present(r.m.made.Nodes[s.from:s.to])}
		for _, op := range s.ops {
			x.From = append(x.From, b.Present(r.makers(op.In))...)
		}
		groups = append(groups, x)
	}
	ordered.Points(b.Graph, groups)
}

// inGraph says what calls became in the program.
func (m *mapper) inGraph(b *emit.Builder, list []call) (out []called.Call) {
	for _, c := range list {
		x := called.Call{Name: foreign.DefinitionOf(c.op.Domain, c.body.Name), Label: c.op.Name, Pos: c.op.Pos, Ops: b.Present(m.made.Nodes[c.from:c.to]), Inner: m.inGraph(b, c.inner)}
		for i, n := range c.copies {
			if id, there := b.Operation(n); there && n != nil {
				x.In = append(x.In, called.Port{Name: c.body.Inputs[i].Name, Node: id})
			}
		}
		for i, v := range c.out {
			if id, there := b.Tensor(v.Tensor); there {
				x.Out = append(x.Out, called.Port{Name: c.body.Outputs[i].Name, Node: id})
			}
		}
		out = append(out, x)
	}
	return out
}
