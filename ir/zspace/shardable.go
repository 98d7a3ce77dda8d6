package zspace

import "fmt"

// DimVerdict says whether an index dimension may be cut into shards in one
// output map: whether the boxes that the shards write always tile the box that
// the whole index writes.
type DimVerdict struct {
	Dim    int    // the index dimension
	Extent int64  // its extent
	OK     bool   // any cut of this dimension is exact
	Reason string // one clause that says why, or why not
}

// ShardableDims judges every dimension of index for an output map, from the
// matrix alone. The verdict holds for every cut of that dimension, and for cuts
// of several dimensions judged OK together, if a point of the index writes a
// cell: where Shape has a 0, shards cut down to points write nothing.
//
// Cutting dimension j moves only the rows with a non-zero entry at j. If there
// is none, all shards write the same box. If there are two or more, the shards'
// boxes lie along a diagonal and leave the corners beside it uncovered. If there
// is one, row k, two neighbours abut exactly when |a[k][j]| equals the width of
// a slice, Shape[k] + Σ |a[k][i]|·(extent i - 1) over the other dimensions i: a
// larger step leaves holes, a smaller one overlaps. An output without cells
// takes any cut.
//
// When the map is invalid, does not fit the index, or overflows over it, every
// dimension is refused with that error as the reason.
func (p ProjectionMap) ShardableDims(index Range) []DimVerdict {
	whole, err := p.Apply(index)
	out := make([]DimVerdict, index.Rank())
	for j := range out {
		out[j] = DimVerdict{Dim: j}
		if err != nil {
			out[j].Reason = err.Error()
			continue
		}
		out[j].Extent = index.extent(j)
		out[j].OK, out[j].Reason = p.judge(j, index, whole)
	}
	return out
}

func (p ProjectionMap) judge(j int, index, whole Range) (bool, string) {
	if whole.Empty() {
		return true, "the output has no cells"
	}
	if index.extent(j) <= 1 {
		return true, fmt.Sprintf("extent %d: nothing to cut", index.extent(j))
	}
	rows := p.AffineMap.rowsOf(j)
	switch len(rows) {
	case 0:
		return false, fmt.Sprintf("overlap: the output does not depend on d%d, so all shards would write the same cells", j)
	case 1:
		return p.judgeRow(rows[0], j, index, whole)
	}
	return false, fmt.Sprintf("gap: d%d moves output dimensions %d and %d together, so shards leave corners uncovered", j, rows[0], rows[1])
}

// rowsOf lists the rows with a non-zero entry in column j.
func (a AffineMap) rowsOf(j int) []int {
	var rows []int
	for k, row := range a.Projection {
		if row[j] != 0 {
			rows = append(rows, k)
		}
	}
	return rows
}

// judgeRow compares the step of dimension j in row k with the width of a slice:
// the width of the whole less the steps, which fits since the whole does.
func (p ProjectionMap) judgeRow(k, j int, index, whole Range) (bool, string) {
	step := int64(magnitude(p.AffineMap.Projection[k][j]))
	width := whole.extent(k) - step*(index.extent(j)-1)
	what := fmt.Sprintf("in output dimension %d a step of d%d moves %d cells and writes %d", k, j, step, width)
	switch {
	case step > width:
		return false, "gap: " + what
	case step < width:
		return false, "overlap: " + what
	}
	return true, what
}
