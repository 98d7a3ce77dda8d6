package composite

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// Outline makes operations of a graph a definition, and puts an operation that uses it in their place. Its inputs are the tensors that the
// operations read and do not make, in the order in which they are first read; its outputs those that they make and others read, that a program gives, or that nobody reads. The
// operations may not have shards, effects or tags that say what is outside, and no path may lead out of them and back (TAP0199).
func Outline(g *ir.Graph, ops []ir.NodeID, name string) (*ir.Node, error) {
	if definition.Of(g)[name] != nil {
		return nil, refuse(g, ir.NoNode, "there is a definition %q already", name)
	}
	x := &outliner{g: g, flow: ir.NewFlow(g, tensorops.OperationKind), names: map[ir.NodeID]string{}, taken: map[string]bool{}}
	for _, id := range ops {
		x.in.Add(id)
	}
	if err := x.check(); err != nil {
		return nil, err
	}
	d, in, out := x.definition(name)
	label := g.Node(x.steps[len(x.steps)-1]).Label
	pos := g.Node(x.steps[0]).Pos
	for _, id := range x.steps {
		tensorops.OperationOf(g, id).Outputs.All(func(_, _ int, s *ir.Selection) {
			if !slices.ContainsFunc(out.List(), func(p ir.Port) bool { return p.Sel[0].Tensor == s.Tensor }) {
				g.Remove(s.Tensor)
			}
		})
	}
	for _, id := range x.steps {
		g.Remove(id)
	}
	at := g.Add(d, "")
	at.Pos = pos
	n := g.Add(&tensorops.Operation{Kernel: d.Kernel(), Inputs: in, Outputs: out}, label)
	n.Pos = pos
	return n, nil
}

// Of makes a whole graph a definition: its inputs and outputs are those of the program that it is. The graph may use the definitions that it has.
func Of(g *ir.Graph, name string) (*definition.Definition, error) {
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		return nil, err
	}
	x := &outliner{g: g, flow: ir.NewFlow(g, tensorops.OperationKind), names: map[ir.NodeID]string{}, taken: map[string]bool{}}
	for _, id := range x.flow.Ops {
		if op := tensorops.OperationOf(g, id); !op.StatesInterface() {
			x.in.Add(id)
		}
	}
	return x.with(name, p.Inputs, p.Outputs)
}

// Part makes some operations of a graph a definition, whose ports are told: inputs are all that the operations read and do not make. The graph stays as it is.
func Part(g *ir.Graph, ops []ir.NodeID, name string, inputs, outputs []tensorops.Named) (*definition.Definition, error) {
	x := &outliner{g: g, flow: ir.NewFlow(g, tensorops.OperationKind), names: map[ir.NodeID]string{}, taken: map[string]bool{}}
	for _, id := range ops {
		x.in.Add(id)
	}
	return x.with(name, inputs, outputs)
}

// with makes a definition that has certain ports.
func (x *outliner) with(name string, inputs, outputs []tensorops.Named) (*definition.Definition, error) {
	for _, t := range inputs {
		x.input(t.Tensor, t.Name)
	}
	if err := x.check(); err != nil {
		return nil, err
	}
	g := x.g
	for _, t := range outputs {
		if made := x.flow.Producers(t.Tensor); len(made) == 0 || !x.in.Has(made[0]) {
			return nil, refuse(g, t.Tensor, "output %s is none that it computes", t.Name)
		}
		x.output(t.Tensor, t.Name)
	}
	if len(x.outputs) < len(outputs) || len(x.outputs) == 0 {
		return nil, refuse(g, ir.NoNode, "an output is there twice, or there is none")
	}
	x.fixed = true
	d, _, _ := x.definition(name)
	return d, nil
}

// outliner makes a definition of some operations of a graph.
type outliner struct {
	g     *ir.Graph
	flow  *ir.Flow
	in    ir.NodeSet
	steps []ir.NodeID // the operations, producers first
	fixed bool        // the ports are known

	names           map[ir.NodeID]string // of tensors inside
	taken           map[string]bool
	inputs, outputs []port
}

// port is a tensor under the name of a port.
type port struct {
	name   string
	tensor ir.NodeID
}

func refuse(g *ir.Graph, id ir.NodeID, format string, args ...any) error {
	at := diag.Location{File: g.File}
	if n := g.Node(id); n != nil {
		at = g.At(n, "")
	}
	return diag.Errorf("TAP0199", "composite", at, "what is to be a definition can not be one: %s", fmt.Sprintf(format, args...))
}

// check sorts the operations, and refuses those that can not be steps together.
func (x *outliner) check() error {
	order := x.flow.Order(x.g)
	for _, id := range order {
		if !x.in.Has(id) {
			continue
		}
		op, n := tensorops.OperationOf(x.g, id), x.g.Node(id)
		switch {
		case op.IsImport() || op.IsSink() || op.IsChoice() || n.Tag(tensorops.IOSequencePointKind) != nil:
			return refuse(x.g, id, "%s is an effect or a choice", x.g.Name(id))
		case len(n.Tags()) > 0 && n.Tag(tensorops.PrecomputedKind) == nil:
			return refuse(x.g, id, "%s has tags, which a step has not", x.g.Name(id))
		}
		x.steps = append(x.steps, id)
	}
	if len(x.steps) < x.in.Len() || len(x.steps) == 0 {
		return refuse(x.g, ir.NoNode, "it has no operations, or a cycle")
	}
	for n := range x.g.Nodes() {
		if _, shards := n.Body.(ir.Ported); shards && n.Body.Kind() != tensorops.OperationKind {
			return refuse(x.g, n.ID, "operations are cut into shards")
		}
	}
	return x.convex(order)
}

