package loomdoc

import "slices"

// A Range is a box of integer coordinates, Start inclusive and End exclusive,
// of equal length.
type Range struct {
	Start []int `json:"start"`
	End   []int `json:"end"`
}

// Span makes a range from pairs: Span(-10, 0, 0, 5) is [-10:0, 0:5].
func Span(bounds ...int) Range {
	r := Range{Start: []int{}, End: []int{}}
	for i := 0; i+1 < len(bounds); i += 2 {
		r.Start = append(r.Start, bounds[i])
		r.End = append(r.End, bounds[i+1])
	}
	return r
}

// Shape returns the extents of the range.
func (r Range) Shape() []int {
	s := make([]int, len(r.Start))
	for i := range s {
		s[i] = r.End[i] - r.Start[i]
	}
	return s
}

// Blocks cuts a two-dimensional range into rows x cols blocks, row by row, and
// needs extents that these divide.
func (r Range) Blocks(rows, cols int) []Range {
	s := r.Shape()
	h, w := s[0]/rows, s[1]/cols
	var out []Range
	for i := range rows {
		for j := range cols {
			y, x := r.Start[0]+i*h, r.Start[1]+j*w
			out = append(out, Span(y, y+h, x, x+w))
		}
	}
	return out
}

// A Projection maps each index point p to the box that begins at
// Map.Projection*p + Map.Offset and has the given Shape.
type Projection struct {
	Map   AffineMap `json:"affineMap"`
	Shape []int     `json:"shape"`
}

// An AffineMap has one row of Projection and one entry of Offset a tensor
// dimension, and one column an index dimension.
type AffineMap struct {
	Projection [][]int `json:"projection"`
	Offset     []int   `json:"offset"`
}

// Project makes a projection from its three parts.
func Project(rows [][]int, offset, shape []int) Projection {
	return Projection{Map: AffineMap{Projection: rows, Offset: offset}, Shape: shape}
}

// Identity is the projection of an index onto a tensor of the same rank, cell
// for cell, beginning at start.
func Identity(start []int) Projection {
	rows, shape := make([][]int, len(start)), make([]int, len(start))
	for i := range rows {
		rows[i] = make([]int, len(start))
		rows[i][i], shape[i] = 1, 1
	}
	return Project(rows, slices.Clone(start), shape)
}

// Apply returns the least box around the boxes of all points of a non-empty index.
func (p Projection) Apply(index Range) Range {
	out := Range{Start: slices.Clone(p.Map.Offset), End: slices.Clone(p.Map.Offset)}
	for k, row := range p.Map.Projection {
		for i, a := range row {
			first, last := a*index.Start[i], a*(index.End[i]-1)
			out.Start[k] += min(first, last)
			out.End[k] += max(first, last)
		}
		out.End[k] += p.Shape[k]
	}
	return out
}
