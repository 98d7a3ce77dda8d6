package schedule

import (
	"cmp"
	"iter"
	"math/big"
	"slices"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/bounds"
)

// image is the set of cells of a buffer that a step writes or reads: a box, or the values of an access over some loops that
// lie in a box. For a writer these are different for different points.
type image struct {
	hull   zspace.Range
	points *big.Int         // of a writer: how many cells
	dense  bool             // the cells are all those of the hull
	access zspace.AffineMap // if not dense
	loops  zspace.Range     // if not dense
}

// boxImage is the image of a whole box.
func boxImage(r zspace.Range) image { return image{hull: r, points: r.BigSize(), dense: true} }

// imageOf is the image of a use that happens.
func imageOf(k *Kernel, u use) image {
	m := image{hull: u.hull, access: k.Operands[u.operand].Access, loops: u.loops}
	if u.write {
		m.points = u.loops.BigSize()
		m.dense = m.points.Cmp(m.hull.BigSize()) == 0
		return m
	}
	m.dense = contiguous(m.access, m.loops)
	return m
}

// contiguous says whether an access has no holes: every loop of more than one value moves one coordinate only, and the
// values of every coordinate follow each other without a gap. It may be false for some accesses without holes.
func contiguous(a zspace.AffineMap, loops zspace.Range) bool {
	moved := make([]bool, loops.Rank())
	for _, row := range a.Projection {
		var moves []int
		for j, x := range row {
			if x == 0 || loops.End[j]-loops.Start[j] <= 1 {
				continue
			}
			if moved[j] {
				return false
			}
			moved[j] = true
			moves = append(moves, j)
		}
		size := func(j int) uint64 { return uint64(max(row[j], -row[j])) }
		slices.SortFunc(moves, func(i, j int) int { return cmp.Compare(size(i), size(j)) })
		reach := uint64(0) // of the smaller steps; the hull of the row fits in 64 bits, so this does
		for _, j := range moves {
			if size(j) > reach+1 {
				return false
			}
			reach += size(j) * uint64(loops.End[j]-loops.Start[j]-1)
		}
	}
	return true
}

// meet gives a cell that two images share, if there is one and that could be decided.
func (m image) meet(o image) (cell zspace.Point, found, decided bool) {
	if !m.hull.Overlaps(o.hull) {
		return nil, false, true
	}
	if m.dense && o.dense {
		both, _ := m.hull.Intersect(o.hull)
		return both.Start, true, true
	}
	if m.dense {
		m, o = o, m
	}
	both, _ := m.hull.Intersect(o.hull)
	s := &system{System: bounds.System{Budget: decisionBudget}}
	if !s.add(m, both) {
		return nil, false, false
	}
	if !o.dense {
		if !s.add(o, both) {
			return nil, false, false
		}
		s.join(len(m.loops.Start))
	}
	t, decided := s.Solve()
	if t == nil {
		return nil, false, decided
	}
	at := m.loops.Start.Clone()
	for j := range at {
		at[j] += t[j]
	}
	cell, err := m.access.Apply(at)
	return cell, err == nil, err == nil
}

// system is one whose rows are coordinates of images.
type system struct {
	bounds.System
	base []int64 // the coordinates at the start of the loops
}

// add brings in the loops of an image as unknowns, counted from their start, and a row for each coordinate of its access,
// which must lie in a box. It says whether the numbers are small enough.
func (s *system) add(m image, box zspace.Range) bool {
	start, err := m.access.Apply(m.loops.Start)
	if err != nil {
		return false
	}
	const limit = 1 << 59
	before := len(s.Reach)
	for j := range m.loops.Start {
		s.Reach = append(s.Reach, m.loops.End[j]-m.loops.Start[j]-1)
	}
	for k := range s.Rows {
		s.Rows[k] = append(s.Rows[k], make([]int64, len(m.loops.Start))...)
	}
	for i, v := range start {
		row := make([]int64, before, len(s.Reach))
		for _, a := range m.access.Projection[i] {
			if a > limit || a < -limit {
				return false
			}
			row = append(row, a)
		}
		if v > limit || v < -limit || box.Start[i] < -limit || box.End[i] > limit {
			return false
		}
		s.Rows, s.Lo, s.Hi = append(s.Rows, row), append(s.Lo, box.Start[i]-v), append(s.Hi, box.End[i]-1-v)
		s.base = append(s.base, v)
	}
	return true
}

