// Package composite is what is done with definitions and the operations that use them: the inside of a definition as a graph, its steps put in the
// place of an operation, a part of a graph made a definition, and the signature that follows from the steps'.
//
// It must not import a pass. Read next: outline.go, then signature.go.
package composite

import (
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/ir"
)

// Inside is the inside of a definition as a graph: the tensors of the values by name, and the operations of the steps in order. The definitions that steps
// use are in the graph too.
type Inside struct {
	*ir.Graph
	Values map[string]ir.NodeID
	Steps  []ir.NodeID
	steps  []definition.Step
}

// Graph gives the inside of a definition, which keeps its constraint; all are the definitions of its graph.
func Graph(d *definition.Definition, all map[string]*definition.Definition) *Inside {
	g := ir.New()
	in := &Inside{Graph: g, Values: map[string]ir.NodeID{}, steps: d.Steps}
	for _, f := range d.Inputs {
		in.Values[f.Port] = g.Add(&tensorops.Tensor{DType: f.DType, Range: f.Range}, f.Port).ID
	}
	whole := func(name string) ir.Selection {
		id := in.Values[name]
		return ir.Select(id, tensorops.TensorOf(g, id).Range)
	}
	for i := range d.Steps {
		s := &d.Steps[i]
		for _, m := range s.Makes {
			in.Values[m.Value] = g.Add(&tensorops.Tensor{DType: m.DType, Range: m.Range}, m.Value).ID
		}
		in.Steps = append(in.Steps, g.Add(operation(s, whole), s.Label).ID)
	}
	for _, name := range reached(d, all) {
		g.Add(all[name], "")
	}
	return in
}

// operation gives the operation of a step, with whole for what is selected of a value that is selected whole.
func operation(s *definition.Step, whole func(value string) ir.Selection) *tensorops.Operation {
	var in, out []ir.Port
	for _, u := range s.Inputs {
		sel := whole(u.Value)
		if u.Range.Rank() > 0 {
			sel.SetRange(u.Range)
		}
		in = addTo(in, u.Port, sel)
	}
	for _, m := range s.Makes {
		out = addTo(out, m.Port, whole(m.Value))
	}
	return &tensorops.Operation{Kernel: s.Kernel, Params: slices.Clone(s.Params), Inputs: Sorted(in), Outputs: Sorted(out)}
}

func addTo(list []ir.Port, name string, s ir.Selection) []ir.Port {
	i := slices.IndexFunc(list, func(p ir.Port) bool { return p.Name == name })
	if i < 0 {
		i, list = len(list), append(list, ir.Port{Name: name})
	}
	list[i].Sel = append(list[i].Sel, s)
	return list
}

// Sorted gives ports in the order of their names, as operations have them.
func Sorted(list []ir.Port) ir.Ports {
	slices.SortFunc(list, func(a, b ir.Port) int { return strings.Compare(a.Name, b.Name) })
	return ir.PortsOf(list)
}

// reached gives the definitions that a definition uses, directly and through others, in order.
func reached(d *definition.Definition, all map[string]*definition.Definition) (list []string) {
	for _, name := range d.Uses() {
		if all[name] == nil || slices.Contains(list, name) {
			continue
		}
		list = append(list, name)
		for _, more := range reached(all[name], all) {
			if !slices.Contains(list, more) {
				list = append(list, more)
			}
		}
	}
	return list
}

// Used says whether a graph has definitions, or operations that use some.
func Used(g *ir.Graph) bool {
	for n := range g.Nodes() {
		switch b := n.Body.(type) {
		case *definition.Definition:
			return true
		case *tensorops.Operation:
			if b.IsComposite() {
				return true
			}
		}
	}
	return false
}

// RemoveUnused removes the definitions that no operation of a graph uses, directly or through others, and gives their number.
func RemoveUnused(g *ir.Graph) (removed int) {
	all, live := definition.Of(g), map[string]bool{}
	var mark func(kernel string)
	mark = func(kernel string) {
		name, ok := definition.Used(kernel)
		if !ok || all[name] == nil || live[name] {
			return
		}
		live[name] = true
		for _, used := range all[name].Uses() {
			mark(definition.Space + used)
		}
	}
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && all != nil {
			mark(op.Kernel)
		}
	}
	for n := range g.Nodes() {
		if d, ok := n.Body.(*definition.Definition); ok && !live[d.Name] {
			g.Remove(n.ID)
			removed++
		}
	}
	return removed
}

// Program gives the inside of a definition as a program, whose inputs and outputs are the ports.
func Program(d *definition.Definition, all map[string]*definition.Definition) *ir.Graph {
	in := Graph(d, all)
	var inputs, outputs []tensorops.Named
	for _, f := range d.Inputs {
		inputs = append(inputs, tensorops.Named{Name: f.Port, Tensor: in.Values[f.Port]})
	}
	for _, o := range d.Outputs {
		outputs = append(outputs, tensorops.Named{Name: o.Port, Tensor: in.Values[o.Value]})
	}
	tensorops.StateInputs(in.Graph, inputs)
	tensorops.StateOutputs(in.Graph, outputs)
	return in.Graph
}

// Reached gives the definitions that operations of a graph use, directly and through others; those that others use come before these.
func Reached(g *ir.Graph) (list []string) {
	all, seen := definition.Of(g), map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if all[name] == nil || seen[name] {
			return
		}
		seen[name] = true
		for _, used := range all[name].Uses() {
			visit(used)
		}
		list = append(list, name)
	}
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok {
			if name, used := definition.Used(op.Kernel); used {
				visit(name)
			}
		}
	}
	return list
}
