package zspace

import (
	"math"
	"slices"
)

// Collision is a proof that a projection is not injective: A and B are different
// index points, A before B in row-major order, and Cell is the first cell of
// those that both select.
type Collision struct {
	A, B Point
	Cell Point
}

// SearchBudget is a budget for [ProjectionMap.FindCollision] that takes some
// milliseconds at most for maps of a few dimensions.
const SearchBudget = 1 << 16

// FindCollision looks for two different points of index that select a common
// cell. found comes with a Collision; decided without found says that there is
// none. decided is false when the search used up its budget, counted in looks at
// a row, without an answer; a budget of 0 leaves only the criteria that need no
// search. The error is for an invalid map or index, or one whose projection
// overflows.
//
// Two points a step d apart share a cell exactly when |row·d| < Shape in every
// row. So the question is whether a box of steps holds a non-zero solution. Unit
// steps are tried first. Then the bounds of each step are narrowed by each row,
// which settles every map whose rows have at most one non-zero entry, and
// mixed-radix rows such as [[12, 4, 1]]. Linear algebra settles maps that have
// an inverse where the shape is one, and narrows others. What is left is
// searched by bisection.
func (p ProjectionMap) FindCollision(index Range, budget int) (c Collision, found, decided bool, err error) {
	if _, err := p.Apply(index); err != nil {
		return Collision{}, false, false, err
	}
	s := newStepSearch(p, index)
	if s == nil {
		return Collision{}, false, true, nil
	}
	step, decided := s.run(budget)
	if step == nil {
		return Collision{}, false, decided, nil
	}
	c, err = p.collide(index, s.spread(step))
	return c, err == nil, err == nil, err
}

// collide makes the witness for a step or its opposite: the two points nearest
// to the start of index that lie that far apart, and the first cell that they
// share.
func (p ProjectionMap) collide(index Range, step Point) (Collision, error) {
	a, b := index.Start.Clone(), index.Start.Clone()
	for j, d := range step {
		if d < 0 {
			a[j] -= d
		} else {
			b[j] += d
		}
	}
	if slices.Compare(a, b) > 0 {
		a, b = b, a
	}
	boxA, err := p.ApplyPoint(a)
	if err != nil {
		return Collision{}, err
	}
	boxB, err := p.ApplyPoint(b)
	if err != nil {
		return Collision{}, err
	}
	shared, _ := boxA.Intersect(boxB)
	return Collision{A: a, B: b, Cell: shared.Start}, nil
}

// stepSearch looks for a non-zero step d with |d[i]| ≤ reach[i] and
// |rows[k]·d| ≤ slack[k]. Only index dimensions in which a step is possible take
// part.
// Since the hull of the whole index fits in 64 bits, so does every sum here.
type stepSearch struct {
	rank   int    // of the index
	dims   []int  // the index dimensions that take part
	reach  Point  // the longest step in each of them
	rows   Matrix // one column for each of them
	slack  Point  // Shape - 1
	budget int    // looks at a row that are left
}

// newStepSearch returns nil when no two points can collide because one of them,
// or every box, is missing.
func newStepSearch(p ProjectionMap, index Range) *stepSearch {
	if index.Empty() {
		return nil
	}
	s := &stepSearch{rank: index.Rank(), slack: p.Shape.Clone()}
	for k := range s.slack {
		s.slack[k]--
		if s.slack[k] < 0 {
			return nil
		}
	}
	s.rows = make(Matrix, len(s.slack))
	for k, row := range p.AffineMap.Projection {
		s.rows[k] = slices.Clone(row)
	}
	for j := range index.Start {
		s.dims = append(s.dims, j)
		s.reach = append(s.reach, max(index.extent(j), 1)-1)
	}
	s.dropFixed()
	return s
}

// dropFixed takes out the dimensions in which no step is possible any more.
func (s *stepSearch) dropFixed() {
	var keep []int
	for i, r := range s.reach {
		if r > 0 {
			keep = append(keep, i)
		}
	}
	if len(keep) == len(s.dims) {
		return
	}
	s.dims, s.reach = permuted(s.dims, keep), permuted(s.reach, keep)
	for k, row := range s.rows {
		s.rows[k] = permuted(row, keep)
	}
}

// spread writes a step as one over all index dimensions.
func (s *stepSearch) spread(step Point) Point {
	out := make(Point, s.rank)
	for i, j := range s.dims {
		out[j] = step[i]
	}
	return out
}

