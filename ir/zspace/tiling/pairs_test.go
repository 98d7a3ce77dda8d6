package tiling

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/zspace"
)

// Both ways to find the first bad cell agree, so it does not matter when the
// budget sends a case from one to the other.
func TestPairsAgreeWithCorners(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 4).Draw(t, "rank")
		small := func(name string) zspace.Range {
			r := zspace.MustShape(make(zspace.Point, rank)...)
			for i := range rank {
				r.Start[i] = rapid.Int64Range(0, 3).Draw(t, name)
				r.End[i] = r.Start[i] + rapid.Int64Range(1, 3).Draw(t, name)
			}
			return r
		}
		whole := small("whole")
		parts := cutUp(t, whole)
		if rapid.Bool().Draw(t, "damaged") {
			parts[rapid.IntRange(0, len(parts)-1).Draw(t, "which")] = small("part")
		}
		byCorners, byPairs := newTiler(whole, parts), newTiler(whole, parts)
		byPairs.budget = -1
		a, b := byCorners.firstBad(), byPairs.firstBad()
		if a != b || a && !byCorners.cell.Equal(byPairs.cell) {
			t.Fatalf("%v by %v: corners %v %v, pairs %v %v", whole, parts, a, byCorners.cell, b, byPairs.cell)
		}
	})
}

// cutUp cuts whole at random planes.
func cutUp(t *rapid.T, whole zspace.Range) []zspace.Range {
	parts := []zspace.Range{whole}
	for range rapid.IntRange(0, 5).Draw(t, "cuts") {
		if whole.Rank() == 0 {
			break
		}
		i := rapid.IntRange(0, len(parts)-1).Draw(t, "which")
		d := rapid.IntRange(0, whole.Rank()-1).Draw(t, "dim")
		at := rapid.Int64Range(parts[i].Start[d], parts[i].End[d]).Draw(t, "at")
		low, high := parts[i].Clone(), parts[i].Clone()
		low.End[d], high.Start[d] = at, at
		parts = append(slices.Delete(parts, i, i+1), low, high)
	}
	return parts
}

// chain peels a slab off box in one dimension after the other.
func chain(box zspace.Range, dims []int) []zspace.Range {
	var parts []zspace.Range
	rest := box.Clone()
	for _, d := range dims {
		slab := rest.Clone()
		slab.Start[d], rest.End[d] = 500, 500
		parts = append(parts, slab)
	}
	return append(parts, rest)
}

// Two blocks cut into slabs in opposite orders: no face on the plane between them
// has an equal, in any dimension, so that corners alone double with each.
func TestManyDimensionsEnd(t *testing.T) {
	const rank = 26
	whole := zspace.MustShape(make(zspace.Point, rank)...)
	for i := range rank {
		whole.End[i] = 1000
	}
	low, high := whole.Clone(), whole.Clone()
	low.End[0], high.Start[0] = 400, 400
	var up, down []int
	for d := 1; d < rank; d++ {
		up, down = append(up, d), append([]int{d}, down...)
	}
	parts := append(chain(low, up), chain(high, down)...)
	tiler := newTiler(whole, parts)
	if tiler.firstBad() || tiler.budget >= 0 {
		t.Fatalf("bad cell %v, budget left %d", tiler.cell, tiler.budget)
	}
	last := len(parts) - 1
	fault, err := Check(whole, parts[:last])
	if err != nil || fault == nil || fault.Kind != Gap || !parts[last].Contains(fault.Witness) {
		t.Fatalf("without the last part: %v, %v", fault, err)
	}
}
