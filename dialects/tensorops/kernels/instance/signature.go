package instance

import (
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Signature derives the polyhedral signature: for each selection, the map from a point of the index space to the box of the
// tensor that the point reads or writes. Over the whole index a map gives exactly the selection. Along a dimension of the
// tensor that no such affine map describes (a window that a border cuts, a place that data decides) every point reads all of
// the selection. An error is an overflow.
func (in *Instance) Signature() (inputs, outputs ir.PortMaps, err error) {
	for i, o := range in.Operands {
		if o.View {
			continue
		}
		m, err := in.projection(i)
		if err != nil {
			return nil, nil, err
		}
		side := &inputs
		if o.Decl.Out {
			side = &outputs
		}
		if p := side.Get(o.Port); p != nil {
			p.Maps = append(p.Maps, m)
		} else {
			*side = append(*side, ir.NamedMaps{Name: o.Port, Maps: []zspace.ProjectionMap{m}})
		}
	}
	byName := func(a, b ir.NamedMaps) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(inputs, byName)
	slices.SortFunc(outputs, byName)
	return inputs, outputs, nil
}

// span is what one operand touches along one dimension of its tensor: at a point x of the index, from row·x + lo to
// row·x + hi, inclusive.
type span struct {
	row    []int64
	lo, hi int64
}

// projection joins the spans of an operand and of its views.
func (in *Instance) projection(operand int) (zspace.ProjectionMap, error) {
	o := in.Operands[operand]
	rank := o.Sel.Range().Rank()
	m := zspace.ProjectionMap{AffineMap: zspace.AffineMap{Projection: make(zspace.Matrix, rank), Offset: make(zspace.Point, rank)},
		Shape: make(zspace.Point, rank)}
	for k := range rank {
		row, start, end, err := in.along(operand, k)
		if err != nil {
			return m, err
		}
		m.AffineMap.Projection[k], m.AffineMap.Offset[k], m.Shape[k] = row, start, end-start
	}
	return m, nil
}

// along gives the row, start and end of the projection along dimension k of an operand's tensor.
func (in *Instance) along(operand, k int) (row []int64, start, end int64, err error) {
	o := in.Operands[operand]
	from, to := o.Sel.Range().Start[k], o.Sel.Range().End[k]
	all := make([]int64, in.Index().Rank())
	var s span
	for i, v := range in.Operands {
		if v.Decl != o.Decl || v.Entry != o.Entry {
			continue
		}
		t := in.spanOf(v.Access, k)
		switch {
		case i == operand:
			s = t
		case slices.Equal(s.row, t.row):
			s.lo, s.hi = min(s.lo, t.lo), max(s.hi, t.hi)
		default:
			return all, from, to, nil
		}
	}
	if from == to || in.Index().Empty() && !o.Decl.Out {
		return in.emptyAlong(s, from, to)
	}
	whole := zspace.ProjectionMap{AffineMap: zspace.AffineMap{Projection: zspace.Matrix{s.row}, Offset: zspace.Point{s.lo}}, Shape: zspace.Point{s.hi - s.lo + 1}}
	hull, err := whole.Apply(in.Index())
	switch {
	case err != nil:
		return nil, 0, 0, err
	case hull.Start[0] < from || hull.End[0] > to: // a border cuts it
		return all, from, to, nil
	}
	return s.row, s.lo - (hull.Start[0] - from), s.hi + 1 + (to - hull.End[0]), nil
}

// emptyAlong gives the projection along a dimension where nothing or no point of the index is.
func (in *Instance) emptyAlong(s span, from, to int64) (row []int64, start, end int64, err error) {
	m := zspace.ProjectionMap{AffineMap: zspace.AffineMap{Projection: zspace.Matrix{s.row}, Offset: zspace.Point{s.lo}}, Shape: zspace.Point{max(0, s.hi-s.lo+1)}}
	hull, err := m.Apply(in.Index())
	if err == nil && hull.Start[0] == from && hull.End[0] == to {
		return s.row, s.lo, s.lo + m.Shape[0], nil
	}
	return make([]int64, len(s.row)), from, to, err
}

// spanOf gives what an access touches along dimension k of a tensor while the dims that are not of the index run.
func (in *Instance) spanOf(a zspace.AffineMap, k int) span {
	s := span{row: []int64{}, lo: a.Offset[k], hi: a.Offset[k]}
	for j, d := range in.Dims {
		f := a.Projection[k][j]
		switch {
		case d.Index:
			s.row = append(s.row, f)
		case d.Extent == 0 && f != 0:
			s.hi = s.lo - 1
		case f < 0:
			s.lo += f * (d.Extent - 1)
		default:
			s.hi += f * max(0, d.Extent-1)
		}
	}
	return s
}
