// Package bind is the pass that gives inputs constant values: every input that has the name of a tensor in a data file
// becomes a constant that travels inside the program. Read next: passes/shard.
package bind

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Run binds the inputs of a graph to the tensors of a file, by name, and gives their number. A tensor of the file that no
// input has the name of is left alone; a dtype or shape that differs is an error, and so is a file that fits no input.
func Run(g *ir.Graph, path string) (int, error) {
	f, err := tensorfile.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		return 0, err
	}
	bound := 0
	var given ir.NodeSet
	var faults diag.List
	for _, in := range p.Inputs {
		info, err := f.Info(in.Name)
		if err != nil {
			continue
		}
		n, t := g.Node(in.Tensor), tensorops.TensorOf(g, in.Tensor)
		if shape := t.Range.Shape(); info.DType != t.Type() || !shape.Equal(info.Shape) {
			faults = append(faults, diag.Errorf("TAP0806", "bind", g.At(n, "/body"), "%s does not fit the tensor of that name in %s", g.Name(n.ID), path).
				Want(fmt.Sprintf("%s%v", t.DType, shape), fmt.Sprintf("%v%v", info.DType, info.Shape)))
			continue
		}
		given.Add(in.Tensor)
		op := g.Add(&tensorops.Operation{Kernel: "op:constant",
			Params:  ir.Attrs{{Name: "file", Value: ir.StringAttr(path)}, {Name: "key", Value: ir.StringAttr(in.Name)}},
			Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{ir.Select(in.Tensor, t.Range)}}})}, "bind:"+in.Name)
		op.Pos = n.Pos
		bound++
	}
	if err := faults.Err(); err != nil {
		return bound, err
	}
	if bound == 0 {
		return 0, diag.Usage("--bind %s: no input of the graph has the name of one of its tensors", path)
	}
	return bound, dropImports(g, &given)
}

// dropImports leaves tensors out of what imports bring in.
func dropImports(g *ir.Graph, given *ir.NodeSet) error {
	var gone []ir.NodeID
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && op.IsImport() && !op.StatesInterface() {
			op.Outputs.All(func(_, _ int, s *ir.Selection) {
				if given.Has(s.Tensor) {
					gone = append(gone, n.ID)
				}
			})
		}
	}
	for _, id := range gone {
		g.Remove(id)
	}
	sequence.Forget(g)
	inputs, _ := tensorops.Interface(g)
	if inputs == ir.NoNode {
		return nil
	}
	return tensorops.ChangeInterface(g, inputs, func(list []tensorops.Named) []tensorops.Named {
		return slices.DeleteFunc(list, func(x tensorops.Named) bool { return given.Has(x.Tensor) })
	})
}
