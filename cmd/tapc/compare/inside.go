package compare

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir"
)

// Expose makes outputs of the tensors between inputs and outputs whose labels are wanted, behind the outputs that a graph of operations has, and gives their
// labels in the order of the graph.
func Expose(g *ir.Graph, wanted func(label string) bool) ([]string, error) {
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		return nil, err
	}
	var outside ir.NodeSet
	for _, x := range slices.Concat(p.Inputs, p.Outputs) {
		outside.Add(x.Tensor)
	}
	var labels []string
	var more []tensorops.Named
	for _, id := range p.Compute {
		tensorops.OperationOf(g, id).Outputs.All(func(_, _ int, s *ir.Selection) {
			label := g.Node(s.Tensor).Label
			if !outside.Has(s.Tensor) && label != "" && wanted(label) && !slices.Contains(labels, label) {
				outside.Add(s.Tensor)
				labels, more = append(labels, label), append(more, tensorops.Named{Name: label, Tensor: s.Tensor})
			}
		})
	}
	if _, export := tensorops.Interface(g); export != ir.NoNode {
		return labels, tensorops.ChangeInterface(g, export, func(list []tensorops.Named) []tensorops.Named { return append(list, more...) })
	}
	tensorops.StateOutputs(g, append(p.Outputs, more...))
	return labels, nil
}

// Makers gives what makes the tensors of a model, by name.
func Makers(g *foreign.Graph) map[string]Tensor {
	out := map[string]Tensor{}
	for _, op := range g.Ops {
		for _, name := range op.Out {
			if name != "" {
				out[name] = Tensor{Name: name, Node: op.Name, Operation: op.Type}
			}
		}
	}
	return out
}

// MakersOf gives what makes the tensors of a graph of tapc's operations, by label.
func MakersOf(g *ir.Graph) map[string]Tensor {
	out := map[string]Tensor{}
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok {
			op.Outputs.All(func(_, _ int, s *ir.Selection) {
				label := g.Node(s.Tensor).Label
				out[label] = Tensor{Name: label, Node: n.Label, Operation: op.Kernel}
			})
		}
	}
	return out
}
