package zspace

// AffineMap is x ↦ Projection·x + Offset, from an index space to a tensor space.
// It is valid when the matrix is not ragged and Offset has one entry per row.
type AffineMap struct {
	Projection Matrix
	Offset     Point
}

// NewAffineMap returns the map m·x + off; both are copied. Errors: a
// *[RaggedError] for a ragged matrix, a *[RankError] for an offset whose length
// is not the number of rows.
func NewAffineMap(m Matrix, off Point) (AffineMap, error) {
	a := AffineMap{Projection: m, Offset: off}
	if err := a.Validate(); err != nil {
		return AffineMap{}, err
	}
	return a.Clone(), nil
}

// Validate returns nil exactly when the map is valid.
func (a AffineMap) Validate() error {
	if err := a.Projection.Validate(); err != nil {
		return err
	}
	if len(a.Offset) != len(a.Projection) {
		return &RankError{What: "offset", Want: len(a.Projection), Got: len(a.Offset)}
	}
	return nil
}

// check validates the map for an argument of the given rank.
func (a AffineMap) check(rank int) error {
	if err := a.Validate(); err != nil {
		return err
	}
	if !a.Projection.Fits(rank) {
		return &RankError{What: "index", Want: a.Projection.Cols(), Got: rank}
	}
	return nil
}

// Clone returns a copy that shares no memory with a.
func (a AffineMap) Clone() AffineMap {
	return AffineMap{Projection: a.Projection.Clone(), Offset: a.Offset.Clone()}
}

// Equal reports whether both maps have the same matrix and offset.
func (a AffineMap) Equal(b AffineMap) bool {
	return a.Projection.Equal(b.Projection) && a.Offset.Equal(b.Offset)
}

// Apply returns Projection·x + Offset. The error matches [ErrOverflow] exactly
// when a coordinate of the result does not fit.
func (a AffineMap) Apply(x Point) (Point, error) {
	if err := a.check(len(x)); err != nil {
		return nil, err
	}
	out := make(Point, len(a.Offset))
	for k, row := range a.Projection {
		v, ok := dot(a.Offset[k], row, x)
		if !ok {
			return nil, overflow("dimension %d of the image of %v", k, x)
		}
		out[k] = v
	}
	return out, nil
}

// Hull returns the inclusive corners of the least box that contains the image of
// every point of r. It is exact for any matrix: per row, the least (greatest)
// value takes the first or the last coordinate of each index dimension by the
// sign of its entry. An empty r has no hull: [ErrEmpty].
func (a AffineMap) Hull(r Range) (lo, hi Point, err error) {
	if err := a.checkRange(r); err != nil {
		return nil, nil, err
	}
	if r.Empty() {
		return nil, nil, emptyError("hull of " + r.String())
	}
	lo, hi = make(Point, len(a.Offset)), make(Point, len(a.Offset))
	for k := range a.Offset {
		if lo[k], hi[k], err = a.rowHull(k, r); err != nil {
			return nil, nil, err
		}
	}
	return lo, hi, nil
}

func (a AffineMap) checkRange(r Range) error {
	if err := r.Validate(); err != nil {
		return err
	}
	return a.check(r.Rank())
}

// rowHull returns the least and the greatest value of row k over r, of which
// only the dimensions with a non-zero entry are looked at; those are not empty.
func (a AffineMap) rowHull(k int, r Range) (lo, hi int64, err error) {
	row := a.Projection[k]
	low, high := make(Point, len(row)), make(Point, len(row))
	for j, c := range row {
		switch {
		case c > 0:
			low[j], high[j] = r.Start[j], r.End[j]-1
		case c < 0:
			low[j], high[j] = r.End[j]-1, r.Start[j]
		}
	}
	lo, ok1 := dot(a.Offset[k], row, low)
	hi, ok2 := dot(a.Offset[k], row, high)
	if !ok1 || !ok2 {
		return 0, 0, overflow("dimension %d of the image of %v", k, r)
	}
	return lo, hi, nil
}

// Translate returns the map whose results are moved by delta.
func (a AffineMap) Translate(delta Point) (AffineMap, error) {
	if err := a.Validate(); err != nil {
		return AffineMap{}, err
	}
	off, err := a.Offset.Add(delta)
	if err != nil {
		return AffineMap{}, err
	}
	return AffineMap{Projection: a.Projection.Clone(), Offset: off}, nil
}

// Compose returns a∘b, the map that applies b and then a. The rows of b must
// fit the columns of a. When b has no rows the width of the result is not known;
// it is then taken to be 0.
func (a AffineMap) Compose(b AffineMap) (AffineMap, error) {
	if err := b.Validate(); err != nil {
		return AffineMap{}, err
	}
	off, err := a.Apply(b.Offset)
	if err != nil {
		return AffineMap{}, err
	}
	m := makeMatrix(len(a.Projection), b.Projection.Cols())
	col := make(Point, len(b.Projection))
	for j := range b.Projection.Cols() {
		for i, row := range b.Projection {
			col[i] = row[j]
		}
		for k, row := range a.Projection {
			v, ok := dot(0, row, col)
			if !ok {
				return AffineMap{}, overflow("entry %d,%d of a composed matrix", k, j)
			}
			m[k][j] = v
		}
	}
	return AffineMap{Projection: m, Offset: off}, nil
}
