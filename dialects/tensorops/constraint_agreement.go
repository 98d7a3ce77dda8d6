package tensorops

import (
	"fmt"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

var tensorOperationAgreement = check.Constraint{
	ID: "TensorOperationAgreementConstraint",
	Doc: "Every selection of every operation names a tensor of the graph, has as many dimensions as it and lies inside its range; an " +
		"empty selection may lie inside or on the border. Inputs may take any part of a tensor. Outputs are total: together with " +
		"the next rule, a value is assigned once and whole. Total counts cells: of a tensor without cells, any empty selection that lies " +
		"inside or on the border is total, as it leaves nothing unwritten, also one whose box is another than the tensor's. A tensor has at most one producer, counted by output entries.",
	Requires: []string{"SchemaTypeConstraint"},
	Codes: []check.Code{
		{ID: "TAP0131", Meaning: "a selection names a node that does not exist"},
		{ID: "TAP0132", Meaning: "a selection names a node that is not a tensor"},
		{ID: "TAP0133", Meaning: "a selection has another number of dimensions than its tensor"},
		{ID: "TAP0134", Meaning: "a selection reaches beyond its tensor"},
		{ID: "TAP0135", Meaning: "an output selection leaves a part of its tensor unwritten"},
		{ID: "TAP0136", Meaning: "a tensor is the output of two producers"},
	},
	Check: checkTensorOperationAgreement,
}

func checkTensorOperationAgreement(c *check.Context) {
	g := c.Graph()
	producers := make([]ir.NodeID, g.Bound()) // 0 is none; else one more than the operation's number
	for n := range g.Nodes() {
		op, ok := n.Body.(*Operation)
		if !ok {
			continue
		}
		if !c.Go() {
			return
		}
		for side := range sides {
			op.side(side).All(func(port, i int, s *ir.Selection) {
				e := entry{n, int32(port), int32(i)}
				if checkSelection(c, e, side, s) && side == outputSide {
					checkTotal(c, e, s)
					checkSingle(c, e, s, producers)
				}
			})
		}
	}
}

// entry is one selection of an operation.
type entry struct {
	node    *ir.Node
	port, i int32
}

// field is the entry's JSON pointer, which is made for findings only.
func (e entry) field(side int) string {
	return check.PortField(sides[side], e.node.Body.(*Operation).side(side).At(int(e.port)).Name, int(e.i))
}

// checkSelection checks that a selection is a box inside an existing tensor.
func checkSelection(c *check.Context, e entry, side int, s *ir.Selection) bool {
	tensor := TensorOf(c.Graph(), s.Tensor)
	if tensor != nil && tensor.Range.Contains(s.Range()) {
		return true
	}
	n, field := e.node, e.field(side)
	t, ok := c.Ref("TAP0131", "TAP0132", n, field+"/tensorId", s.Tensor, TensorKind)
	switch {
	case !ok:
	case s.Range().Rank() != tensor.Range.Rank():
		c.Report(c.Error("TAP0133", n, field+"/range", "a selection of %s has the wrong number of dimensions", c.Graph().Name(t.ID)).
			Want(fmt.Sprintf("%d, as %v has", tensor.Range.Rank(), tensor.Range), fmt.Sprintf("%d in %v", s.Range().Rank(), s.Range())).
			WithNote(c.At(t, "/body/range"), "the tensor"))
	default:
		c.Report(c.Error("TAP0134", n, field+"/range", "a selection reaches beyond %s", c.Graph().Name(t.ID)).
			Want(fmt.Sprintf("a box inside %v", tensor.Range), check.Beyond(tensor.Range, s.Range())).
			WithNote(c.At(t, "/body/range"), "the tensor"))
	}
	return false
}

// checkTotal checks that an output selection leaves no cell of its tensor unwritten.
func checkTotal(c *check.Context, e entry, s *ir.Selection) {
	tensor := TensorOf(c.Graph(), s.Tensor)
	if rest, some := tiling.Missing(tensor.Range, s.Range()); some {
		c.Report(c.Error("TAP0135", e.node, e.field(outputSide)+"/range", "an output leaves a part of %s unwritten", c.Graph().Name(s.Tensor)).
			Want(tensor.Range.String(), fmt.Sprintf("%v, which leaves %v", s.Range(), rest)).
			WithNote(c.At(c.Graph().Node(s.Tensor), "/body/range"), "the tensor").
			WithHint("outputs are total; write a part by an operation on a tensor of its own"))
	}
}

// checkSingle checks that no earlier output entry writes the tensor.
func checkSingle(c *check.Context, e entry, s *ir.Selection, producers []ir.NodeID) {
	made := &producers[s.Tensor]
	if *made == 0 {
		*made = e.node.ID + 1
		return
	}
	g, n := c.Graph(), e.node
	first := firstOutput(g, *made-1, s.Tensor)
	c.Report(c.Error("TAP0136", n, e.field(outputSide), "%s is written twice", g.Name(s.Tensor)).
		Want("one producer", fmt.Sprintf("%s and %s", g.Name(first.node.ID), g.Name(n.ID))).
		WithNote(c.At(first.node, first.field(outputSide)), "the first producer is %s", g.Name(first.node.ID)))
}

// firstOutput gives the first output entry of an operation that writes a tensor, within its range.
func firstOutput(g *ir.Graph, op, tensor ir.NodeID) entry {
	first := entry{}
	OperationOf(g, op).Outputs.All(func(port, i int, s *ir.Selection) {
		if first.node == nil && s.Tensor == tensor && TensorOf(g, tensor).Range.Contains(s.Range()) {
			first = entry{g.Node(op), int32(port), int32(i)}
		}
	})
	return first
}
