package tiling

import (
	"cmp"
	"math/big"
	"slices"
	"sort"

	"tensortapestry.org/tapc/ir/zspace"
)

// byPairs is firstBad by comparing pairs of boxes: quadratic in the number of
// parts in the worst case, whatever the number of dimensions. It fixes the cell
// one dimension after the other, each time by bisection over the coordinates at
// which anything changes.
func (t *tiler) byPairs() bool {
	region := t.everywhere()
	if t.clean(region) {
		return false
	}
	for d := range t.rank {
		cuts := t.cuts(d)
		n := sort.Search(len(cuts)-1, func(i int) bool {
			region.End[d] = cuts[i+1]
			return !t.clean(region)
		})
		region.Start[d], region.End[d] = cuts[n], cuts[n]+1
		t.cell[d] = cuts[n]
	}
	return true
}

// everywhere is the least region that contains all boxes.
func (t *tiler) everywhere() zspace.Range {
	region := zspace.MustShape(make(zspace.Point, t.rank)...)
	for d := range t.rank {
		cuts := t.cuts(d)
		region.Start[d], region.End[d] = cuts[0], cuts[len(cuts)-1]
	}
	return region
}

// cuts lists the coordinates at which a box starts or ends in d, ascending.
func (t *tiler) cuts(d int) []int64 {
	out := make([]int64, 0, 2*len(t.weight))
	for b := range t.weight {
		at := 2 * (b*t.rank + d)
		out = append(out, t.coord[at], t.coord[at+1])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// clip is the part of box b in region; ok is false when it has no cells.
func (t *tiler) clip(b int, region zspace.Range) (r zspace.Range, ok bool) {
	r = zspace.MustShape(make(zspace.Point, t.rank)...)
	for d := range t.rank {
		at := 2 * (b*t.rank + d)
		r.Start[d] = max(t.coord[at], region.Start[d])
		r.End[d] = min(t.coord[at+1], region.End[d])
	}
	return r, !r.Empty()
}

// clean reports whether the parts hold every cell of region exactly as often as
// whole does: clipped to region they do not overlap, lie in whole, and have its
// volume together.
func (t *tiler) clean(region zspace.Range) bool {
	var parts []zspace.Range
	whole, haveWhole := zspace.Range{}, false
	for b, w := range t.weight {
		r, ok := t.clip(b, region)
		switch {
		case !ok:
		case w < 0:
			whole, haveWhole = r, true
		default:
			parts = append(parts, r)
		}
	}
	if !haveWhole {
		return len(parts) == 0
	}
	volume := new(big.Int)
	for _, r := range parts {
		if !whole.Contains(r) {
			return false
		}
		volume.Add(volume, r.BigSize())
	}
	return volume.Cmp(whole.BigSize()) == 0 && disjoint(parts)
}

// disjoint reports whether no two of the parts, which all have cells, share one.
// It sorts them.
func disjoint(parts []zspace.Range) bool {
	if len(parts) > 0 && parts[0].Rank() == 0 {
		return len(parts) == 1
	}
	slices.SortFunc(parts, func(a, b zspace.Range) int { return cmp.Compare(a.Start[0], b.Start[0]) })
	for i, a := range parts {
		for _, b := range parts[i+1:] {
			if b.Start[0] >= a.End[0] {
				break
			}
			if a.Overlaps(b) {
				return false
			}
		}
	}
	return true
}
