package tensorops

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/zspace"
)

var reducedDimensions = check.Constraint{
	ID: "OperationReducedDimensionsConstraint",
	Doc: "An operation whose tag Reduced names dimensions that it reduces has a signature and an index. The dimensions, 64 at most, have different " +
		"names, extents that are not negative, and monoids (sum, prod, min, max, all, any, and the pairs log-sum-exp and moments) that combine what parts give. Its maps have the " +
		"input ports of the operation, and every selection is exactly the hull of what the index, followed by the whole of these dimensions, " +
		"selects through its map. Whether that is what the operation's kernel does is checked with the kernel (TAP0606).",
	Requires: []string{"OperationIPFSignatureAgreementConstraint"},
	Codes: []check.Code{
		{ID: "TAP0181", Meaning: "an operation has reduced dimensions and no signature with an index"},
		{ID: "TAP0182", Meaning: "a reduced dimension has the name of another or none, a negative extent or no known monoids, or there are too many"},
		{ID: "TAP0183", Meaning: "the maps of reduced dimensions have other ports or entries than the operation's inputs"},
		{ID: "TAP0184", Meaning: "a map does not fit the index and the reduced dimensions: another number of dimensions, or coordinates beyond 64 bits"},
		{ID: "TAP0185", Meaning: "a selection is not what the index and the reduced dimensions select"},
	},
	Check: func(c *check.Context) {
		for n := range check.Each[*Operation](c) {
			if r := ReducedOf(n); r != nil {
				checkReduced(c, n, r)
			}
		}
	},
}

// maxReduced bounds the reduced dimensions of an operation.
const maxReduced = 64

func checkReduced(c *check.Context, n *ir.Node, r *Reduced) {
	if SignatureOf(n) == nil || IndexOf(n) == nil {
		c.Report(c.Error("TAP0181", n, check.TagField(ReducedKind), "%s has reduced dimensions, but no signature with an index", c.Graph().Name(n.ID)).
			Want("a signature and an index", "none"))
		return
	}
	if want, found := r.fault(); found != "" {
		c.Report(c.Error("TAP0182", n, check.TagField(ReducedKind), "the reduced dimensions of %s are malformed", c.Graph().Name(n.ID)).Want(want, found))
		return
	}
	op := n.Body.(*Operation)
	if have, want := mapNames(r.Inputs), portNames(op.Inputs); !slices.Equal(have, want) {
		c.Report(c.Error("TAP0183", n, check.TagField(ReducedKind), "the maps of reduced dimensions are not of the inputs of %s", c.Graph().Name(n.ID)).
			Want(fmt.Sprintf("%q", want), fmt.Sprintf("%q", have)))
		return
	}
	whole := r.Index(IndexOf(n).Range)
	for i, m := range r.Inputs {
		p := op.Inputs.At(i)
		if len(m.Maps) != len(p.Sel) {
			c.Report(c.Error("TAP0183", n, check.TagField(ReducedKind), "the maps of reduced dimensions of %s differ from its inputs %s in length", c.Graph().Name(n.ID), p.Name).
				Want(check.Count(len(p.Sel), "map"), check.Count(len(m.Maps), "map")))
			continue
		}
		for j := range m.Maps {
			CheckProjection(c, [2]string{"TAP0184", "TAP0185"}, n, check.PortField("inputs", p.Name, j), m.Maps[j], whole, p.Sel[j].Range())
		}
	}
}

// fault says what is wrong with the dimensions by themselves; found is "" if nothing is.
func (r *Reduced) fault() (want, found string) {
	if len(r.Dimensions) > maxReduced {
		return check.Count(maxReduced, "dimension") + " at most", check.Count(len(r.Dimensions), "dimension")
	}
	seen := map[string]bool{}
	for _, d := range r.Dimensions {
		switch {
		case d.Name == "" || seen[d.Name]:
			return "names, each once", fmt.Sprintf("%q", d.Name)
		case d.Extent < 0:
			return "an extent that is not negative", fmt.Sprintf("%s %d", d.Name, d.Extent)
		case !combines(d.Combine):
			return strings.Join(Monoids, ", ") + ", with commas between", fmt.Sprintf("%s %q", d.Name, d.Combine)
		}
		seen[d.Name] = true
	}
	return "", ""
}

// Index gives the points of an index followed by the whole of the reduced dimensions.
func (r *Reduced) Index(index zspace.Range) zspace.Range {
	whole := index.Clone()
	for _, d := range r.Dimensions {
		whole.Start, whole.End = append(whole.Start, 0), append(whole.End, d.Extent)
	}
	return whole
}