// run returns a step, or nil; decided is false when the budget ran out.
func (s *stepSearch) run(budget int) (step Point, decided bool) {
	for i := range s.dims {
		if step := s.unit(i); step != nil {
			return step, true
		}
	}
	s.budget = math.MaxInt
	box := s.steps(0)
	s.narrow(box)
	s.reach = box.End
	s.dropFixed()
	if len(s.dims) == 0 {
		return nil, true
	}
	if step, decided := s.solve(); decided {
		return step, true
	}
	s.dropFixed()
	s.budget = budget
	return s.searchAll()
}

// searchAll searches by the position of the first non-zero entry. A step and its
// opposite are one solution, so that entry may be taken to be positive.
func (s *stepSearch) searchAll() (step Point, decided bool) {
	for lead := range s.dims {
		box := s.steps(lead)
		box.Start[lead] = 1
		if step := s.search(box); step != nil {
			return step, true
		}
		if s.budget < 0 {
			return nil, false
		}
	}
	return nil, true
}

// steps is the box of steps that are zero before lead. Here, and in the search,
// the bounds of a box are inclusive.
func (s *stepSearch) steps(lead int) Range {
	box := makeRange(len(s.dims))
	for i := lead; i < len(s.dims); i++ {
		box.Start[i], box.End[i] = -s.reach[i], s.reach[i]
	}
	return box
}

// unit returns the unit step of dimension i if it solves every row.
func (s *stepSearch) unit(i int) Point {
	for k, row := range s.rows {
		if magnitude(row[i]) > uint64(s.slack[k]) {
			return nil
		}
	}
	step := make(Point, len(s.dims))
	step[i] = 1
	return step
}

// search narrows the box of steps, and bisects it until it is
// empty or a single step. It owns box.
func (s *stepSearch) search(box Range) Point {
	if !s.narrow(box) || s.budget < 0 {
		return nil
	}
	widest, width := 0, uint64(0) // a width may pass 63 bits
	for i := range box.Start {
		if w := uint64(box.End[i]) - uint64(box.Start[i]); w > width {
			widest, width = i, w
		}
	}
	if width == 0 {
		return s.solved(box.Start)
	}
	mid := box.Start[widest] + int64(width/2)
	low, high := box.Clone(), box
	low.End[widest], high.Start[widest] = mid, mid+1
	if magnitude(mid+1) < magnitude(mid) {
		low, high = high, low
	}
	if step := s.search(low); step != nil || s.budget < 0 {
		return step
	}
	return s.search(high)
}

// solved returns step if it solves every row.
func (s *stepSearch) solved(step Point) Point {
	for k, row := range s.rows {
		if v, ok := dot(0, row, step); !ok || magnitude(v) > uint64(s.slack[k]) {
			return nil
		}
	}
	return step
}

// narrow tightens the bounds by every row until nothing changes, or for a fixed
// number of rounds, which the budget pays; false when some row has no solution.
func (s *stepSearch) narrow(box Range) bool {
	for range len(s.dims) + 8 {
		changed := false
		s.budget -= len(s.rows)
		for k, row := range s.rows {
			c, ok := narrowRow(row, s.slack[k], box)
			if !ok {
				return false
			}
			changed = changed || c
		}
		if !changed || s.budget < 0 {
			break
		}
	}
	return true
}

// narrowRow tightens the bounds so that each value of a dimension
// leaves |row·d| ≤ slack possible for some values of the others.
func narrowRow(row []int64, slack int64, box Range) (changed, ok bool) {
	low, high := int64(0), int64(0) // of row·d over box
	for i, a := range row {
		l, h := scaled(a, box.Start[i], box.End[i])
		low, high = low+l, high+h
	}
	if low > slack || high < -slack {
		return false, false
	}
	for i, a := range row {
		if a == 0 {
			continue
		}
		l, h := scaled(a, box.Start[i], box.End[i])
		// a·d[i] lies between these, whatever the others are.
		least, most := -slack-(high-h), slack-(low-l)
		if a < 0 {
			a, least, most = -a, -most, -least
		}
		start, end := max(box.Start[i], ceilDiv(least, a)), min(box.End[i], floorDiv(most, a))
		if start > end {
			return false, false
		}
		if start == box.Start[i] && end == box.End[i] {
			continue
		}
		changed = true
		box.Start[i], box.End[i] = start, end
		nl, nh := scaled(row[i], start, end)
		low, high = low+nl-l, high+nh-h
	}
	return changed, true
}

// scaled is the least and greatest value of a·d for d between the bounds.
func scaled(a, start, end int64) (low, high int64) {
	if a < 0 {
		start, end = end, start
	}
	return a * start, a * end
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && a < 0 {
		q--
	}
	return q
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }
