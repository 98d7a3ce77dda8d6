package zspace

import (
	"cmp"
	"slices"
)

// Subtract returns boxes that are disjoint, have cells, and together hold exactly
// the cells of whole that are in no part; parts may overlap and may reach beyond
// whole. Parts of another rank take nothing away. The order and the way in which
// the rest is cut into boxes are fixed by the arguments.
//
// At most limit boxes are returned. complete is false when there is, or may be,
// more: beyond the limit, or because the work passed some hundred looks at each
// part, which takes many dimensions and parts that overlap at random.
func Subtract(whole Range, parts []Range, limit int) (rest []Range, complete bool) {
	s := subtractor{limit: limit, budget: 1<<24 + 256*len(parts)}
	near := make([]Range, 0, len(parts))
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

type subtractor struct {
	rest   []Range
	limit  int
	budget int // looks at a part that are left
}

// walk adds what the parts, which all overlap region, leave of it. It cuts region
// along a face of a part until a piece is untouched or inside one part; false
// when a limit was hit.
func (s *subtractor) walk(region Range, parts []Range) bool {
	if s.budget -= len(parts); s.budget < 0 {
		return false
	}
	if slices.ContainsFunc(parts, func(r Range) bool { return r.Contains(region) }) {
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

func touching(parts []Range, region Range) []Range {
	out := make([]Range, 0, len(parts))
	for _, r := range parts {
		if r.Overlaps(region) {
			out = append(out, r)
		}
	}
	return out
}

// middleFace picks the cut: the median of the faces inside region, in the
// dimension that has the most. There is one, since no part contains region.
func middleFace(region Range, parts []Range) (dim int, at int64) {
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
