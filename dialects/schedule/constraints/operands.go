package constraints

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/scalar"
)

var operandAgreement = check.Constraint{
	ID: "OperandAgreementConstraint",
	Doc: "Every operand has the element type of its buffer, and an access with one row for each dimension of the buffer and one column " +
		"for each loop of the kernel.",
	Requires: []string{"BufferLayoutConstraint", "KernelLoopConstraint"},
	Codes: []check.Code{
		{ID: "TAP0346", Meaning: "an operand has another element type than its buffer"},
		{ID: "TAP0347", Meaning: "an access has another number of rows than its buffer has dimensions"},
		{ID: "TAP0348", Meaning: "an access has another number of columns than the kernel has loops"},
	},
	Check: func(c *check.Context) {
		for n, k := range check.Each[*schedule.Kernel](c) {
			for i := range k.Operands {
				checkOperand(c, n, k, i)
			}
		}
	},
}

func checkOperand(c *check.Context, n *ir.Node, k *schedule.Kernel, i int) {
	o, b := &k.Operands[i], schedule.BufferOf(c.Graph(), k.Operands[i].Buffer)
	field := func(name string) string { return fmt.Sprint("/body/operands/", i, "/", name) }
	report := func(code, at, what, expected, found string) {
		c.Report(c.Error(code, n, field(at), "operand %s of %s %s", o.Name, c.Graph().Name(n.ID), what).
			Want(expected, found).WithNote(c.At(c.Graph().Node(o.Buffer), ""), "it is a view of %s", c.Graph().Name(o.Buffer)))
	}
	if o.DType != b.DType || o.Type() == scalar.Invalid {
		report("TAP0346", "dtype", "has another element type than its buffer", b.DType, o.DType)
	}
	m := o.Access.Projection
	if len(m) != b.Range.Rank() {
		report("TAP0347", "access", "has another number of rows than its buffer has dimensions",
			fmt.Sprintf("%d rows, one for each dimension of %v", b.Range.Rank(), b.Range), fmt.Sprint(len(m)))
	}
	if !m.Fits(len(k.Loops)) {
		report("TAP0348", "access", "has another number of columns than the kernel has loops",
			fmt.Sprintf("%d columns", len(k.Loops)), fmt.Sprint(m.Cols()))
	}
}
