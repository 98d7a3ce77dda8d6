package constraints

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

var transferAgreement = check.Constraint{
	ID: "TransferConstraint",
	Doc: "Data changes devices by transfers only: every operand of a kernel is a view of a buffer on the kernel's device. A transfer goes " +
		"from one buffer to another of the same tensor and element type. It copies a box that both have or, if it names none, all cells, which are the same.",
	Requires: []string{"OperandAgreementConstraint"},
	Codes: []check.Code{
		{ID: "TAP0381", Meaning: "a kernel uses a buffer on another device"},
		{ID: "TAP0382", Meaning: "a transfer joins buffers of different tensors, ranges or element types"},
		{ID: "TAP0383", Meaning: "a transfer goes from a buffer to itself"},
		{ID: "TAP0384", Meaning: "a transfer copies cells that one of its buffers does not have"},
	},
	Check: func(c *check.Context) {
		for n := range c.Graph().Nodes() {
			if !c.Go() {
				return
			}
			switch b := n.Body.(type) {
			case *schedule.Kernel:
				checkDevices(c, n, b)
			case *schedule.Transfer:
				checkTransfer(c, n, b)
			}
		}
	},
}

func checkDevices(c *check.Context, n *ir.Node, k *schedule.Kernel) {
	g := c.Graph()
	for i := range k.Operands {
		o := &k.Operands[i]
		if b := schedule.BufferOf(c.Graph(), o.Buffer); b.Device != k.Device {
			c.Report(c.Error("TAP0381", n, fmt.Sprint("/body/operands/", i, "/buffer"), "operand %s of %s is on another device", o.Name, g.Name(n.ID)).
				Want("a buffer on "+g.Name(k.Device), fmt.Sprintf("%s on %s", g.Name(o.Buffer), g.Name(b.Device))).
				WithNote(c.At(g.Node(o.Buffer), "/body/device"), "the buffer").
				WithHint("bring the data there by a transfer"))
		}
	}
}

func checkTransfer(c *check.Context, n *ir.Node, t *schedule.Transfer) {
	g, from, to := c.Graph(), schedule.BufferOf(c.Graph(), t.From), schedule.BufferOf(c.Graph(), t.To)
	if t.From == t.To {
		c.Report(c.Error("TAP0383", n, "/body/to", "%s goes from a buffer to itself", g.Name(n.ID)).
			Want("another buffer", g.Name(t.To)))
		return
	}
	differ := func(what, expected, found string) {
		c.Report(c.Error("TAP0382", n, "/body/to", "%s joins buffers of different %ss", g.Name(n.ID), what).
			Want(expected, found).
			WithNote(c.At(g.Node(t.From), ""), "from %s", g.Name(t.From)).WithNote(c.At(g.Node(t.To), ""), "to %s", g.Name(t.To)))
	}
	if from.Tensor != to.Tensor {
		differ("tensor", g.Name(from.Tensor), g.Name(to.Tensor))
	}
	if t.Range.Rank() == 0 && !from.Range.Equal(to.Range) {
		differ("range", from.Range.String(), to.Range.String())
	}
	for _, id := range []ir.NodeID{t.From, t.To} {
		if has := schedule.BufferOf(c.Graph(), id).Range; t.Range.Rank() > 0 && !has.Contains(t.Range) {
			c.Report(c.Error("TAP0384", n, "/body/range", "%s copies cells that %s does not have", g.Name(n.ID), g.Name(id)).
				Want("a box inside "+has.String(), t.Range.String()).WithNote(c.At(g.Node(id), "/body/range"), "the buffer"))
		}
	}
	if from.DType != to.DType {
		differ("element type", from.DType, to.DType)
	}
}
