package nest

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
)

// whole gives the kernel that a shard is cut from: its loops are those of the whole operation. cut is false if it is whole already.
//
// The order of a sum depends on how a kernel is carried out: as a contraction, and of what, or as rows of vectors, and along what. That is
// chosen by the whole operation, so that every shard of it adds in the same order.
func whole(k *schedule.Kernel) (all *schedule.Kernel, cut bool) {
	if !slices.ContainsFunc(k.Loops, func(l schedule.Loop) bool { return len(l.Of) == 2 }) {
		return k, false
	}
	w := *k
	w.Loops = slices.Clone(k.Loops)
	for i, l := range w.Loops {
		if len(l.Of) == 2 {
			w.Loops[i].Start, w.Loops[i].End, w.Loops[i].Of = l.Of[0], l.Of[1], nil
		}
	}
	return &w, true
}

// single says whether a loop has one value, in the whole operation too.
func single(l schedule.Loop) bool { return l.Extent() == 1 && len(l.Of) == 0 }
