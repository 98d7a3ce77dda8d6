package zspace

import (
	"iter"
	"math"
	"math/big"
	"strconv"
)

// Range is a box of integer points: in each dimension Start inclusive to End
// exclusive. It may begin anywhere, also below zero. A dimension whose start
// equals its end is empty, which makes the range empty; a range without
// dimensions has exactly one cell.
//
// A range is valid when Start and End have the same length, Start ≤ End in every
// dimension, and every extent fits in an int64. All constructors and all methods
// give valid ranges; a literal can be checked with [Range.Validate].
type Range struct {
	Start, End Point
}

// NewRange returns the range from start (inclusive) to end (exclusive). The
// points are copied. Errors: *[RankError], *[ExtentError], or [ErrOverflow] when
// an extent does not fit.
func NewRange(start, end Point) (Range, error) {
	if err := (Range{Start: start, End: end}).Validate(); err != nil {
		return Range{}, err
	}
	r := makeRange(len(start))
	copy(r.Start, start)
	copy(r.End, end)
	return r, nil
}

// makeRange returns a range of zeros whose two points share one allocation.
func makeRange(rank int) Range {
	buf := make(Point, 2*rank)
	return Range{Start: buf[:rank:rank], End: buf[rank:]}
}

// FromShape returns the range of that shape that starts at the origin. A
// negative entry is a *[NegativeError].
func FromShape(shape ...int64) (Range, error) {
	for i, s := range shape {
		if s < 0 {
			return Range{}, &NegativeError{What: "shape", Dim: i, Value: s}
		}
	}
	r := makeRange(len(shape))
	copy(r.End, shape)
	return r, nil
}

// MustShape is [FromShape] for tests and static tables: it panics on a negative
// entry.
func MustShape(shape ...int64) Range {
	r, err := FromShape(shape...)
	if err != nil {
		panic(err)
	}
	return r
}

// Validate returns nil exactly when r is valid; otherwise a *[RankError], an
// *[ExtentError], or an error that matches [ErrOverflow].
func (r Range) Validate() error {
	if len(r.Start) != len(r.End) {
		return &RankError{What: "end of range", Want: len(r.Start), Got: len(r.End)}
	}
	for i, s := range r.Start {
		if s > r.End[i] {
			return &ExtentError{Dim: i, Start: s, End: r.End[i]}
		}
		if _, ok := subOK(r.End[i], s); !ok {
			return overflow("dimension %d: extent of %d:%d", i, s, r.End[i])
		}
	}
	return nil
}

// Rank is the number of dimensions.
func (r Range) Rank() int { return len(r.Start) }

// Shape is End - Start, the extent of each dimension.
func (r Range) Shape() Point {
	out := make(Point, len(r.Start))
	for i := range out {
		out[i] = r.extent(i)
	}
	return out
}

// RowMajor gives the strides of a dense array of a shape whose last dimension is innermost, in elements.
func RowMajor(shape Point) []int64 {
	strides, n := make([]int64, len(shape)), int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= max(1, shape[i])
	}
	return strides
}

// extent is End-Start in one dimension. It fits for every valid range; for an
// invalid literal it is cut off at the largest int64 rather than wrapped.
func (r Range) extent(dim int) int64 {
	d, ok := subOK(r.End[dim], r.Start[dim])
	if !ok {
		return math.MaxInt64
	}
	return d
}

// Size is the number of cells: the product of the extents, 1 for no dimensions,
// 0 for an empty range however large its other extents are. A size that does not
// fit is [ErrOverflow]; use [Range.BigSize] then.
func (r Range) Size() (int64, error) {
	if r.Empty() {
		return 0, nil
	}
	size := int64(1)
	for i := range r.Start {
		s, ok := mulOK(size, r.extent(i))
		if !ok {
			return 0, overflow("size of %v", r)
		}
		size = s
	}
	return size, nil
}

// BigSize is the number of cells in unbounded arithmetic.
func (r Range) BigSize() *big.Int {
	size, e := big.NewInt(1), new(big.Int)
	for i := range r.Start {
		size.Mul(size, e.SetInt64(r.extent(i)))
	}
	return size
}

// Empty reports whether r has no cell.
func (r Range) Empty() bool {
	for i := range r.Start {
		if r.Start[i] >= r.End[i] {
			return true
		}
	}
	return false
}

// Equal reports whether both ranges have the same start and the same end. Two
// empty ranges at different places are not equal.
func (r Range) Equal(o Range) bool { return r.Start.Equal(o.Start) && r.End.Equal(o.End) }

// Clone returns a copy that shares no memory with r.
func (r Range) Clone() Range { return Range{Start: r.Start.Clone(), End: r.End.Clone()} }

// Contains reports whether o lies inside r: in every dimension r.Start ≤ o.Start
// and o.End ≤ r.End. So an empty range inside or on the border of r is
// contained, one beyond the border is not, and an empty range contains only
// empty ranges. Ranges of different rank never contain each other.
func (r Range) Contains(o Range) bool {
	if r.Rank() != o.Rank() {
		return false
	}
	for i := range r.Start {
		if o.Start[i] < r.Start[i] || o.End[i] > r.End[i] {
			return false
		}
	}
	return true
}

// ContainsPoint reports whether p is a cell of r: of the same rank, and in every
// dimension Start ≤ p < End. A point on the exclusive end is outside.
func (r Range) ContainsPoint(p Point) bool {
	if r.Rank() != len(p) {
		return false
	}
	for i, v := range p {
		if v < r.Start[i] || v >= r.End[i] {
			return false
		}
	}
	return true
}

