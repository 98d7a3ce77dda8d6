package expr

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
)

// einsumLabels reads an equation such as "ij,jk->ik" for operands of the given ranks. It gives, as a list of two, the labels
// of every operand and those of the result: a letter is its code, and the dimensions of an ellipsis are -1, -2, … from the
// last, so that they align as broadcasting has it. Without an arrow the result has the ellipsis and then, in alphabetical order,
// the letters that stand once.
func einsumLabels(_ *Env, a []foreign.Value) (foreign.Value, error) {
	ranks, ok := a[1].Ints()
	if a[0].Kind != foreign.String || !ok {
		return foreign.Value{}, fmt.Errorf("expected an equation and a list of ranks")
	}
	left, right, arrow := strings.Cut(strings.ReplaceAll(a[0].Str, " ", ""), "->")
	terms := strings.Split(left, ",")
	if len(terms) != len(ranks) {
		return foreign.Value{}, Refuse("the equation %q has %d operands, and there are %d", a[0].Str, len(terms), len(ranks))
	}
	var labels []foreign.Value
	count := map[int64]int{}
	dots := int64(0)
	for i, t := range terms {
		l, n, err := termLabels(t, ranks[i])
		if err != nil {
			return foreign.Value{}, err
		}
		dots = max(dots, n)
		for _, x := range l {
			count[x]++
		}
		labels = append(labels, foreign.IntsValue(l))
	}
	var out []int64
	if arrow {
		letters := int64(len(strings.ReplaceAll(right, "...", "")))
		if !strings.Contains(right, "...") {
			dots = 0
		}
		var err error
		if out, _, err = termLabels(right, letters+dots); err != nil {
			return foreign.Value{}, err
		}
	} else {
		for i := dots; i > 0; i-- {
			out = append(out, -i)
		}
		for c := int64('A'); c <= 'z'; c++ {
			if count[c] == 1 {
				out = append(out, c)
			}
		}
	}
	for i, x := range out {
		if count[x] == 0 || slices.Contains(out[:i], x) {
			return foreign.Value{}, Refuse("the equation %q: the result has a label that no operand has, or one twice", a[0].Str)
		}
	}
	return foreign.ListValue(foreign.ListValue(labels...), foreign.IntsValue(out)), nil
}

// termLabels gives the labels of one term for an operand of a rank, and how many dimensions its ellipsis has.
func termLabels(term string, rank int64) ([]int64, int64, error) {
	before, after, ellipsis := strings.Cut(term, "...")
	dots := rank - int64(len(before)+len(after))
	if dots < 0 || dots > 0 && !ellipsis {
		return nil, 0, Refuse("the term %q does not fit a rank of %d", term, rank)
	}
	var out []int64
	for _, c := range []byte(before) {
		out = append(out, int64(c))
	}
	for i := dots; i > 0; i-- {
		out = append(out, -i)
	}
	for _, c := range []byte(after) {
		out = append(out, int64(c))
	}
	for _, x := range out {
		if x > 0 && (x < 'A' || x > 'Z') && (x < 'a' || x > 'z') {
			return nil, 0, Refuse("the term %q: expected letters and at most one ellipsis", term)
		}
	}
	return out, dots, nil
}
