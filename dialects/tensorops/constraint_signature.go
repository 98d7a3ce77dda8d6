package tensorops

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

var operationSignatureAgreement = check.Constraint{
	ID: "OperationIPFSignatureAgreementConstraint",
	Doc: "Every operation with a signature has an index, its ports and the signature's are the same, with as many selections as " +
		"projections in each, and every selection is exactly the hull of what the index selects through its projection. (For an " +
		"index without cells, a range that is empty in every dimension, at the image of the index's start, is accepted too.) " +
		"Output projections are injective: no two points of the index select the same cell. Where that could not be decided " +
		"within a bound of steps there is a warning. An index without a signature has no effect. What refines a signature, the tag Reads, " +
		"names input selections that the signature has projections for, each once; its pieces, 64 at most, fit the index and the tensor, and read " +
		"cells of the selection alone.",
	Requires: []string{"TensorOperationAgreementConstraint"},
	Codes: []check.Code{
		{ID: "TAP0151", Meaning: "an operation has a signature and no index"},
		{ID: "TAP0152", Meaning: "the signature has other ports than the operation"},
		{ID: "TAP0153", Meaning: "a port has another number of projections than selections"},
		{ID: "TAP0154", Meaning: "a projection does not fit the index: another number of dimensions, or coordinates beyond 64 bits"},
		{ID: "TAP0155", Meaning: "a selection is not what the index selects"},
		{ID: "TAP0156", Meaning: "two points of the index write the same cell of an output"},
		{ID: "TAP0157", Meaning: "a warning: whether two points of the index write the same cell could not be decided"},
		{ID: "TAP0158", Meaning: "a refinement of a signature belongs to no input selection that a signature has a projection for, or to one that has one already"},
		{ID: "TAP0159", Meaning: "a piece does not fit the index or the tensor, reads beyond the selection, or there are too many"},
	},
	Check: signatureCheck(collisionBudget),
}

// collisionBudget bounds the search for colliding points, in steps for each output projection.
const collisionBudget = 20_000

// signatureCheck gives the check with a budget for each search for colliding points.
func signatureCheck(budget int) func(*check.Context) {
	return func(c *check.Context) {
		for n := range check.Each[*Operation](c) {
			switch {
			case SignatureOf(n) != nil:
				checkSignature(c, n, budget)
			case ReadsOf(n) != nil:
				c.Report(c.Error("TAP0158", n, check.TagField(ReadsKind), "%s says what is read exactly, but has no signature", c.Graph().Name(n.ID)).
					Want("a signature", "none"))
			}
		}
	}
}

func checkSignature(c *check.Context, n *ir.Node, budget int) {
	op, sig, index := n.Body.(*Operation), SignatureOf(n), IndexOf(n)
	if index == nil {
		c.Report(c.Error("TAP0151", n, check.TagField(SignatureKind), "%s has a signature and no index", c.Graph().Name(n.ID)).
			Want("an index tag", "none"))
		return
	}
	if checkSignatureSide(c, n, 0, op.Inputs, sig.Inputs, index.Range) {
		checkReads(c, n, op, index.Range)
	}
	if !checkSignatureSide(c, n, 1, op.Outputs, sig.Outputs, index.Range) {
		return
	}
	op.Outputs.All(func(port, entry int, _ *ir.Selection) {
		field := check.PortField("outputs", op.Outputs.At(port).Name, entry)
		checkInjective(c, n, field, sig.Outputs[port].Maps[entry], index.Range, budget)
	})
}

// checkSignatureSide compares one side of an operation with its signature.
func checkSignatureSide(c *check.Context, n *ir.Node, side int, ports ir.Ports, maps ir.PortMaps, index zspace.Range) bool {
	have, want := portNames(ports), mapNames(maps)
	if !slices.Equal(have, want) {
		c.Report(c.Error("TAP0152", n, "/body/"+sides[side], "%s and its signature have different %s", c.Graph().Name(n.ID), sides[side]).
			Want(fmt.Sprintf("%q, as the signature has", want), fmt.Sprintf("%q", have)))
		return false
	}
	agree := true
	for i := range ports.Len() {
		p, m := ports.At(i), &maps[i]
		if len(p.Sel) != len(m.Maps) {
			c.Report(c.Error("TAP0153", n, "/body/"+sides[side]+"/"+p.Name, "%s and its signature differ in the length of %s %s",
				c.Graph().Name(n.ID), sides[side], p.Name).
				Want(check.Count(len(m.Maps), "selection")+", one for each projection", check.Count(len(p.Sel), "selection")))
			agree = false
			continue
		}
		for j := range p.Sel {
			field := check.PortField(sides[side], p.Name, j)
			agree = CheckProjection(c, [2]string{"TAP0154", "TAP0155"}, n, field, m.Maps[j], index, p.Sel[j].Range()) && agree
		}
	}
	return agree
}

