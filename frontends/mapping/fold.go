package mapping

import (
	"fmt"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
)

// foldLimit bounds the elements of what is computed when compiling, on either side of an operation.
const foldLimit = 1 << 14

// growLimit bounds the elements of a result whose elements are wider than those it is made of, as dequantized weights are: passes may have
// use for the narrow ones, and read the others so when the program is built.
const growLimit = 256

// grows says whether a node makes as many, but wider elements of a tensor that is not small.
func grows(n *node) bool {
	if len(n.out) != 1 || len(n.out[0].tensors) != 1 {
		return false
	}
	out, widest := n.out[0].tensors[0], 0
	for _, p := range n.in {
		for _, t := range p.tensors {
			if foreign.Elements(t.Shape) == foreign.Elements(out.Shape) {
				widest = max(widest, t.DType.Bits())
			}
		}
	}
	return widest > 0 && out.DType.Bits() > widest && foreign.Elements(out.Shape) > growLimit
}

// foldable says whether a node is computed now: all inputs are known, nothing is large or grows.
func (m *mapper) foldable(n *node) bool {
	if grows(n) {
		return false
	}
	for _, side := range [][]portTensors{n.in, n.out} {
		for _, p := range side {
			for _, t := range p.tensors {
				if t.Source == nil && t.Data == nil || t.Source != nil && t.Source != any(n) && t.Data == nil || foreign.Elements(t.Shape) > foldLimit {
					return false
				}
			}
		}
	}
	return true
}

// fold computes a node by the reference evaluator, so that a constant is what the program would compute.
func (m *mapper) fold(n *node) error {
	g := ir.New()
	inputs := map[string]tensorfile.Tensor{}
	op := &tensorops.Operation{Kernel: n.kernel, Params: n.params}
	for _, p := range n.in {
		port := ir.Port{Name: p.port}
		for _, t := range p.tensors {
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
	for _, p := range n.out {
		port := ir.Port{Name: p.port}
		for _, t := range p.tensors {
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
	ev := reference.Evaluator{Library: m.opt.Library}
	out, err := ev.Evaluate(m.ctx, g, inputs)
	if err != nil {
		return fmt.Errorf("computing %s when compiling: %w", n.kernel, err)
	}
	for label, t := range byLabel {
		t.Data = &foreign.Data{DType: t.DType, Shape: t.Shape, Bytes: out[label].Data}
		t.Source = nil
	}
	return nil
}

// addTensor adds a tensor node and selects all of it.
func addTensor(g *ir.Graph, t *foreign.Tensor, label string) (ir.Selection, error) {
	r, err := zspace.FromShape(t.Shape...)
	if err != nil {
		return ir.Selection{}, err
	}
	id := g.Add(&tensorops.Tensor{DType: t.DType.String(), Range: r}, label).ID
	return ir.Select(id, r), nil
}
