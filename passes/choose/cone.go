package choose

import (
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
)

// Cone gives the graph of a branch's own operations: those that it needs and that nothing outside of the choice does, with the constants that they
// read. What else they read are inputs, and the branch is the output. It has no nodes if the branch is there anyway.
func Cone(g *ir.Graph, c tensorops.Choice, branch int) *ir.Graph {
	x := &cone{from: g, flow: ir.NewFlow(g, tensorops.OperationKind), to: ir.New(), at: map[ir.NodeID]ir.NodeID{}, ordered: sequence.Ordered(g)}
	x.own.Add(c.Op)
	x.find()
	x.own.Remove(c.Op)
	for _, p := range x.flow.Producers(c.Branches[branch].Tensor) {
		if x.own.Has(p) {
			x.operation(p)
		}
	}
	return x.to
}

// cone copies a part of a graph.
type cone struct {
	from *ir.Graph
	flow *ir.Flow
	to   *ir.Graph
	at   map[ir.NodeID]ir.NodeID // copies
	own  ir.NodeSet              // operations that nothing but the choice needs

	ordered ir.NodeSet // operations that sequence points name
}

// find adds the operations all of whose results go to those that are there, consumers first.
func (x *cone) find() {
	order := x.flow.Order(x.from)
	for i := len(order) - 1; i >= 0; i-- {
		op := tensorops.OperationOf(x.from, order[i])
		if op.IsSink() || op.IsImport() || x.ordered.Has(order[i]) || x.from.Node(order[i]).Tag(tensorops.IOSequencePointKind) != nil || x.own.Has(order[i]) {
			continue
		}
		if used, only := x.uses(op); used && only {
			x.own.Add(order[i])
		}
	}
}

// uses says whether somebody reads an operation's results, and whether only those do that are there.
func (x *cone) uses(op *tensorops.Operation) (used, only bool) {
	only = true
	op.Outputs.All(func(_, _ int, s *ir.Selection) {
		for _, c := range x.flow.Consumers(s.Tensor) {
			used, only = true, only && x.own.Has(c)
		}
	})
	return used, only
}

// operation copies an operation, once, behind what it reads.
func (x *cone) operation(id ir.NodeID) {
	if _, done := x.at[id]; done {
		return
	}
	x.at[id] = ir.NoNode
	body := ir.CloneBody(x.from.Node(id).Body).(*tensorops.Operation)
	body.Inputs.All(func(_, _ int, s *ir.Selection) {
		for _, p := range x.flow.Producers(s.Tensor) {
			if x.own.Has(p) || tensorops.OperationOf(x.from, p).IsSource() && !tensorops.OperationOf(x.from, p).IsImport() {
				x.operation(p)
			}
		}
	})
	ir.EachReference(body, func(ref *ir.NodeID) { *ref = x.tensor(*ref) })
	x.at[id] = x.to.Add(body, x.from.Node(id).Label).ID
}

// tensor copies a tensor, once.
func (x *cone) tensor(id ir.NodeID) ir.NodeID {
	if _, done := x.at[id]; !done {
		n := x.from.Node(id)
		x.at[id] = x.to.Add(n.Body, n.Label).ID
	}
	return x.at[id]
}
