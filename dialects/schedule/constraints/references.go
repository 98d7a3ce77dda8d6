package constraints

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

var references = check.Constraint{
	ID: "ScheduleReferenceConstraint",
	Doc: "Every reference of a buffer, a kernel or a transfer names a node of the right type: a buffer its device and, if it holds one, " +
		"a tensor; a kernel its device, applications and, in its operands, buffers; a transfer two buffers. What they wait for are " +
		"kernels and transfers.",
	Requires: []string{"SchemaTypeConstraint"},
	Codes: []check.Code{
		{ID: "TAP0311", Meaning: "a buffer, kernel or transfer refers to a node that does not exist"},
		{ID: "TAP0312", Meaning: "a buffer, kernel or transfer refers to a node of the wrong type"},
	},
	Check: func(c *check.Context) {
		for n := range c.Graph().Nodes() {
			if !c.Go() {
				return
			}
			checkReferences(c, n)
		}
	},
}

func checkReferences(c *check.Context, n *ir.Node) {
	ref := func(field string, id ir.NodeID, kinds ...*ir.Kind) {
		c.Ref("TAP0311", "TAP0312", n, "/body/"+field, id, kinds...)
	}
	if after, ok := schedule.After(n); ok {
		for i, id := range after {
			if k := c.Graph().Node(id); k == nil || k.Body.Kind() != schedule.KernelKind && k.Body.Kind() != schedule.TransferKind {
				ref(fmt.Sprint("after/", i), id, schedule.KernelKind, schedule.TransferKind)
			}
		}
	}
	switch b := n.Body.(type) {
	case *schedule.Buffer:
		ref("device", b.Device, schedule.DeviceKind)
		if b.Tensor != ir.NoNode {
			ref("tensor", b.Tensor, tensorops.TensorKind)
		}
		if b.Over != ir.NoNode {
			ref("over", b.Over, schedule.BufferKind)
		}
	case *schedule.Transfer:
		ref("from", b.From, schedule.BufferKind)
		ref("to", b.To, schedule.BufferKind)
	case *schedule.Kernel:
		ref("device", b.Device, schedule.DeviceKind)
		for i, id := range b.Applications {
			ref(fmt.Sprint("applications/", i), id, application.ApplicationKind)
		}
		for i := range b.Operands {
			ref(fmt.Sprint("operands/", i, "/buffer"), b.Operands[i].Buffer, schedule.BufferKind)
		}
	}
}
