package reduced

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir/scalar"
)

// Pairs are monoids of two numbers, of which the second reduction needs what the first one gives:
//
//	log-sum-exp  (greatest value m, Σ exp(x - m) w)       (m, s) · (n, t) = (k, s exp(m - k) + t exp(n - k)) with k = max(m, n); (-inf, 0) is the identity
//	moments      (count c, sum a, Σ (x - a/c)²)           the counts and sums are added, and to the spreads c (a/c - mean of all)²; (0, 0, 0) is the identity
//
// Sources: M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018; T. Chan, G. Golub, R. LeVeque, "Updating Formulae and
// a Pairwise Algorithm for Computing Sample Variances", 1979.
const (
	LogSumExp = tensorops.LogSumExp
	Moments   = tensorops.Moments
)

// step is a reduction along a dim.
type step struct {
	name string
	e    *scalar.Expr
}

// paired gives the name of the pair that a reduction makes with an earlier one; "" if it makes none.
func paired(in *instance.Instance, first, second *scalar.Expr) string {
	if second.Monoid != scalar.Add || !slices.Equal(first.Over, second.Over) {
		return ""
	}
	p := pairing{in: in, first: first}
	switch first.Monoid {
	case scalar.Max:
		if p.scaled(second.Args[0]) {
			return LogSumExp
		}
	case scalar.Add:
		if p.squared(second.Args[0]) {
			return Moments
		}
	}
	return ""
}

// pairing looks for what a reduction gives in the terms of another.
type pairing struct {
	in    *instance.Instance
	first *scalar.Expr
}

// behind follows names of values, and conversions that lose nothing, to what they are of.
func (p *pairing) behind(e *scalar.Expr) *scalar.Expr {
	for e.Op == scalar.Local {
		e = p.in.Statements[e.Ref].Value
	}
	return e
}

// scaled says whether a term is e to the power of a value less the greatest of them, times what does not depend on that.
func (p *pairing) scaled(e *scalar.Expr) bool {
	e = p.behind(e)
	switch e.Op {
	case scalar.Mul:
		return p.scaled(e.Args[0]) && !p.uses(e.Args[1]) || p.scaled(e.Args[1]) && !p.uses(e.Args[0])
	case scalar.Exp:
		less := p.behind(e.Args[0])
		return less.Op == scalar.Sub && p.alike(less.Args[0], p.first.Args[0]) && p.behind(less.Args[1]) == p.first
	}
	return false
}

// squared says whether a term is the square of a value less the mean of them.
func (p *pairing) squared(e *scalar.Expr) bool {
	e = p.behind(e)
	if e.Op != scalar.Mul || !p.alike(e.Args[0], e.Args[1]) {
		return false
	}
	less := p.behind(e.Args[0])
	if less.Op != scalar.Sub || !p.alike(less.Args[0], p.first.Args[0]) {
		return false
	}
	mean := p.behind(less.Args[1])
	return mean.Op == scalar.Div && p.behind(mean.Args[0]) == p.first && !p.uses(mean.Args[1]) && p.fixed(mean.Args[1])
}

// uses says whether an expression depends on what the first reduction gives.
func (p *pairing) uses(e *scalar.Expr) bool {
	e = p.behind(e)
	return e == p.first || slices.ContainsFunc(e.Args, p.uses)
}

// fixed says whether an expression depends on no operand, as a number of cells.
func (p *pairing) fixed(e *scalar.Expr) bool {
	e = p.behind(e)
	return e.Op != scalar.Load && !slices.ContainsFunc(e.Args, func(a *scalar.Expr) bool { return !p.fixed(a) })
}

// alike says whether two expressions are the same.
func (p *pairing) alike(a, b *scalar.Expr) bool {
	a, b = p.behind(a), p.behind(b)
	if a == b {
		return true
	}
	if len(a.Args) == 0 {
		return a.Equal(b)
	}
	return a.Op == b.Op && a.Type == b.Type && a.Monoid == b.Monoid && slices.Equal(a.Over, b.Over) && len(a.Args) == len(b.Args) &&
		slices.EqualFunc(a.Args, b.Args, p.alike)
}

// joined writes the reductions along a dim, of which those that make a pair are one.
func joined(in *instance.Instance, list []step) (names []string) {
	done := make([]bool, len(list))
	for i, a := range list {
		if done[i] {
			continue
		}
		name := a.name
		for j := i + 1; j < len(list); j++ {
			if pair := paired(in, a.e, list[j].e); pair != "" {
				name, done[j] = pair, true
			}
		}
		names = append(names, name)
	}
	return names
}
