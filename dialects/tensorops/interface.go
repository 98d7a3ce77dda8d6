package tensorops

import (
	"fmt"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/diag"
)

// A graph states its inputs by one import, and its outputs by one export, that has the parameter names: the tensors of its one port
// are the program's, in that order and under these names. Passes leave imports and exports alone, so the interface is the same
// whatever becomes of the operations between them. A tensor may be exported more than once, and an input or a constant may be.

// InterfaceConstraint is the id of the constraint that imports and exports are held to.
const InterfaceConstraint = "ProgramInterfaceConstraint"

// Named is a tensor under the name it has outside. Own is the name as the graph has it, "" without one: Name is that in signs that a command line takes.
type Named struct {
	Name   string
	Tensor ir.NodeID
	Own    string
}

// namesParam is the parameter by which an import or an export states the interface. aliasesParam is the one by which an export with names says
// which outputs have the memory of inputs: a list of lists of the input's name, the output's name, and the room.
const (
	namesParam   = "names"
	aliasesParam = "aliases"
)

// The ports of imports and exports.
const (
	importPort = "result"
	exportPort = "tensor"
)

// StatesInterface says whether an operation states all inputs or all outputs of the program.
func (o *Operation) StatesInterface() bool {
	_, ok := o.Params.Get(namesParam)
	return ok && (o.IsImport() || o.IsExport())
}

// StateInputs adds the operation that says which tensors the program takes, under which names.
func StateInputs(g *ir.Graph, list []Named) *ir.Node {
	op := &Operation{Kernel: "op:import"}
	op.setFaces(g, list)
	return g.Add(op, "")
}

// StateOutputs adds the operation that says which tensors the program gives, under which names.
func StateOutputs(g *ir.Graph, list []Named) *ir.Node {
	op := &Operation{Kernel: "op:export"}
	op.setFaces(g, list)
	return g.Add(op, "")
}

// setFaces lets an import or an export state these tensors.
func (o *Operation) setFaces(g *ir.Graph, list []Named) {
	names, port := ir.AttrValue{Kind: ir.AttrList}, ir.Port{Name: exportPort}
	if o.IsImport() {
		port.Name = importPort
	}
	for _, x := range list {
		names.List = append(names.List, ir.StringAttr(x.Name))
		port.Sel = append(port.Sel, ir.Select(x.Tensor, TensorOf(g, x.Tensor).Range))
	}
	var ports ir.Ports
	if len(list) > 0 {
		ports = ir.PortsOf([]ir.Port{port})
	}
	o.Params = o.Params.With(namesParam, names)
	if o.IsImport() {
		o.Outputs = ports
	} else {
		o.Inputs = ports
	}
}

// Interface gives the operations that state a graph's inputs and its outputs, NoNode where none does.
func Interface(g *ir.Graph) (inputs, outputs ir.NodeID) {
	inputs, outputs = ir.NoNode, ir.NoNode
	for n := range g.Nodes() {
		switch op, ok := n.Body.(*Operation); {
		case !ok || !op.StatesInterface():
		case op.IsImport():
			inputs = n.ID
		default:
			outputs = n.ID
		}
	}
	return inputs, outputs
}

// faces reads an operation that states the interface; the diagnostics say what is wrong with one that is malformed.
func faces(g *ir.Graph, id ir.NodeID) ([]Named, diag.List) {
	n, op := g.Node(id), OperationOf(g, id)
	bad := func(field, expected, found string) ([]Named, diag.List) {
		d := diag.Errorf("TAP0161", InterfaceConstraint, g.At(n, field), "%s does not say what the program takes or gives", g.Name(id))
		return nil, diag.List{d.Want(expected, found)}
	}
	ports, other, port, side := op.Inputs, op.Outputs, exportPort, "inputs"
	if op.IsImport() {
		ports, other, port, side = op.Outputs, op.Inputs, importPort, "outputs"
	}
	if other.Len() > 0 || ports.Len() > 1 || ports.Len() == 1 && ports.At(0).Name != port {
		return bad("/body", fmt.Sprintf("no port but %q", port), fmt.Sprintf("%d inputs, %d outputs", op.Inputs.Len(), op.Outputs.Len()))
	}
	var sel []ir.Selection
	if ports.Len() == 1 {
		sel = ports.At(0).Sel
	}
	names, _ := op.Params.Get(namesParam)
	others := len(op.Params) - 1
	if aliases, ok := op.Params.Get(aliasesParam); ok && op.IsExport() && aliases.Kind == ir.AttrList {
		others--
	}
	if names.Kind != ir.AttrList || len(names.List) != len(sel) || others > 0 {
		return bad("/body/params", fmt.Sprintf("a list %q of %d strings and nothing else", namesParam, len(sel)),
			fmt.Sprintf("%d parameters, names of length %d", len(op.Params), len(names.List)))
	}
	list := make([]Named, len(sel))
	for i, s := range sel {
		name := names.List[i]
		if name.Kind != ir.AttrString || name.Str == "" {
			return bad(fmt.Sprintf("/body/params/names/%d", i), "a name", fmt.Sprintf("a value of kind %v", name.Kind))
		}
		if t := TensorOf(g, s.Tensor); t == nil || !t.Range.Equal(s.Range()) {
			return bad(check.PortField(side, port, i), "the whole of a tensor", s.Range().String())
		}
		list[i] = Named{Name: name.Str, Tensor: s.Tensor}
	}
	return list, nil
}
