package tensorops

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/scalar"
)

var marginalCosts = check.Constraint{
	ID: "OperationMarginalCostsConstraint",
	Doc: "An operation whose tag MarginalCosts says what its parts take has a signature and an index. Each term, of 64 at most, names dimensions of the index, " +
		"and behind them of the reduced ones, by number and in order, and says at least one of products, operations, bytes and memory; none is negative. Its " +
		"element type is one that tapc knows. That the operation's kernel is none that tapc knows, whose declaration says it, is checked with the kernel (TAP0247).",
	Requires: []string{"OperationIPFSignatureAgreementConstraint", "OperationReducedDimensionsConstraint"},
	Codes: []check.Code{
		{ID: "TAP0244", Meaning: "an operation has costs and no signature with an index"},
		{ID: "TAP0245", Meaning: "a term of costs names dimensions that are not there or not in order, has a negative number or none, or there are too many"},
		{ID: "TAP0246", Meaning: "costs are of an element type that tapc does not know"},
	},
	Check: func(c *check.Context) {
		for n := range check.Each[*Operation](c) {
			if m := CostsOf(n); m != nil {
				checkCosts(c, n, m)
			}
		}
	},
}

// maxTerms bounds the terms of an operation's costs.
const maxTerms = 64

func checkCosts(c *check.Context, n *ir.Node, m *MarginalCosts) {
	report := func(code, what, want, found string) {
		c.Report(c.Error(code, n, check.TagField(CostsKind), what, c.Graph().Name(n.ID)).Want(want, found))
	}
	if SignatureOf(n) == nil || IndexOf(n) == nil {
		report("TAP0244", "%s has costs, but no signature with an index", "a signature and an index", "none")
		return
	}
	if m.DType != "" {
		if _, err := scalar.ParseDType(m.DType); err != nil {
			report("TAP0246", "the costs of %s are of no element type", "an element type, such as float32", fmt.Sprintf("%q", m.DType))
		}
	}
	rank := int64(IndexOf(n).Range.Rank())
	if r := ReducedOf(n); r != nil {
		rank += int64(len(r.Dimensions))
	}
	if len(m.Terms) > maxTerms {
		report("TAP0245", "%s has too many costs", check.Count(maxTerms, "term")+" at most", check.Count(len(m.Terms), "term"))
		return
	}
	for i := range m.Terms {
		if want, found := m.Terms[i].fault(rank); found != "" {
			report("TAP0245", "the costs of %s do not fit its index", want, fmt.Sprintf("term %d with %s", i, found))
		}
	}
}

// fault says what is wrong with a term of an operation of so many dimensions; found is "" if nothing is.
func (t *CostTerm) fault(rank int64) (want, found string) {
	last := int64(-1)
	for _, d := range t.Over {
		if d <= last || d >= rank {
			return fmt.Sprintf("numbers of dimensions in order, each below %d", rank), fmt.Sprint(t.Over)
		}
		last = d
	}
	all := []int64{t.Products, t.Operations, t.Bytes, t.Memory}
	if least := slices.Min(all); least < 0 {
		return "numbers that are not negative", fmt.Sprint(least)
	}
	if slices.Max(all) == 0 {
		return "products, operations, bytes or memory", "none"
	}
	return "", ""
}
