package schedule

import (
	"fmt"

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
		for n, k := range check.Each[*Kernel](c) {
			for _, u := range usesIn(c)[n.ID] {
				checkView(c, n, k, u)
			}
		}
	},
}

// usesIn gives the uses of every kernel, by node id.
func usesIn(c *check.Context) map[ir.NodeID][]use {
	return check.Cached(c, "schedule.uses", func() map[ir.NodeID][]use {
		all := map[ir.NodeID][]use{}
		for n := range c.Graph().Nodes() {
			if k, ok := n.Body.(*Kernel); ok {
				all[n.ID] = usesOf(k)
			}
		}
		return all
	})
}

func checkView(c *check.Context, n *ir.Node, k *Kernel, u use) {
	o := &k.Operands[u.operand]
	g, b := c.Graph(), bufferOf(c, o.Buffer)
	field := fmt.Sprint("/body/operands/", u.operand, "/access")
	verb := "reads"
	if u.write {
		verb = "writes"
	}
	switch {
	case u.err != nil:
		c.Report(c.Error("TAP0362", n, field, "statement %s of %s %s %s beyond 64 bits", k.Statements[u.statement].Name, g.Name(n.ID), verb, o.Name).
			Want("64-bit coordinates", fmt.Sprintf("%v over %v: %v", o.Access, u.loops, u.err)))
	case !u.never && !b.Range.Contains(u.hull):
		c.Report(c.Error("TAP0361", n, field, "statement %s of %s %s cells of %s that are not there", k.Statements[u.statement].Name, g.Name(n.ID), verb, o.Name).
			Want(fmt.Sprintf("cells inside %v", b.Range),
				fmt.Sprintf("%s, through %v over loops %v", check.Beyond(b.Range, u.hull), o.Access, u.loops)).
			WithNote(c.At(g.Node(o.Buffer), "/body/range"), "operand %s is a view of %s", o.Name, g.Name(o.Buffer)))
	}
}
