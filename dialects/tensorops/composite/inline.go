package composite

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Use is an operation that uses a definition, to be replaced by the steps.
type Use struct {
	Graph      *ir.Graph
	Node       *ir.Node
	Definition *definition.Definition
	From       []ir.Pos               // where definition and operation are
	Rule       string                 // the name of the rewrite, for origins
	Held       func(t ir.NodeID) bool // says of a tensor that no operation may read it, as it would be no result of the program then; nil for none
}

// Steps are what took the place of an operation: the operations of the steps in order, and a copy for each port whose value steps read although the tensor outside is held.
type Steps struct {
	Made   []ir.NodeID
	Copies []Copy // in the order of the outputs
}

// Copy is an operation that copies a value to the tensor of a port.
type Copy struct {
	Port string
	Op   ir.NodeID
}

// Inline puts the steps of a definition in the place of an operation that uses it. Those and the tensors between
// them have the operation's place in the source and the origin of a rewrite. The operation is removed; its shards are not.
func (u *Use) Inline() Steps {
	x := &inliner{Use: u, op: u.Node.Body.(*tensorops.Operation), pos: u.Node.Pos, label: u.Node.Label, selected: map[string]ir.Selection{}, starts: map[string]zspace.Point{}}
	var out Steps
	for _, f := range u.Definition.Inputs {
		x.selected[f.Port], x.starts[f.Port] = x.op.Inputs.Get(f.Port).Sel[0], f.Range.Start
	}
	copied := map[string]bool{}
	for _, o := range u.Definition.Outputs {
		s := x.op.Outputs.Get(o.Port).Sel[0]
		if copied[o.Port] = u.Held != nil && u.Held(s.Tensor) && reading(u.Definition, o.Value); !copied[o.Port] {
			x.selected[o.Value] = s
		}
	}
	u.Graph.Remove(u.Node.ID)
	for i := range u.Definition.Steps {
		out.Made = append(out.Made, x.step(&u.Definition.Steps[i]))
	}
	for _, o := range u.Definition.Outputs {
		if !copied[o.Port] {
			continue
		}
		body := &tensorops.Operation{Kernel: "op:copy", Inputs: ir.PortsOf([]ir.Port{{Name: "tensor", Sel: []ir.Selection{x.selected[o.Value]}}}),
			Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: x.op.Outputs.Get(o.Port).Sel}})}
		out.Copies = append(out.Copies, Copy{o.Port, x.add(body, "")})
	}
	return out
}

// reading says whether a step reads a value.
func reading(d *definition.Definition, value string) bool {
	return slices.ContainsFunc(d.Steps, func(s definition.Step) bool {
		return slices.ContainsFunc(s.Inputs, func(u definition.Use) bool { return u.Value == value })
	})
}

// inliner puts steps into a graph.
type inliner struct {
	*Use
	op       *tensorops.Operation
	pos      ir.Pos
	label    string
	selected map[string]ir.Selection // what each value is outside
	starts   map[string]zspace.Point // where it begins inside
}

func (x *inliner) add(body ir.Body, name string) ir.NodeID {
	n := x.Graph.Add(body, joined(x.label, name))
	n.Pos = x.pos
	n.SetOrigin(&ir.Origin{Rule: x.Rule, From: x.From})
	return n.ID
}

func (x *inliner) step(s *definition.Step) ir.NodeID {
	for _, m := range s.Makes {
		x.starts[m.Value] = m.Range.Start
		if _, outside := x.selected[m.Value]; !outside {
			x.selected[m.Value] = ir.Select(x.add(&tensorops.Tensor{DType: m.DType, Range: m.Range}, m.Value), m.Range)
		}
	}
	body := operation(s, func(value string) ir.Selection { return x.selected[value] })
	entries := map[string]int{}
	for _, u := range s.Inputs { // a part of a value is said in coordinates of the inside
		if u.Range.Rank() > 0 {
			body.Inputs.Get(u.Port).Sel[entries[u.Port]].SetRange(moved(u.Range, x.starts[u.Value], x.selected[u.Value].Range().Start))
		}
		entries[u.Port]++
	}
	return x.add(body, s.Label)
}

// joined gives the label of what comes of a step of an operation.
func joined(label, name string) string {
	if label == "" || name == "" {
		return name
	}
	return label + "." + name
}

// moved gives the box that is to one point what r is to another.
func moved(r zspace.Range, from, to zspace.Point) zspace.Range {
	out := r.Clone()
	for i := range from {
		out.Start[i] += to[i] - from[i]
		out.End[i] += to[i] - from[i]
	}
	return out
}
