package tile

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
)

// allow gives a kernel of a CPU those of some permissions that are of use to it.
func allow(k *schedule.Kernel, forms nest.Forms, set permission.Set) {
	for _, x := range []struct {
		set  permission.Set
		pays func(*schedule.Kernel, nest.Forms) bool
	}{
		{permission.LostNaN, computes(scalar.Max, scalar.Min)},
		{permission.Reciprocal, computes(scalar.Div)},
		{permission.BF16, roundingPays},
		{permission.TransformedTiles, transformingPays},
	} {
		if set.Has(x.set) && x.pays(k, forms) {
			k.Allow |= x.set
		}
	}
}

// computes says whether a kernel has one of some operators on floats, reductions with it included.
func computes(ops ...scalar.Op) func(*schedule.Kernel, nest.Forms) bool {
	return func(k *schedule.Kernel, _ nest.Forms) bool {
		return slices.ContainsFunc(k.Statements, func(s schedule.Statement) bool {
			return s.Value.Any(func(e *scalar.Expr) bool {
				return e.Type.IsFloat() && (slices.Contains(ops, e.Op) || e.Op == scalar.Reduce && slices.Contains(ops, e.Monoid))
			})
		})
	}
}

func transformingPays(_ *schedule.Kernel, forms nest.Forms) bool {
	w, ok := nest.Of[*nest.Winograd](forms)
	return ok && transformedSize(w) > 0
}
