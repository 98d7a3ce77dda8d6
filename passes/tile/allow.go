package tile

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
)

// allow gives a kernel of a CPU those of some permissions that are of use to it.
func allow(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, set permission.Set) {
	for _, x := range []struct {
		set  permission.Set
		pays func(*schedule.Kernel, map[ir.NodeID]*schedule.Buffer) bool // asked of the kernel with the permission
	}{
		{permission.LostNaN, computes(scalar.Max, scalar.Min)},
		{permission.Reciprocal, computes(scalar.Div)},
		{permission.BF16, roundingPays},
		{permission.TransformedTiles, transformingPays},
	} {
		if !set.Has(x.set) {
			continue
		}
		if k.Allow |= x.set; !x.pays(k, buffers) {
			k.Allow &^= x.set
		}
	}
}

// computes says whether a kernel has one of some operators on floats, folds with it included.
func computes(ops ...scalar.Op) func(*schedule.Kernel, map[ir.NodeID]*schedule.Buffer) bool {
	return func(k *schedule.Kernel, _ map[ir.NodeID]*schedule.Buffer) bool {
		found := false
		for _, s := range k.Statements {
			s.Value.Walk(func(e *scalar.Expr) bool {
				found = found || e.Type.IsFloat() && (slices.Contains(ops, e.Op) || e.Op == scalar.Reduce && slices.Contains(ops, e.Monoid))
				return !found
			})
		}
		return found
	}
}

func transformingPays(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) bool {
	w, ok := FindWinograd(k, buffers)
	return ok && w.choose() > 0
}
