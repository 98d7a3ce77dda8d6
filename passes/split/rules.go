package split

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/rewrite"
)

// The identities that cuts rest on, by the names that the pass gives them.
const (
	exactRule  = "split-exact"
	blocksRule = "split-blocks"
	sumRule    = "split-sum"
	itselfRule = "split-log-sum-exp"
	expRule    = "split-exp-sum"
	momentRule = "split-moments"
	windowRule = "split-window"
	widerRule  = "split-wider"
)

// stepsRule names the identity of a kernel and its steps.
func stepsRule(kernel string) string {
	return "split-" + strings.ReplaceAll(kernel, "_", "-") + "-steps"
}

// errLeft says that an operation stays as it is, as a rule is not to be applied.
var errLeft = errors.New("an operation stays whole")

// Rules gives the identities of the pass, as rules without patterns: what is asked for says where each is applied.
func Rules() []rewrite.Rule {
	list := []rewrite.Rule{
		{Name: exactRule, Text: "A greatest or least value, an and, an or, or a sum or product of integers becomes those of its parts, and one of these.",
			Because: "the operator is associative, and rounds nothing; of 0 and -0, a greatest or least value is either (docs/numerics.md)"},
		{Name: blocksRule, Text: "A sum of floats, or a product of matrices, that is cut where blocks of its sum's tree begin becomes the sums of its parts, added in the order of the tree.",
			Because: "a part that is whole blocks has their sums, which are added as they are in the whole (docs/numerics.md)"},
		{Name: sumRule, Allow: permission.Reassociate, Text: "A sum or product of floats that is cut anywhere becomes those of its parts, first to last, and one of these.",
			Because: "the operator is associative but for roundings"},
		{Name: itselfRule, Allow: permission.Reassociate, Text: "A log_sum_exp becomes the log_sum_exp of those of its parts.", Because: "log(Σ e^x + Σ e^y) = log(e^log(Σ e^x) + e^log(Σ e^y))"},
		{Name: expRule, Allow: permission.Reassociate, Text: "An exp_sum becomes the combine_exp_sum of those of its parts.",
			Because: "of greatest values a and b, Σ e^(x - max(a, b)) = e^(a - max(a, b)) · Σ e^(x - a) + e^(b - max(a, b)) · Σ e^(x - b) over both parts"},
		{Name: momentRule, Allow: permission.Reassociate, Text: "A moments becomes the combine_moments of those of its parts.",
			Because: "the squares of distances from the mean of all are those from a part's mean, and the square of the distance of both means for each value (T. Chan, G. Golub, R. LeVeque, 1983)"},
		{Name: windowRule, Text: "A convolution or pool that is cut along its window becomes the same kernel with the window's parts, each with the pads that are left for it.",
			Because: "cell k of a window that begins at k0 is read at o·stride + k·dilation - (pad - k0·dilation)"},
		{Name: widerRule, Text: "A reduction of narrow floats becomes casts to the type that it is computed in, the reduction, and a cast of the result.",
			Because: "the kernel computes in that type, and rounds its result once"},
	}
	for _, kernel := range slices.Sorted(maps.Keys(stepsOf)) {
		list = append(list, rewrite.Rule{Name: stepsRule(kernel), Text: "A " + kernel + " that is cut along what it reduces becomes its steps, of which the reductions are cut: " + stepsOf[kernel].text + ".",
			Because: "these are the steps of its declaration, and each rounds as it does there"})
	}
	for i := range list {
		list[i].Source = "Go"
	}
	return list
}

// rule names the identity by which a reduction is cut.
func (p *plain) rule(allow permission.Set, ordered bool) string {
	switch {
	case p.itself:
		return itselfRule
	case !ordered:
		return exactRule
	case allow.Has(permission.Reassociate):
		return sumRule
	}
	return blocksRule
}

// forget takes back the steps that were made for an operation.
func (s *steps) forget() {
	for _, m := range s.made {
		s.c.unmake(m)
	}
}