// join adds that the coordinates of two images, whose unknowns number n and the rest, are the same.
func (s *system) join(n int) {
	rank := len(s.Rows) / 2
	for i := range rank {
		a, b := s.Rows[i], s.Rows[rank+i]
		row := append(slices.Clone(a[:n]), make([]int64, len(b)-n)...)
		for j := n; j < len(b); j++ {
			row[j] = -b[j]
		}
		same := s.base[rank+i] - s.base[i]
		s.Rows, s.Lo, s.Hi = append(s.Rows, row), append(s.Lo, same), append(s.Hi, same)
	}
}

// maxListed bounds how many cells of an image are listed one by one.
const maxListed = 1 << 12

// within counts the cells of an image inside a box; ok is false where that would mean listing too many.
func (m image) within(box zspace.Range) (n *big.Int, ok bool) {
	switch {
	case box.Contains(m.hull):
		return m.points, true
	case !box.Overlaps(m.hull):
		return new(big.Int), true
	case m.dense:
		both, _ := m.hull.Intersect(box)
		return both.BigSize(), true
	case m.points.Cmp(big.NewInt(maxListed)) > 0:
		return nil, false
	}
	count := int64(0)
	for cell := range m.cells() {
		if box.ContainsPoint(cell) {
			count++
		}
	}
	return big.NewInt(count), true
}

// cells lists the cells of an image that is not dense; those that a reader reads at several points come several times.
func (m image) cells() iter.Seq[zspace.Point] {
	return func(yield func(zspace.Point) bool) {
		for p := range m.loops.Points() {
			cell, err := m.access.Apply(p)
			if err == nil && m.hull.ContainsPoint(cell) && !yield(cell) {
				return
			}
		}
	}
}

// holds says whether a cell belongs to an image.
func (m image) holds(cell zspace.Point) bool {
	_, found, decided := m.meet(boxImage(boxAt(cell)))
	return found || !decided
}

// verdict is the answer to whether images cover a box.
type verdict uint8

const (
	covered verdict = iota
	uncovered
	undecided
)

// cover says whether images that share no cells hold every cell of a box. If not, rest is a box of cells that none holds,
// where one was found, or has no ends.
func cover(box zspace.Range, images []image) (v verdict, rest zspace.Range) {
	total := new(big.Int)
	for _, m := range images {
		n, ok := m.within(box)
		if !ok {
			v = undecided
			continue
		}
		total.Add(total, n)
	}
	if total.Cmp(box.BigSize()) >= 0 {
		return covered, zspace.Range{}
	}
	rest, found := missing(box, images)
	if found || v == covered {
		return uncovered, rest
	}
	return undecided, zspace.Range{}
}

// missing looks for cells of a box that no image holds.
func missing(box zspace.Range, images []image) (zspace.Range, bool) {
	var hulls, full []zspace.Range
	for _, m := range images {
		hulls = append(hulls, m.hull)
		if m.dense {
			full = append(full, m.hull)
		}
	}
	if rest, _ := zspace.Subtract(box, hulls, 1); len(rest) > 0 {
		return rest[0], true
	}
	rest, _ := zspace.Subtract(box, full, 8)
	tries := maxListed
	for _, r := range rest {
		for p := range r.Points() {
			if tries--; tries < 0 {
				return zspace.Range{}, false
			}
			if !held(p, images) {
				return boxAt(p), true
			}
		}
	}
	return zspace.Range{}, false
}

func held(cell zspace.Point, images []image) bool {
	for _, m := range images {
		if m.holds(cell) {
			return true
		}
	}
	return false
}

// amid says whether images hold every cell of a reader with holes, when they do not hold all of its hull: v and rest are what
// cover says of that.
func (m image) amid(images []image, v verdict, rest zspace.Range) (verdict, zspace.Range) {
	if m.loops.BigSize().Cmp(big.NewInt(maxListed)) <= 0 {
		for cell := range m.cells() {
			if !held(cell, images) {
				return uncovered, boxAt(cell)
			}
		}
		return covered, zspace.Range{}
	}
	if v == uncovered && rest.Rank() == m.hull.Rank() {
		if cell, found, _ := m.meet(boxImage(rest)); found {
			return uncovered, boxAt(cell)
		}
	}
	return undecided, zspace.Range{}
}

// boxAt is the box of one cell.
func boxAt(cell zspace.Point) zspace.Range {
	one := zspace.Range{Start: cell.Clone(), End: cell.Clone()}
	for i := range one.End {
		one.End[i]++
	}
	return one
}
