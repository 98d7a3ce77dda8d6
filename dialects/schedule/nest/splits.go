package nest

import (
	"slices"

	"tensortapestry.org/tapc/ir/affine"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
)

// maxSplits is at how many lanes a row may have: code is written for each part between them.
const maxSplits = 16

// Interval gives the values of a loop, counted from 0, between which a condition of that loop alone holds.
func Interval(k *schedule.Kernel, loop int, condition *scalar.Expr) (from, to int64, ok bool) {
	sums, ok := affine.Borders(condition)
	if !ok {
		return 0, 0, false
	}
	from, to = 0, k.Loops[loop].Extent()
	for _, a := range sums {
		for l, f := range a.Factors {
			if l != loop && f != 0 || f > 1 || f < -1 {
				return 0, 0, false
			}
		}
		first := a.Constant + a.Factor(loop)*k.Loops[loop].Start // at the first value
		switch a.Factor(loop) {
		case 0:
			return 0, 0, false
		case 1:
			from = max(from, -first)
		case -1:
			to = min(to, first+1)
		}
	}
	return from, max(from, to), true
}

// splits gives the lanes at which a choice that only depends on the lane changes, as where one part of a concatenation ends and the next
// begins, if there are few and the kernel reduces nothing.
func splits(k *schedule.Kernel, d Dim) []int64 {
	if len(d.Loops) != 1 {
		return nil
	}
	var out []int64
	folds := false
	for _, s := range k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			folds = folds || e.Op == scalar.Reduce
			if e.Op != scalar.Where || affine.Guarded(e) {
				return true
			}
			if from, to, ok := Interval(k, d.Inner(), e.Args[0]); ok {
				out = append(out, from, to)
			}
			return true
		})
	}
	slices.Sort(out)
	out = slices.DeleteFunc(slices.Compact(out), func(at int64) bool { return at <= 0 || at >= d.Extent })
	if folds || len(out) > maxSplits {
		return nil
	}
	return out
}
