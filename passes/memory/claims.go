package memory

import (
	"cmp"
	"slices"
)

// claims knows who had each byte last. Who claims bytes splits those of an older claim at most twice, so that a walk over all
// claims is linear in their number.
type claims []claim // ascending, disjoint

type claim struct {
	interval
	by *life
}

// take claims an interval, and gives those that had some of it, in the order of their bytes, nobody twice in a row.
func (c *claims) take(from, to int64, by *life) []*life {
	i, _ := slices.BinarySearchFunc(*c, from+1, func(x claim, at int64) int { return cmp.Compare(x.to, at) })
	var had []*life
	put := make([]claim, 0, 3)
	j := i
	for ; j < len(*c) && (*c)[j].from < to; j++ {
		x := (*c)[j]
		if len(had) == 0 || had[len(had)-1] != x.by {
			had = append(had, x.by)
		}
		if x.from < from {
			put = append(put, claim{interval{x.from, from}, x.by})
		}
	}
	put = append(put, claim{interval{from, to}, by})
	if j > i {
		if x := (*c)[j-1]; x.to > to {
			put = append(put, claim{interval{to, x.to}, x.by})
		}
	}
	*c = slices.Replace(*c, i, j, put...)
	return had
}
