package parts

import (
	"fmt"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

// ID is the id of the constraint on operations that were cut.
const ID = "WholeOperationConstraint"

// Constraint gives the constraint, with the kinds of operations and tensors.
func Constraint(operation, tensor *ir.Kind) check.Constraint {
	return check.Constraint{
		ID: ID,
		Doc: "A `whole` is an operation that was cut along what it reduces: it selects tensors, which no other one gives, and what gives them now is marked as a `part`. Parts give what " +
			"is marked, or what a `whole` gives; what is no part reads nothing that is marked. So the graph that was cut can be had back.",
		Codes: []check.Code{
			{ID: "TAP0313", Meaning: "an operation that was cut selects something else than a tensor"},
			{ID: "TAP0314", Meaning: "what an operation gave that was cut is given by another one, or by what is no part"},
			{ID: "TAP0315", Meaning: "a part gives what no operation gave that was cut, or what is no part reads what only parts have"},
		},
		Check: func(c *check.Context) { verify(c, operation, tensor) },
	}
}

func verify(c *check.Context, operation, tensor *ir.Kind) {
	g := c.Graph()
	flow, given := ir.NewFlow(g, operation), map[ir.NodeID]*ir.Node{}
	for n, w := range check.Each[*Whole](c) {
		for side, ports := range []ir.Ports{w.Inputs, w.Outputs} {
			ports.All(func(port, entry int, s *ir.Selection) {
				field := fmt.Sprintf("/body/%s/%s/%d", [...]string{"inputs", "outputs"}[side], ports.At(port).Name, entry)
				if _, ok := c.Ref("TAP0313", "TAP0313", n, field, s.Tensor, tensor); !ok || side == 0 {
					return
				}
				d := c.Error("TAP0314", n, field, "%s gave %s before it was cut", g.Name(n.ID), g.Name(s.Tensor))
				if by := given[s.Tensor]; by != nil && by != n {
					c.Report(d.Want("one operation that did", "another").WithNote(c.At(by, ""), "this one did"))
				}
				given[s.Tensor] = n
				for _, by := range flow.Producers(s.Tensor) {
					if !Is(g.Node(by)) {
						c.Report(d.Want("parts that give it", g.Name(by)).WithNote(c.At(g.Node(by), ""), "it is no part"))
					}
				}
			})
		}
	}
	for _, id := range flow.Ops {
		in, out := g.Node(id).Body.(ir.Ported).Ports()
		ports, part := in, Is(g.Node(id))
		if part {
			ports = out
		}
		ports.All(func(_, _ int, s *ir.Selection) {
			marked := g.Node(s.Tensor) != nil && Is(g.Node(s.Tensor))
			switch {
			case part && !marked && given[s.Tensor] == nil:
				c.Report(c.Error("TAP0315", g.Node(id), "/body/outputs", "%s is a part, and gives %s", g.Name(id), g.Name(s.Tensor)).
					Want("a tensor that is marked, or that an operation gave which was cut", g.Name(s.Tensor)))
			case !part && marked:
				c.Report(c.Error("TAP0315", g.Node(id), "/body/inputs", "%s is no part, and reads %s", g.Name(id), g.Name(s.Tensor)).
					Want("a tensor that is there without cuts", g.Name(s.Tensor)))
			}
		})
	}
}
