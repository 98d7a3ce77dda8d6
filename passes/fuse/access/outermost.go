package access

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/scalar"
)

// Outermost decides a choice by the outer one of the loops that a loop was cut into, where the inner ones do not matter: 32a + b < 768 where a < 24, for b from 0 to 31.
func Outermost(k *schedule.Kernel, e *scalar.Expr) *scalar.Expr {
	if e.Op != scalar.Where {
		return e
	}
	sums, ok := affine.Borders(e.Args[0])
	if !ok {
		return e
	}
	changed, condition := false, (*scalar.Expr)(nil)
	for _, sum := range sums {
		sum, one := rounded(k, sum)
		changed = changed || one
		least := scalar.Must(scalar.Ge, sum.Expr(), scalar.Number(0))
		if condition != nil {
			least = scalar.Must(scalar.And, condition, least)
		}
		condition = least
	}
	if !changed {
		return e
	}
	return scalar.Must(scalar.Where, condition, e.Args[1], e.Args[2])
}

// rounded gives a sum that is at least 0 wherever another is, without the loops of which that does not depend, divided by what is left.
func rounded(k *schedule.Kernel, sum affine.Sum) (affine.Sum, bool) {
	for _, f := range sum.Factors {
		step := max(f, -f)
		if step < 2 {
			continue
		}
		out, rest := sum.Divide(step)
		if least, most := rest.Hull(k.Space()); least >= 0 && most < step {
			return out, true
		}
	}
	return sum, false
}
