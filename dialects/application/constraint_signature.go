package application

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

var applicationSignatureAgreement = check.Constraint{
	ID: "ApplicationIPFSignatureAgreementConstraint",
	Doc: "Every application of an operation with a signature has an index, which lies inside the operation's index, and each of its " +
		"selections is exactly what that index selects through the operation's projection. There is a warning where the indexes " +
		"of an operation's applications do not cover its index exactly once; whether that changes a value shows in the outputs. " +
		"An index on an application of an operation without a signature has no effect.",
	Requires: []string{"OperationIPFSignatureAgreementConstraint", "OperationApplicationAgreementConstraint"},
	Codes: []check.Code{
		{ID: "TAP0211", Meaning: "an application of an operation with a signature has no index"},
		{ID: "TAP0212", Meaning: "an application's index has another number of dimensions than its operation's"},
		{ID: "TAP0213", Meaning: "an application's index reaches beyond its operation's"},
		{ID: "TAP0214", Meaning: "a projection does not fit the application's index: coordinates beyond 64 bits"},
		{ID: "TAP0215", Meaning: "an application's selection is not what its index selects"},
		{ID: "TAP0216", Meaning: "a warning: the indexes of an operation's applications overlap or leave a gap"},
	},
	Check: func(c *check.Context) {
		for n := range check.Each[*tensorops.Operation](c) {
			if tensorops.SignatureOf(n) != nil {
				checkIndexes(c, n)
			}
		}
	},
}

// checkIndexes checks the indexes of the applications of one operation with a signature.
func checkIndexes(c *check.Context, op *ir.Node) {
	whole, sig := tensorops.IndexOf(op).Range, tensorops.SignatureOf(op)
	apps := shardsOf(c).of(op.ID)
	parts := make([]zspace.Range, 0, len(apps))
	for _, app := range apps {
		if !checkIndex(c, op, app, whole) {
			continue
		}
		part := tensorops.IndexOf(app).Range
		parts = append(parts, part)
		for i, maps := range [...]ir.PortMaps{sig.Inputs, sig.Outputs} {
			side(app.Body, i).All(func(port, entry int, s *ir.Selection) {
				field := check.PortField(sides[i], side(app.Body, i).At(port).Name, entry)
				var reads *tensorops.Reads
				if i == 0 {
					reads = tensorops.ReadsOf(op)
				}
				tensorops.CheckPart(c, [2]string{"TAP0214", "TAP0215"}, app, field, reads, &maps[port], entry, part, s.Range())
			})
		}
	}
	if len(parts) == len(apps) {
		warnPartition(c, op, apps, whole, parts)
	}
}

// checkIndex checks that an application has an index inside its operation's.
func checkIndex(c *check.Context, op, app *ir.Node, whole zspace.Range) bool {
	g, field := c.Graph(), check.TagField(tensorops.IndexKind)
	index := tensorops.IndexOf(app)
	switch {
	case index == nil:
		c.Report(c.Error("TAP0211", app, "", "%s has no index, but %s has a signature", g.Name(app.ID), g.Name(op.ID)).
			Want(fmt.Sprintf("an index tag inside %v", whole), "none").WithNote(c.At(op, ""), "the operation"))
	case index.Range.Rank() != whole.Rank():
		c.Report(c.Error("TAP0212", app, field, "the index of %s has the wrong number of dimensions", g.Name(app.ID)).
			Want(fmt.Sprintf("%d, as %v has", whole.Rank(), whole), fmt.Sprintf("%d in %v", index.Range.Rank(), index.Range)).
			WithNote(c.At(op, field), "the index of %s", g.Name(op.ID)))
	case !whole.Contains(index.Range):
		c.Report(c.Error("TAP0213", app, field, "the index of %s reaches beyond that of %s", g.Name(app.ID), g.Name(op.ID)).
			Want(fmt.Sprintf("a box inside %v", whole), check.Beyond(whole, index.Range)).
			WithNote(c.At(op, field), "the index of %s", g.Name(op.ID)))
	default:
		return true
	}
	return false
}

func warnPartition(c *check.Context, op *ir.Node, apps []*ir.Node, whole zspace.Range, parts []zspace.Range) {
	fault, err := tiling.Check(whole, parts)
	if err != nil || fault == nil { // parts are valid boxes inside whole, so there is no error
		return
	}
	d := c.Warning("TAP0216", op, check.TagField(tensorops.IndexKind), "the indexes of the applications of %s do not cover its index exactly once",
		c.Graph().Name(op.ID)).Want(fmt.Sprintf("a tiling of %v", whole), faultText(c, fault, apps))
	for _, i := range [...]int{fault.I, fault.J} {
		if i >= 0 {
			d = d.WithNote(c.At(apps[i], check.TagField(tensorops.IndexKind)), "%s has %v", c.Graph().Name(apps[i].ID), parts[i])
		}
	}
	c.Report(d)
}

// faultText says a fault of a tiling with the names of the applications.
func faultText(c *check.Context, f *tiling.Fault, apps []*ir.Node) string {
	g := c.Graph()
	if f.Kind == tiling.Overlap {
		return fmt.Sprintf("an overlap: %s and %s share %v", g.Name(apps[f.I].ID), g.Name(apps[f.J].ID), f.Witness)
	}
	return fmt.Sprintf("a gap: no application has %v", f.Witness)
}
