package nest

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
)

// Seldom is a choice, the value of a statement of its own, whose last side is computed from a sum of float64 that nothing else needs: a
// contraction goes on with the other side wherever it can, and computes the sum for the results that choose it, one by one.
type Seldom struct {
	Statement int
	Choice    *scalar.Expr // Where: the condition, the usual side, the other
	Sum       *scalar.Expr // of the other side
}

// SeldomOf finds it; nil if a kernel has none.
func SeldomOf(k *schedule.Kernel) *Seldom {
	for i, s := range k.Statements {
		e := s.Value
		if e.Op != scalar.Where || s.Store >= 0 || len(outerReductions(e.Args[0])) > 0 || len(outerReductions(e.Args[1])) > 0 || e.Type != scalar.Float32 {
			continue
		}
		if sums := outerReductions(e.Args[2]); len(sums) == 1 && sums[0].Monoid == scalar.Add && sums[0].Type == scalar.Float64 &&
			!e.Args[2].Any(func(e *scalar.Expr) bool { return e.Op == scalar.Local || e.IsAt() }) {
			return &Seldom{Statement: i, Choice: e, Sum: sums[0]}
		}
	}
	return nil
}

// side is the side that is chosen seldom; nil if there is none.
func (s *Seldom) side() *scalar.Expr {
	if s == nil {
		return nil
	}
	return s.Choice.Args[2]
}

// outerReductions gives the outermost reductions of an expression, aside from those below others.
func outerReductions(e *scalar.Expr, aside ...*scalar.Expr) (list []*scalar.Expr) {
	e.Walk(func(e *scalar.Expr) bool {
		if e.Op == scalar.Reduce {
			list = append(list, e)
		}
		return e.Op != scalar.Reduce && !slices.Contains(aside, e)
	})
	return list
}
