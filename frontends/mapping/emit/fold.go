package emit

import (
	"fmt"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// foldLimit bounds the elements of what is computed when compiling, on either side of an operation.
const foldLimit = 1 << 14

// growLimit bounds the elements of a result whose elements are wider than those it is made of, as dequantized weights are: passes may have
// use for the narrow ones, and read the others so when the program is built.
const growLimit = 256

// grows says whether a node makes as many, but wider elements of a tensor that is not small.
func grows(n *Node) bool {
	if len(n.Out) != 1 || len(n.Out[0].Tensors) != 1 {
		return false
	}
	out, widest := n.Out[0].Tensors[0], 0
	for _, p := range n.In {
		for _, t := range p.Tensors {
			if foreign.Elements(t.Shape) == foreign.Elements(out.Shape) {
				widest = max(widest, t.DType.Bits())
			}
		}
	}
	return widest > 0 && out.DType.Bits() > widest && foreign.Elements(out.Shape) > growLimit
}

// foldable says whether a node is computed now: all inputs are known, nothing is large or grows.
func foldable(n *Node) bool {
	if grows(n) {
		return false
	}
	for _, side := range [][]Port{n.In, n.Out} {
		for _, p := range side {
			for _, t := range p.Tensors {
				if t.Source == nil && t.Data == nil || t.Source != nil && t.Source != any(n) && t.Data == nil || foreign.Elements(t.Shape) > foldLimit {
					return false
				}
			}
		}
	}
	return true
}

// fold computes a node by the reference evaluator, so that a constant is what the program would compute.
func (p *Program) fold(n *Node) error {
	g := ir.New()
	inputs := map[string]tensorfile.Tensor{}
	op := &tensorops.Operation{Kernel: n.Kernel, Params: n.Params}
	for _, side := range n.In {
		port := ir.Port{Name: side.Name}
		for _, t := range side.Tensors {
			label := fmt.Sprintf("i%d", g.Len())
			sel, err := addTensor(g, t, label)
			if err != nil {
				return err
			}
			b, err := t.Data.Read()
			if err != nil {
				return err
			}
			inputs[label] = tensorfile.Tensor{DType: t.DType, Shape: t.Shape, Data: b}
			port.Sel = append(port.Sel, sel)
		}
		op.Inputs = op.Inputs.With(port)
	}
	byLabel := map[string]*foreign.Tensor{}
	for _, side := range n.Out {
		port := ir.Port{Name: side.Name}
		for _, t := range side.Tensors {
			label := fmt.Sprintf("o%d", g.Len())
			sel, err := addTensor(g, t, label)
			if err != nil {
				return err
			}
			byLabel[label] = t
			port.Sel = append(port.Sel, sel)
		}
		op.Outputs = op.Outputs.With(port)
	}
	g.Add(op, "")
	ev := reference.Evaluator{Library: p.lib}
	out, err := ev.Evaluate(p.ctx, g, inputs)
	if err != nil {
		return fmt.Errorf("computing %s when compiling: %w", n.Kernel, err)
	}
	for label, t := range byLabel {
		t.Data = &foreign.Data{DType: t.DType, Shape: t.Shape, Bytes: out[label].Data}
		t.Source = nil
	}
	return nil
}
