package main

import (
	"context"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/plugins"
)

// merge is the pass.
func merge(ctx context.Context, p *plugins.Context) error {
	m := &merger{g: p.Graph, flow: ir.NewFlow(p.Graph, tensorops.OperationKind), held: held(p.Graph)}
	merged := int64(0)
	for i, id := range m.flow.Ops {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if x, ok := m.match(id); ok {
			if err := m.apply(x); err != nil {
				return err
			}
			merged++
			p.Log.Debug("merged", "operation", p.Graph.Name(x.linear.ID), "result", p.Graph.Name(x.result.Tensor))
		}
		p.Progress(i+1, len(m.flow.Ops), "operations")
	}
	if merged == 0 {
		p.Unchanged()
	}
	p.Count("merged", merged)
	return nil
}

// merger holds the graph and what is known of it. The index stays true enough while the graph changes: what a merge removes
// is gone from the graph, and no tensor gets another reader.
type merger struct {
	g    *ir.Graph
	flow *ir.Flow
	held ir.NodeSet // nodes that others than operations refer to
}

// pair is a linear operation, the relu that alone reads its result, and the tensor between them.
type pair struct {
	linear, relu *ir.Node
	between      ir.NodeID
	result       ir.Selection
}

// match looks for a pair whose relu is the operation id.
func (m *merger) match(id ir.NodeID) (x pair, ok bool) {
	x.relu = m.g.Node(id)
	relu, ok := m.operation(id, "relu")
	if !ok {
		return x, false
	}
	from, ok := only(relu.Inputs)
	if !ok {
		return x, false
	}
	if x.result, ok = only(relu.Outputs); !ok {
		return x, false
	}
	x.between = from.Tensor
	whole := tensorops.TensorOf(m.g, from.Tensor)
	producers := m.flow.Producers(from.Tensor)
	switch {
	case whole == nil || m.held.Has(from.Tensor) || len(producers) != 1 || len(m.flow.Consumers(from.Tensor)) != 1:
		return x, false // somebody else reads or writes it
	case !from.Range().Equal(whole.Range):
		return x, false // relu reads a part
	case whole.Type() != tensorops.TensorOf(m.g, x.result.Tensor).Type():
		return x, false
	}
	x.linear = m.g.Node(producers[0])
	linear, ok := m.operation(producers[0], "linear")
	if !ok {
		return x, false
	}
	if v, given := linear.Params.Get("activation"); given && v.Str != "none" {
		return x, false
	}
	out, ok := only(linear.Outputs)
	return x, ok && out.Range().Equal(whole.Range)
}

// operation gives an operation of a kernel that may be changed: nothing but operations refers to it, and it has no effect
// outside the graph.
func (m *merger) operation(id ir.NodeID, kernel string) (*tensorops.Operation, bool) {
	op := tensorops.OperationOf(m.g, id)
	if op == nil || m.held.Has(id) || m.g.Node(id).Tag(tensorops.IOSequencePointKind) != nil {
		return nil, false
	}
	decl, ok := kernels.Builtin().Find(op.Kernel)
	return op, ok && decl.Name == kernel
}

// apply makes one operation of a pair. Its result is relu's own tensor; its signature is derived anew, as the result may
// start elsewhere than the tensor between.
func (m *merger) apply(x pair) error {
	op := x.linear.Body.(*tensorops.Operation)
	op.Params = op.Params.With("activation", ir.StringAttr("relu"))
	op.Outputs = op.Outputs.Clone()
	op.Outputs.At(0).Sel[0] = x.result
	x.linear.SetOrigin(&ir.Origin{Rule: "linear-relu", From: []ir.Pos{x.linear.Pos, x.relu.Pos}})
	m.g.Remove(x.relu.ID)
	m.g.Remove(x.between)
	if tensorops.SignatureOf(x.linear) == nil {
		return nil
	}
	call, err := kernels.Builtin().BindOperation(m.g, x.linear.ID)
	if err != nil {
		return err
	}
	inputs, outputs, err := call.Signature()
	if err != nil {
		return err
	}
	x.linear.SetTag(&tensorops.Signature{Inputs: inputs, Outputs: outputs})
	x.linear.SetTag(&tensorops.Index{Range: call.Index()})
	return nil
}

// only gives the only selection of ports.
func only(ports ir.Ports) (ir.Selection, bool) {
	if ports.Len() != 1 || len(ports.At(0).Sel) != 1 {
		return ir.Selection{}, false
	}
	return ports.At(0).Sel[0], true
}

// held gives the nodes that others than operations refer to.
func held(g *ir.Graph) (out ir.NodeSet) {
	for n := range g.Nodes() {
		if n.Body.Kind() != tensorops.OperationKind {
			for _, id := range ir.References(n.Body) {
				out.Add(id)
			}
		}
	}
	return out
}