// Intersect returns the largest range that lies in both. ok is false when there
// is none: the ranks differ, or a start would lie beyond its end. Ranges that
// merely touch give an empty range and ok = true, so ok does not say that they
// share a cell; [Range.Overlaps] does.
func (r Range) Intersect(o Range) (both Range, ok bool) {
	if r.Rank() != o.Rank() {
		return Range{}, false
	}
	both = makeRange(r.Rank())
	for i := range r.Start {
		both.Start[i] = max(r.Start[i], o.Start[i])
		both.End[i] = min(r.End[i], o.End[i])
		if both.Start[i] > both.End[i] {
			return Range{}, false
		}
	}
	return both, true
}

// Overlaps reports whether r and o share at least one cell. It is false for
// ranges of different rank, and true for two ranges without dimensions.
func (r Range) Overlaps(o Range) bool {
	if r.Rank() != o.Rank() {
		return false
	}
	for i := range r.Start {
		if max(r.Start[i], o.Start[i]) >= min(r.End[i], o.End[i]) {
			return false
		}
	}
	return true
}

// Translate moves r by delta, which must have r's rank (nothing is broadcast).
func (r Range) Translate(delta Point) (Range, error) {
	start, err := r.Start.Add(delta)
	if err != nil {
		return Range{}, err
	}
	end, err := r.End.Add(delta)
	if err != nil {
		return Range{}, err
	}
	return Range{Start: start, End: end}, nil
}

// Permute reorders the dimensions: dimension i of the result is dimension
// perm[i] of r. Anything but a permutation of r's dimensions is a
// *[PermutationError].
func (r Range) Permute(perm []int) (Range, error) {
	if err := checkPerm(perm, r.Rank()); err != nil {
		return Range{}, err
	}
	return Range{Start: permuted(r.Start, perm), End: permuted(r.End, perm)}, nil
}

// Product is the Cartesian product: the dimensions of r, then those of o.
func (r Range) Product(o Range) Range {
	n := r.Rank()
	out := makeRange(n + o.Rank())
	copy(out.Start, r.Start)
	copy(out.Start[n:], o.Start)
	copy(out.End, r.End)
	copy(out.End[n:], o.End)
	return out
}

// InclusiveEnd is the last cell, End-1 in every dimension; the empty point for a
// range without dimensions. A range without cells has none: [ErrEmpty].
func (r Range) InclusiveEnd() (Point, error) {
	if r.Empty() {
		return nil, emptyError("inclusive end of " + r.String())
	}
	out := make(Point, r.Rank())
	for i, e := range r.End {
		out[i] = e - 1
	}
	return out, nil
}

// Bounding is the least range that contains all of rs; empty ranges contribute
// their corners. No ranges at all is [ErrEmpty], different ranks a *[RankError],
// a box whose extent does not fit [ErrOverflow].
func Bounding(rs ...Range) (Range, error) {
	if len(rs) == 0 {
		return Range{}, emptyError("ranges to bound")
	}
	box := rs[0].Clone()
	for _, r := range rs[1:] {
		if r.Rank() != box.Rank() {
			return Range{}, &RankError{What: "range " + r.String(), Want: box.Rank(), Got: r.Rank()}
		}
		for i := range box.Start {
			box.Start[i] = min(box.Start[i], r.Start[i])
			box.End[i] = max(box.End[i], r.End[i])
		}
	}
	if err := box.Validate(); err != nil {
		return Range{}, err
	}
	return box, nil
}

// Corners gives the first and last points along the dimensions, as boxes of one point. Where these are more than most, they are the first along
// further dimensions. The range must not be empty.
func (r Range) Corners(most int) []Range {
	list := []Range{{}}
	for i := range r.Start {
		var next []Range
		for _, at := range []int64{r.Start[i], r.End[i] - 1} {
			for _, c := range list {
				next = append(next, Range{Start: append(c.Start[:i:i], at), End: append(c.End[:i:i], at+1)})
			}
			if r.End[i]-r.Start[i] == 1 || 2*len(list) > most {
				break
			}
		}
		list = next
	}
	return list
}

// Points yields every cell in row-major order (the last dimension fastest): one
// empty point for a range without dimensions, nothing for an empty range. The
// yielded point is reused between steps; Clone it to keep it.
func (r Range) Points() iter.Seq[Point] {
	return func(yield func(Point) bool) {
		if r.Empty() {
			return
		}
		p := r.Start.Clone()
		for yield(p) {
			if !r.step(p) {
				return
			}
		}
	}
}

// step moves p to the next cell in row-major order; false after the last.
func (r Range) step(p Point) bool {
	for i := len(p) - 1; i >= 0; i-- {
		p[i]++
		if p[i] < r.End[i] {
			return true
		}
		p[i] = r.Start[i]
	}
	return false
}

// String writes the range as "zr[0:2, -1:3]", "zr[]" without dimensions.
func (r Range) String() string { return "zr" + r.Text() }

// Text is [Range.String] without the prefix: "[0:2, -1:3]".
func (r Range) Text() string {
	b := []byte{'['}
	for i := range r.Start {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(b, r.Start[i], 10)
		b = append(b, ':')
		b = strconv.AppendInt(b, r.End[i], 10)
	}
	return string(append(b, ']'))
}

// ShapeString writes the shape as "‖10, 5‖".
func (r Range) ShapeString() string {
	b := appendList([]byte("‖"), r.Shape())
	return string(append(b, "‖"...))
}
