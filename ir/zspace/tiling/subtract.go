package tiling

import (
	"cmp"
	"slices"

	"tensortapestry.org/tapc/ir/zspace"
)

// Subtract returns boxes that are disjoint, have cells, and together hold exactly
// the cells of whole that are in no part; parts may overlap and may reach beyond
// whole. Parts of another rank take nothing away. The order and the way in which
// the rest is cut into boxes are fixed by the arguments.
//
// At most limit boxes are returned. complete is false when there is, or may be,
// more: beyond the limit, or because the work passed some hundred looks at each
// part, which takes many dimensions and parts that overlap at random.
func Subtract(whole zspace.Range, parts []zspace.Range, limit int) (rest []zspace.Range, complete bool) {
	s := subtractor{limit: limit, budget: 1<<24 + 256*len(parts)}
	near := make([]zspace.Range, 0, len(parts))
	for _, r := range parts {
		if r.Overlaps(whole) {
			near = append(near, r)
		}
	}
	if whole.Empty() {
		return nil, true
	}
	complete = s.walk(whole, near)
	return s.rest, complete
}

// Missing returns a box of whole that is in no part, if there is one that Subtract finds.
func Missing(whole zspace.Range, parts ...zspace.Range) (zspace.Range, bool) {
	if slices.ContainsFunc(parts, func(r zspace.Range) bool { return r.Contains(whole) }) {
		return zspace.Range{}, false
	}
	rest, _ := Subtract(whole, parts, 1)
	if len(rest) == 0 {
		return zspace.Range{}, false
	}
	return rest[0], true
}

type subtractor struct {
	rest   []zspace.Range
	limit  int
	budget int // looks at a part that are left
}

// walk adds what the parts, which all overlap region, leave of it. It cuts region
// along a face of a part until a piece is untouched or inside one part; false
// when a limit was hit.
func (s *subtractor) walk(region zspace.Range, parts []zspace.Range) bool {
	if s.budget -= len(parts); s.budget < 0 {
		return false
	}
	if slices.ContainsFunc(parts, func(r zspace.Range) bool { return r.Contains(region) }) {
		return true
	}
	if len(parts) == 0 {
		if len(s.rest) >= s.limit {
			return false
		}
		s.rest = append(s.rest, region.Clone())
		return true
	}
	dim, at := middleFace(region, parts)
	low, high := region.Clone(), region.Clone()
	low.End[dim], high.Start[dim] = at, at
	return s.walk(low, touching(parts, low)) && s.walk(high, touching(parts, high))
}

func touching(parts []zspace.Range, region zspace.Range) []zspace.Range {
	out := make([]zspace.Range, 0, len(parts))
	for _, r := range parts {
		if r.Overlaps(region) {
			out = append(out, r)
		}
	}
	return out
}

// middleFace picks the cut: the median of the faces inside region, in the
// dimension that has the most. There is one, since no part contains region.
func middleFace(region zspace.Range, parts []zspace.Range) (dim int, at int64) {
	var best []int64
	for d := range region.Start {
		var faces []int64
		for _, r := range parts {
			for _, v := range [2]int64{r.Start[d], r.End[d]} {
				if v > region.Start[d] && v < region.End[d] {
					faces = append(faces, v)
				}
			}
		}
		if len(faces) > len(best) {
			best, dim = faces, d
		}
	}
	slices.SortFunc(best, cmp.Compare)
	return dim, best[len(best)/2]
}
