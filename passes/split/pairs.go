package split

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
)

// joins has the kernels whose two results are a pair (package reduced), and the kernel that makes one pair of those of parts. So one sweep of each
// part and one operation take the place of two reductions, of which the second waits for the first of all parts.
var joins = map[string]string{"exp_sum": "op:combine_exp_sum", "moments": "op:combine_moments"}

// pair cuts an operation that gives a pair. Terms are rounded otherwise than those of the whole, wherever it is cut: they are scaled to the
// greatest value of a part, or squares of distances from its mean.
func (c *cutter) pair(n *ir.Node, in *instance.Instance, dim int, at []int64) ([]*ir.Node, error) {
	if !c.allow.Has(permission.Reassociate) {
		return nil, diag.Errorf("TAP0815", "split", c.g.At(n, ""), "%v gives the sums of %s other bits", c.asked, c.whose).
			Want("the permission reassociate", "none, and a pair, of whose parts each is rounded by itself")
	}
	if !c.may(map[string]string{"exp_sum": expRule, "moments": momentRule}[in.Decl.Name], n.ID) {
		return nil, errLeft
	}
	s, p := &steps{c: c, n: n, in: in}, &plain{in: in, dim: dim}
	op := n.Body.(*tensorops.Operation)
	var firsts, seconds []ir.Selection
	var parts []*ir.Node
	var counts []float64
	from, each := int64(0), int64(s.count())/in.Dims[dim].Extent
	for _, to := range append(slices.Clone(at), in.Dims[dim].Extent) {
		inputs, err := p.inputs(op.Inputs, from, to)
		if err != nil {
			return nil, err
		}
		pair := s.addAll(op.Kernel, op.Params, resultsOf(in.Decl), one("tensor", inputs.At(0).Sel[0]))
		if s.err != nil {
			return nil, s.err
		}
		firsts, seconds, parts = append(firsts, pair[0]), append(seconds, pair[1]), append(parts, s.made[len(s.made)-1])
		counts, from = append(counts, float64((to-from)*each)), to
	}
	joinPairs(s, firsts, seconds, counts)
	if s.err != nil {
		return nil, s.err
	}
	c.parts += len(parts)
	s.finish()
	return parts, nil
}

// joinPairs adds the operation that makes one pair of those of parts.
func joinPairs(s *steps, firsts, seconds []ir.Selection, counts []float64) {
	first, second := s.add("op:stack", nil, one("tensors", firsts...)), s.add("op:stack", nil, one("tensors", seconds...))
	names, args := []string{}, []arg{}
	results := s.n.Body.(*tensorops.Operation).Outputs
	for _, p := range results.Each() {
		names = append(names, s.declared(p.Name))
	}
	if s.in.Decl.Name == "exp_sum" {
		args = append(args, one("tops", first), one("totals", second))
	} else {
		args = append(args, one("totals", first), one("spreads", second), one("counts", vectorOf(s, counts, s.c.typeOf(first.Tensor))))
	}
	out := s.addAll(joins[s.in.Decl.Name], nil, names, args...)
	s.give = map[string]ir.Selection{}
	for i, x := range out {
		s.give[results.At(i).Name] = x
	}
}

// vectorOf is of some numbers.
func vectorOf(s *steps, list []float64, d scalar.DType) ir.Selection {
	var cells []ir.Selection
	for _, x := range list {
		cells = append(cells, s.number(x, d))
	}
	return s.add("op:stack", nil, one("tensors", cells...))
}

// pairs says whether an operation may be cut into pairs; else its reductions are cut one after the other, at the boundaries of blocks, which keeps bits.
func (s *steps) pairs() bool { return s.c.allow.Has(permission.Reassociate) }

// momentsOf gives the sum of a tensor along the operation's dimensions and that of the squared distances from the mean, as a pair or in two sweeps, and these distances.
func momentsOf(s *steps, x ir.Selection, keep bool) (mean, spread, away ir.Selection) {
	d := s.c.typeOf(x.Tensor)
	count := func() ir.Selection { return s.number(s.count(), d) }
	if s.pairs() {
		if !keep {
			return mean, s.addAll("op:moments", s.kept(false), []string{"spread"}, one("tensor", x))[0], away
		}
		pair := s.addAll("op:moments", s.kept(true), []string{"total", "spread"}, one("tensor", x))
		mean = s.by(pair[0], count())
		return mean, pair[1], s.less(x, mean)
	}
	mean = s.by(s.over("op:sum", x, true), count())
	away = s.less(x, mean)
	return mean, s.over("op:sum", s.product(away, away), keep), away
}

// topOf gives a tensor less the greatest value of each row, e to the power of that, and their sum; e is only there if it is asked for or summed.
func topOf(s *steps, power bool) (less, e, total ir.Selection) {
	x := s.wide("tensor")
	if s.pairs() {
		pair := s.addAll("op:exp_sum", s.kept(true), []string{"top", "total"}, one("tensor", x))
		if less = s.less(x, pair[0]); power {
			e = s.each("op:exp", less)
		}
		return less, e, pair[1]
	}
	less = s.less(x, s.over("op:reduce_max", x, true))
	e = s.each("op:exp", less)
	return less, e, s.over("op:sum", e, true)
}