// CheckProjection checks that a selection at a field of n is exactly what an index selects through a projection; codes are
// those for a projection that does not fit the index and for a selection that differs.
func CheckProjection(c *check.Context, codes [2]string, n *ir.Node, field string, m zspace.ProjectionMap, index, sel zspace.Range) bool {
	want, err := m.Apply(index)
	if err != nil {
		c.Report(c.Error(codes[0], n, field, "a projection does not fit the index of %s", c.Graph().Name(n.ID)).
			Want("a projection of "+check.Count(index.Rank(), "index dimension")+" whose image has 64-bit coordinates",
				fmt.Sprintf("%v over %v: %v", m, index, err)))
		return false
	}
	if want.Equal(sel) || index.Empty() && emptyImage(m, index, sel) {
		return true
	}
	c.Report(c.Error(codes[1], n, field+"/range", "a selection of %s is not what its index selects", c.Graph().Name(n.ID)).
		Want(fmt.Sprintf("%v, which %v selects through %v", want, index, m), difference(want, sel)))
	return false
}

// CheckPart checks that a selection of a part of an operation is what the part's index selects: of an input with pieces the least box
// around what they read, and else as CheckProjection does.
func CheckPart(c *check.Context, codes [2]string, n *ir.Node, field string, reads *Reads, maps *ir.NamedMaps, entry int, index, sel zspace.Range) {
	m := maps.Maps[entry]
	list, refined := reads.Get(maps.Name, entry)
	want, err := reads.Selects(maps.Name, entry, m, index)
	if !refined || err != nil || index.Empty() {
		CheckProjection(c, codes, n, field, m, index, sel)
		return
	}
	if !want.Equal(sel) {
		c.Report(c.Error(codes[1], n, field+"/range", "a selection of %s is not what its index selects", c.Graph().Name(n.ID)).
			Want(fmt.Sprintf("%v, which %v reads through %s", want, index, check.Count(len(list), "piece")), difference(want, sel)))
	}
}

// emptyImage says whether a selection is Loom's own image of an index without cells.
func emptyImage(m zspace.ProjectionMap, index, sel zspace.Range) bool {
	want, err := m.ApplyEmptyLoom(index)
	return err == nil && want.Equal(sel)
}

// difference says what was found instead of a box, with a part that is missing or too much.
func difference(want, found zspace.Range) string {
	if rest, some := tiling.Missing(want, found); some {
		return fmt.Sprintf("%v, which lacks %v", found, rest)
	}
	if rest, some := tiling.Missing(found, want); some {
		return fmt.Sprintf("%v, of which %v is too much", found, rest)
	}
	return found.String()
}

func checkInjective(c *check.Context, n *ir.Node, field string, m zspace.ProjectionMap, index zspace.Range, budget int) {
	hit, found, decided, err := m.FindCollision(index, budget)
	switch {
	case err != nil: // Apply has succeeded, so this is about the witness only
		c.Report(c.Warning("TAP0157", n, field, "whether two points of the index of %s write the same cell is not known", c.Graph().Name(n.ID)).
			Want("a projection that can be searched", err.Error()))
	case found:
		c.Report(c.Error("TAP0156", n, field, "two points of the index of %s write the same cell", c.Graph().Name(n.ID)).
			Want("every cell written from one point of the index",
				fmt.Sprintf("cell %v written from %v and from %v through %v", hit.Cell, hit.A, hit.B, m)))
	case !decided:
		c.Report(c.Warning("TAP0157", n, field, "whether two points of the index of %s write the same cell is not known", c.Graph().Name(n.ID)).
			Want("a proof", fmt.Sprintf("none within %d steps for %v over %v", budget, m, index)))
	}
}

func portNames(p ir.Ports) []string {
	names := make([]string, p.Len())
	for i := range p.Len() {
		names[i] = p.At(i).Name
	}
	return names
}

func mapNames(p ir.PortMaps) []string {
	names := make([]string, len(p))
	for i := range p {
		names[i] = p[i].Name
	}
	return names
}
