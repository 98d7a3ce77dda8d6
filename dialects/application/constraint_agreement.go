package application

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

var operationApplicationAgreement = check.Constraint{
	ID: "OperationApplicationAgreementConstraint",
	Doc: "Every application is a shard of an operation of the graph, and every operation has at least one application: an unsharded " +
		"operation has one that covers it all. An application has the ports of its operation, with as many selections in each, " +
		"of the same tensors in the same order, each inside the operation's selection. Where all applications of an operation " +
		"agree with it, the least box around their ranges is the operation's range, for each selection: inputs may overlap and " +
		"may leave gaps inside, but they reach every border.",
	Requires: []string{"TensorOperationAgreementConstraint"},
	Codes: []check.Code{
		{ID: "TAP0201", Meaning: "an application names an operation that does not exist"},
		{ID: "TAP0202", Meaning: "an application names a node that is not an operation"},
		{ID: "TAP0203", Meaning: "an operation has no application"},
		{ID: "TAP0204", Meaning: "an application has other ports than its operation"},
		{ID: "TAP0205", Meaning: "a port of an application has another number of selections than its operation's"},
		{ID: "TAP0206", Meaning: "an application selects another tensor than its operation"},
		{ID: "TAP0207", Meaning: "an application's selection has another number of dimensions than its operation's"},
		{ID: "TAP0208", Meaning: "an application's selection reaches beyond its operation's"},
		{ID: "TAP0209", Meaning: "the applications together do not reach the borders of their operation's selection"},
	},
	Check: checkAgreement,
}

func checkAgreement(c *check.Context) {
	orphans := false
	for n, a := range check.Each[*Application](c) {
		_, found := c.Ref("TAP0201", "TAP0202", n, "/body/operationId", a.Operation, tensorops.OperationKind)
		orphans = orphans || !found
	}
	for n := range check.Each[*tensorops.Operation](c) {
		checkShards(c, n, !orphans)
	}
}

// checkShards checks the applications of one operation; whether they reach its borders only if asked, since an application
// that names a wrong operation is missing elsewhere.
func checkShards(c *check.Context, op *ir.Node, borders bool) {
	apps := shardsOf(c).of(op.ID)
	if len(apps) == 0 {
		c.Report(c.Error("TAP0203", op, "", "%s has no application", c.Graph().Name(op.ID)).
			Want("at least one application", "none").
			WithHint("an unsharded operation has one application that covers it all"))
		return
	}
	for _, app := range apps {
		for i := range sides {
			borders = checkPorts(c, op, app, i) && borders
		}
	}
	if borders {
		for i := range sides {
			checkBorders(c, op, apps, i)
		}
	}
}

// checkPorts compares one side of an application with its operation's.
func checkPorts(c *check.Context, op, app *ir.Node, i int) bool {
	g := c.Graph()
	have, want := side(app.Body, i), side(op.Body, i)
	if !slices.Equal(portNames(have), portNames(want)) {
		c.Report(c.Error("TAP0204", app, "/body/"+sides[i], "%s and %s have different %s", g.Name(app.ID), g.Name(op.ID), sides[i]).
			Want(fmt.Sprintf("%q", portNames(want)), fmt.Sprintf("%q", portNames(have))).
			WithNote(c.At(op, "/body/"+sides[i]), "the operation"))
		return false
	}
	agree := true
	for p := range have.Len() {
		if len(have.At(p).Sel) != len(want.At(p).Sel) {
			field := "/body/" + sides[i] + "/" + have.At(p).Name
			c.Report(c.Error("TAP0205", app, field, "%s and %s differ in the length of %s %s", g.Name(app.ID), g.Name(op.ID), sides[i], have.At(p).Name).
				Want(check.Count(len(want.At(p).Sel), "selection"), check.Count(len(have.At(p).Sel), "selection")).
				WithNote(c.At(op, field), "the operation"))
			agree = false
			continue
		}
		for j := range have.At(p).Sel {
			field := check.PortField(sides[i], have.At(p).Name, j)
			agree = checkEntry(c, op, app, field, &have.At(p).Sel[j], &want.At(p).Sel[j]) && agree
		}
	}
	return agree
}

// checkEntry compares one selection of an application with its operation's.
func checkEntry(c *check.Context, op, app *ir.Node, field string, have, want *ir.Selection) bool {
	g := c.Graph()
	switch {
	case have.Tensor != want.Tensor:
		c.Report(c.Error("TAP0206", app, field+"/tensorId", "%s selects another tensor than %s", g.Name(app.ID), g.Name(op.ID)).
			Want(g.Name(want.Tensor), g.Name(have.Tensor)).WithNote(c.At(op, field+"/tensorId"), "the operation's selection"))
	case have.Range().Rank() != want.Range().Rank():
		c.Report(c.Error("TAP0207", app, field+"/range", "a selection of %s has the wrong number of dimensions", g.Name(app.ID)).
			Want(fmt.Sprintf("%d, as %v has", want.Range().Rank(), want.Range()), fmt.Sprintf("%d in %v", have.Range().Rank(), have.Range())).
			WithNote(c.At(op, field+"/range"), "the selection of %s", g.Name(op.ID)))
	case !want.Range().Contains(have.Range()):
		c.Report(c.Error("TAP0208", app, field+"/range", "a selection of %s reaches beyond that of %s", g.Name(app.ID), g.Name(op.ID)).
			Want(fmt.Sprintf("a box inside %v", want.Range()), check.Beyond(want.Range(), have.Range())).
			WithNote(c.At(op, field+"/range"), "the selection of %s", g.Name(op.ID)))
	default:
		return true
	}
	return false
}

// checkBorders checks that the applications reach the borders of every selection of one side of their operation.
func checkBorders(c *check.Context, op *ir.Node, apps []*ir.Node, i int) {
	parts := make([]zspace.Range, len(apps))
	side(op.Body, i).All(func(port, entry int, whole *ir.Selection) {
		if _, refined := tensorops.ReadsOf(op).Get(side(op.Body, i).At(port).Name, entry); refined && i == 0 {
			return // shards select what they read, which need not reach the borders
		}
		for k, app := range apps {
			parts[k] = side(app.Body, i).At(port).Sel[entry].Range()
		}
		bound, err := zspace.Bounding(parts...)
		if err != nil || bound.Equal(whole.Range()) { // parts lie inside whole, so there is no error
			return
		}
		field := check.PortField(sides[i], side(op.Body, i).At(port).Name, entry)
		found := fmt.Sprintf("%v around %s", bound, check.Count(len(apps), "application"))
		if rest, some := tiling.Missing(whole.Range(), bound); some {
			found += fmt.Sprintf(", which leaves %v", rest)
		}
		c.Report(c.Error("TAP0209", op, field+"/range", "the applications of %s do not reach its borders", c.Graph().Name(op.ID)).
			Want(whole.Range().String(), found))
	})
}

func portNames(p ir.Ports) []string {
	names := make([]string, p.Len())
	for i := range p.Len() {
		names[i] = p.At(i).Name
	}
	return names
}
