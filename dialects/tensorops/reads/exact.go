package reads

import (
	"slices"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/pieces"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

// Exact says whether a projection says just what pieces do, at every point of an index that has some: no piece is guarded, all move
// alike with the index, and at one point they make the projection's box.
func Exact(list []pieces.Piece, m zspace.ProjectionMap, index zspace.Range) bool {
	rank := index.Rank()
	for i := range list {
		if len(list[i].Guards.Offset) > 0 || !movesAlike(&list[i], m, index, rank) {
			return false
		}
	}
	point := zspace.Range{Start: index.Start, End: index.Start.Clone()}
	for i := range point.End {
		point.End[i]++
	}
	want, err := m.Apply(point)
	if err != nil {
		return false
	}
	boxes, exact := pieces.Cells(list, point)
	rest := []zspace.Range{}
	for _, b := range boxes {
		if exact = exact && dense(b) && want.Contains(b.Range()); !exact {
			return false
		}
		rest = append(rest, b.Range())
	}
	_, left := tiling.Missing(want, rest...)
	return exact && !left
}

// movesAlike says whether a piece depends on the index as a projection does. Where the index has one value, it may say so or not.
func movesAlike(p *pieces.Piece, m zspace.ProjectionMap, index zspace.Range, rank int) bool {
	for k, row := range p.Cells.Projection {
		for j, a := range row[:rank] {
			if index.End[j]-index.Start[j] > 1 && m.AffineMap.Projection[k][j] != a {
				return false
			}
		}
	}
	return true
}

func dense(b pieces.Box) bool {
	return !slices.ContainsFunc(b.Step, func(s int64) bool { return s != 1 })
}
