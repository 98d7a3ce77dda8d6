// Package computed finds right factors of contractions that are computed, as packed weights are unpacked: they are put into the order of the reduction before they are
// used, and computed on the way. It must not import dialects/schedule/nest, which asks it.
package computed

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
)

// LeastRows is from how many rows on panels of such a factor pay: fewer have it computed in registers, beside their sums.
const LeastRows = 24

// Steps is how far an operand moves from one value of a loop to the next, 0 if it has one value.
type Steps func(operand, loop int) int64

// Of gives the factor that is computed if the other is an operand as it stands, that operand, and the one that moves along the most loops of those that the factor
// is computed of, the first of these; nil if there is no such factor.
func Of(k *schedule.Kernel, sum *scalar.Expr, steps Steps) (factor *scalar.Expr, other, most int) {
	left, right := sum.Args[0].Args[0], sum.Args[0].Args[1]
	if right.Op == scalar.Load {
		left, right = right, left
	}
	if left.Op != scalar.Load || right.Op == scalar.Load || right.Type != sum.Type || !sum.Type.IsFloat() || !ofElements(right) {
		return nil, -1, -1
	}
	most, loops := -1, -1
	right.Walk(func(e *scalar.Expr) bool {
		if e.Op == scalar.Load {
			n := 0
			for l := range k.Loops {
				if steps(e.Ref, l) != 0 {
					n++
				}
			}
			if n > loops {
				most, loops = e.Ref, n
			}
		}
		return true
	})
	if most == left.Ref {
		return nil, -1, -1
	}
	return right, left.Ref, most
}

// ofElements says whether an expression is of elements of operands, loops and constants alone, and of some element. Loops may not choose among elements, as those of
// what is put together of others do: each macro-tile would choose again for each element, which takes longer than to put them together once.
func ofElements(e *scalar.Expr) bool {
	loop := func(e *scalar.Expr) bool { return e.Op == scalar.Loop }
	return e.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Load }) && !e.Any(func(e *scalar.Expr) bool {
		return e.Op == scalar.Local || e.Op == scalar.Reduce || e.Op == scalar.Where && e.Args[0].Any(loop)
	})
}

// Follows says whether a factor is the same wherever an operand's element is, but for loops that are summed over.
func Follows(k *schedule.Kernel, factor, sum *scalar.Expr, operand int, steps Steps) bool {
	return !factor.Any(func(e *scalar.Expr) bool {
		for l := range k.Loops {
			moves := e.Op == scalar.Load && steps(e.Ref, l) != 0 || e.Op == scalar.Loop && e.Ref == l
			if moves && steps(operand, l) == 0 && !slices.Contains(sum.Over, l) {
				return true
			}
		}
		return false
	})
}

// Reads says whether a factor, which may be nil, is computed of an operand.
func Reads(factor *scalar.Expr, operand int) bool {
	return factor != nil && factor.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Load && e.Ref == operand })
}