// convex refuses operations that need others outside of them that need them in turn.
func (x *outliner) convex(order []ir.NodeID) error {
	var after ir.NodeSet // operations outside that need one inside
	for _, id := range order {
		needs := false
		tensorops.OperationOf(x.g, id).Inputs.All(func(_, _ int, s *ir.Selection) {
			for _, p := range x.flow.Producers(s.Tensor) {
				needs = needs || after.Has(p) || !x.in.Has(id) && x.in.Has(p)
			}
		})
		if needs && x.in.Has(id) {
			return refuse(x.g, id, "%s needs what others compute of its results", x.g.Name(id))
		}
		if needs {
			after.Add(id)
		}
	}
	return nil
}

// definition makes the definition, and the ports of an operation that uses it here.
func (x *outliner) definition(name string) (d *definition.Definition, in, out ir.Ports) {
	if !x.fixed {
		x.findPorts()
	}
	d = &definition.Definition{Name: name}
	var list []ir.Port
	for _, p := range x.inputs {
		t := tensorops.TensorOf(x.g, p.tensor)
		d.Inputs = append(d.Inputs, definition.Formal{Port: p.name, DType: t.DType, Range: t.Range})
		list = append(list, ir.Port{Name: p.name, Sel: []ir.Selection{ir.Select(p.tensor, t.Range)}})
	}
	in, list = Sorted(list), nil
	for _, id := range x.steps {
		d.Steps = append(d.Steps, x.step(id))
	}
	for _, p := range x.outputs {
		d.Outputs = append(d.Outputs, definition.Given{Port: p.name, Value: x.value(p.tensor)})
		list = append(list, ir.Port{Name: p.name, Sel: []ir.Selection{ir.Select(p.tensor, tensorops.TensorOf(x.g, p.tensor).Range)}})
	}
	return d, in, Sorted(list)
}

// findPorts finds what goes in and out.
func (x *outliner) findPorts() {
	var held ir.NodeSet
	if p, err := tensorops.ProgramOf(x.g); err == nil {
		for _, t := range p.Held() {
			held.Add(t)
		}
	}
	for _, id := range x.steps {
		tensorops.OperationOf(x.g, id).Inputs.All(func(_, _ int, s *ir.Selection) {
			if made := x.flow.Producers(s.Tensor); len(made) == 0 || !x.in.Has(made[0]) {
				x.input(s.Tensor, x.g.Node(s.Tensor).Label)
			}
		})
	}
	for _, id := range x.steps {
		tensorops.OperationOf(x.g, id).Outputs.All(func(_, _ int, s *ir.Selection) {
			readers := x.flow.Consumers(s.Tensor)
			if held.Has(s.Tensor) || len(readers) == 0 || slices.ContainsFunc(readers, func(r ir.NodeID) bool { return !x.in.Has(r) }) {
				x.output(s.Tensor, x.g.Node(s.Tensor).Label)
			}
		})
	}
}

func (x *outliner) input(t ir.NodeID, label string) {
	if _, there := x.names[t]; !there {
		x.names[t] = x.unique(identifier(label, "in"))
		x.inputs = append(x.inputs, port{x.names[t], t})
	}
}

func (x *outliner) output(t ir.NodeID, label string) {
	is := func(p port) bool { return p.tensor == t }
	if slices.ContainsFunc(x.outputs, is) {
		return
	}
	name, base := identifier(label, "out"), identifier(label, "out")
	for i := 2; slices.ContainsFunc(x.outputs, func(p port) bool { return p.name == name }); i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	x.outputs = append(x.outputs, port{name, t})
}

// value gives the name of a tensor inside.
func (x *outliner) value(t ir.NodeID) string {
	if _, there := x.names[t]; !there {
		label := x.g.Node(t).Label
		if label == "" {
			label = "v"
		}
		x.names[t] = x.unique(label)
	}
	return x.names[t]
}

func (x *outliner) unique(name string) string {
	try := name
	for i := 2; x.taken[try]; i++ {
		try = fmt.Sprintf("%s_%d", name, i)
	}
	x.taken[try] = true
	return try
}

func (x *outliner) step(id ir.NodeID) definition.Step {
	op := tensorops.OperationOf(x.g, id)
	s := definition.Step{Kernel: op.Kernel, Params: slices.Clone(op.Params), Label: x.g.Node(id).Label}
	op.Inputs.All(func(i, _ int, sel *ir.Selection) {
		u := definition.Use{Port: op.Inputs.At(i).Name, Value: x.value(sel.Tensor)}
		if !sel.Range().Equal(tensorops.TensorOf(x.g, sel.Tensor).Range) {
			u.Range = sel.Range()
		}
		s.Inputs = append(s.Inputs, u)
	})
	op.Outputs.All(func(i, _ int, sel *ir.Selection) {
		t := tensorops.TensorOf(x.g, sel.Tensor)
		s.Makes = append(s.Makes, definition.Made{Port: op.Outputs.At(i).Name, Value: x.value(sel.Tensor), DType: t.DType, Range: t.Range})
	})
	return s
}

// identifier makes a name that a port can have of a label.
func identifier(label, otherwise string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, label)
	if strings.Trim(name, "_") == "" {
		return otherwise
	}
	if name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}
