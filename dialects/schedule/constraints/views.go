package constraints

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/uses"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

var operandViewContainment = check.Constraint{
	ID: "OperandViewContainmentConstraint",
	Doc: "Every access of every statement lies inside the buffer's range: the exact hull of the cells that it touches while its loops " +
		"run. A load in one side of a where is judged under the condition, as far as that compares sums of loops: so a kernel may " +
		"guard what it reads near a border.",
	Requires: []string{"StatementConstraint"},
	Codes: []check.Code{
		{ID: "TAP0361", Meaning: "a statement reads or writes cells that the buffer does not have"},
		{ID: "TAP0362", Meaning: "the coordinates of an access are beyond 64 bits"},
	},
	Check: func(c *check.Context) {
		for n, k := range check.Each[*schedule.Kernel](c) {
			for _, u := range uses.In(c)[n.ID] {
				checkView(c, n, k, u)
			}
		}
	},
}

func checkView(c *check.Context, n *ir.Node, k *schedule.Kernel, u uses.Use) {
	o := &k.Operands[u.Operand]
	g, b := c.Graph(), schedule.BufferOf(c.Graph(), o.Buffer)
	field := fmt.Sprint("/body/operands/", u.Operand, "/access")
	verb := "reads"
	if u.Write {
		verb = "writes"
	}
	switch {
	case u.Err != nil:
		c.Report(c.Error("TAP0362", n, field, "statement %s of %s %s %s beyond 64 bits", k.Statements[u.Statement].Name, g.Name(n.ID), verb, o.Name).
			Want("64-bit coordinates", fmt.Sprintf("%v over %v: %v", o.Access, u.Loops, u.Err)))
	case !u.Never && !b.Range.Contains(u.Hull):
		c.Report(c.Error("TAP0361", n, field, "statement %s of %s %s cells of %s that are not there", k.Statements[u.Statement].Name, g.Name(n.ID), verb, o.Name).
			Want(fmt.Sprintf("cells inside %v", b.Range),
				fmt.Sprintf("%s, through %v over loops %v", check.Beyond(b.Range, u.Hull), o.Access, u.Loops)).
			WithNote(c.At(g.Node(o.Buffer), "/body/range"), "operand %s is a view of %s", o.Name, g.Name(o.Buffer)))
	}
}
