package zspace

// ProjectionMap sends an index point x to the box that starts at AffineMap(x)
// and has shape Shape. It is valid when the affine map is, and Shape has one
// entry per row, none negative.
type ProjectionMap struct {
	AffineMap AffineMap
	Shape     Point
}

// NewProjectionMap returns the projection; both arguments are copied. Errors: as
// [NewAffineMap], a *[RankError] for a shape whose length is not the number of
// rows, a *[NegativeError] for a negative extent.
func NewProjectionMap(a AffineMap, shape Point) (ProjectionMap, error) {
	p := ProjectionMap{AffineMap: a, Shape: shape}
	if err := p.Validate(); err != nil {
		return ProjectionMap{}, err
	}
	return p.Clone(), nil
}

// Validate returns nil exactly when the projection is valid.
func (p ProjectionMap) Validate() error {
	if err := p.AffineMap.Validate(); err != nil {
		return err
	}
	if len(p.Shape) != len(p.AffineMap.Offset) {
		return &RankError{What: "shape", Want: len(p.AffineMap.Offset), Got: len(p.Shape)}
	}
	for k, s := range p.Shape {
		if s < 0 {
			return &NegativeError{What: "shape", Dim: k, Value: s}
		}
	}
	return nil
}

// Clone returns a copy that shares no memory with p.
func (p ProjectionMap) Clone() ProjectionMap {
	return ProjectionMap{AffineMap: p.AffineMap.Clone(), Shape: p.Shape.Clone()}
}

// Equal reports whether both have the same affine map and shape.
func (p ProjectionMap) Equal(q ProjectionMap) bool {
	return p.AffineMap.Equal(q.AffineMap) && p.Shape.Equal(q.Shape)
}

// ApplyPoint returns the box that the index point x selects.
func (p ProjectionMap) ApplyPoint(x Point) (Range, error) {
	if err := p.Validate(); err != nil {
		return Range{}, err
	}
	start, err := p.AffineMap.Apply(x)
	if err != nil {
		return Range{}, err
	}
	end, err := start.Add(p.Shape)
	if err != nil {
		return Range{}, err
	}
	return Range{Start: start, End: end}, nil
}

// Apply returns the exact hull of the boxes that the points of r select: the
// least range that contains them all.
//
// For an empty r each tensor dimension is judged on its own: a row whose entries
// are zero at every empty index dimension keeps its hull over the others; every
// other row is empty, at the image of r.Start. So a zero batch gives a range
// that is empty along the batch only. [ProjectionMap.ApplyEmptyLoom] gives the
// other reading.
func (p ProjectionMap) Apply(r Range) (Range, error) {
	if err := p.checkRange(r); err != nil {
		return Range{}, err
	}
	out := makeRange(len(p.Shape))
	for k := range p.Shape {
		if err := p.applyRow(k, r, &out); err != nil {
			return Range{}, err
		}
	}
	if err := out.Validate(); err != nil {
		return Range{}, err
	}
	return out, nil
}

func (p ProjectionMap) checkRange(r Range) error {
	if err := p.Validate(); err != nil {
		return err
	}
	return p.AffineMap.checkRange(r)
}

// applyRow sets dimension k of out to the hull of row k over r.
func (p ProjectionMap) applyRow(k int, r Range, out *Range) error {
	a := p.AffineMap
	if a.rowIsEmpty(k, r) {
		v, ok := dot(a.Offset[k], a.Projection[k], r.Start)
		if !ok {
			return overflow("dimension %d of the image of %v", k, r)
		}
		out.Start[k], out.End[k] = v, v
		return nil
	}
	lo, hi, err := a.rowHull(k, r)
	if err != nil {
		return err
	}
	end, ok := addOK(hi, p.Shape[k])
	if !ok {
		return overflow("dimension %d of the projection of %v", k, r)
	}
	out.Start[k], out.End[k] = lo, end
	return nil
}

// rowIsEmpty reports whether row k has a non-zero entry at an empty dimension.
func (a AffineMap) rowIsEmpty(k int, r Range) bool {
	for j, c := range a.Projection[k] {
		if c != 0 && r.Start[j] == r.End[j] {
			return true
		}
	}
	return false
}

// ApplyEmptyLoom is Loom's reading of an empty index: a range that is empty in
// every dimension, at the image of r.Start. For an r with cells it is
// [ProjectionMap.Apply]. A verifier may accept either for an empty index.
func (p ProjectionMap) ApplyEmptyLoom(r Range) (Range, error) {
	if err := p.checkRange(r); err != nil {
		return Range{}, err
	}
	if !r.Empty() {
		return p.Apply(r)
	}
	start, err := p.AffineMap.Apply(r.Start)
	if err != nil {
		return Range{}, err
	}
	return Range{Start: start, End: start.Clone()}, nil
}

// Translate returns the projection whose boxes are moved by delta.
func (p ProjectionMap) Translate(delta Point) (ProjectionMap, error) {
	if err := p.Validate(); err != nil {
		return ProjectionMap{}, err
	}
	a, err := p.AffineMap.Translate(delta)
	if err != nil {
		return ProjectionMap{}, err
	}
	return ProjectionMap{AffineMap: a, Shape: p.Shape.Clone()}, nil
}
