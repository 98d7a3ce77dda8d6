// Package images has sets of cells that accesses reach: which cells two share, and whether several cover a box.
//
// It knows boxes and affine maps, and no graph. Read next: dialects/schedule, whose kernels and transfers read and write such sets.
package images

import (
	"cmp"
	"iter"
	"math/big"
	"slices"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/bounds"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

// Budget bounds, in steps, each search that decides whether two accesses meet.
const Budget = 20_000

// Image is the set of cells of a buffer that a step writes or reads: a box, or the values of an access over some loops that
// lie in a box. For a writer these are different for different points.
type Image struct {
	Hull   zspace.Range
	Points *big.Int         // of a writer: how many cells
	Dense  bool             // the cells are all those of the hull
	access zspace.AffineMap // if not dense
	loops  zspace.Range     // if not dense
}

// Box is the image of a whole box.
func Box(r zspace.Range) Image { return Image{Hull: r, Points: r.BigSize(), Dense: true} }

// Written is the image of what an access writes over some loops, each cell once, in a hull.
func Written(access zspace.AffineMap, loops, hull zspace.Range) Image {
	points := loops.BigSize()
	return Image{Hull: hull, Points: points, Dense: points.Cmp(hull.BigSize()) == 0, access: access, loops: loops}
}

// Read is the image of what an access reads over some loops, as far as it is in a hull.
func Read(access zspace.AffineMap, loops, hull zspace.Range) Image {
	return Image{Hull: hull, Dense: contiguous(access, loops), access: access, loops: loops}
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

// Meet gives a cell that two images share, if there is one and that could be decided.
func (m Image) Meet(o Image) (cell zspace.Point, found, decided bool) {
	if !m.Hull.Overlaps(o.Hull) {
		return nil, false, true
	}
	if m.Dense && o.Dense {
		both, _ := m.Hull.Intersect(o.Hull)
		return both.Start, true, true
	}
	if m.Dense {
		m, o = o, m
	}
	both, _ := m.Hull.Intersect(o.Hull)
	s := &system{System: bounds.System{Budget: Budget}}
	if !s.add(m, both) {
		return nil, false, false
	}
	if !o.Dense {
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
func (s *system) add(m Image, box zspace.Range) bool {
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
func (m Image) within(box zspace.Range) (n *big.Int, ok bool) {
	switch {
	case box.Contains(m.Hull):
		return m.Points, true
	case !box.Overlaps(m.Hull):
		return new(big.Int), true
	case m.Dense:
		both, _ := m.Hull.Intersect(box)
		return both.BigSize(), true
	case m.Points.Cmp(big.NewInt(maxListed)) > 0:
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
func (m Image) cells() iter.Seq[zspace.Point] {
	return func(yield func(zspace.Point) bool) {
		for p := range m.loops.Points() {
			cell, err := m.access.Apply(p)
			if err == nil && m.Hull.ContainsPoint(cell) && !yield(cell) {
				return
			}
		}
	}
}

// Holds says whether a cell belongs to an image.
func (m Image) Holds(cell zspace.Point) bool {
	_, found, decided := m.Meet(Box(boxAt(cell)))
	return found || !decided
}

// Verdict is the answer to whether images cover a box.
type Verdict uint8

// The verdicts.
const (
	Covered Verdict = iota
	Uncovered
	Undecided
)

// Cover says whether images that share no cells hold every cell of a box. If not, rest is a box of cells that none holds,
// where one was found, or has no ends.
func Cover(box zspace.Range, images []Image) (v Verdict, rest zspace.Range) {
	total := new(big.Int)
	for _, m := range images {
		n, ok := m.within(box)
		if !ok {
			v = Undecided
			continue
		}
		total.Add(total, n)
	}
	if total.Cmp(box.BigSize()) >= 0 {
		return Covered, zspace.Range{}
	}
	rest, found := Missing(box, images)
	if found || v == Covered {
		return Uncovered, rest
	}
	return Undecided, zspace.Range{}
}

// Missing looks for cells of a box that no image holds.
func Missing(box zspace.Range, images []Image) (zspace.Range, bool) {
	var hulls, full []zspace.Range
	for _, m := range images {
		hulls = append(hulls, m.Hull)
		if m.Dense {
			full = append(full, m.Hull)
		}
	}
	if rest, some := tiling.Missing(box, hulls...); some {
		return rest, true
	}
	rest, _ := tiling.Subtract(box, full, 8)
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

func held(cell zspace.Point, images []Image) bool {
	for _, m := range images {
		if m.Holds(cell) {
			return true
		}
	}
	return false
}

// Amid says whether images hold every cell of a reader with holes, when they do not hold all of its hull: v and rest are what
// Cover says of that.
func (m Image) Amid(images []Image, v Verdict, rest zspace.Range) (Verdict, zspace.Range) {
	if m.loops.BigSize().Cmp(big.NewInt(maxListed)) <= 0 {
		for cell := range m.cells() {
			if !held(cell, images) {
				return Uncovered, boxAt(cell)
			}
		}
		return Covered, zspace.Range{}
	}
	if v == Uncovered && rest.Rank() == m.Hull.Rank() {
		if cell, found, _ := m.Meet(Box(rest)); found {
			return Uncovered, boxAt(cell)
		}
	}
	return Undecided, zspace.Range{}
}

// boxAt is the box of one cell.
func boxAt(cell zspace.Point) zspace.Range {
	one := zspace.Range{Start: cell.Clone(), End: cell.Clone()}
	for i := range one.End {
		one.End[i]++
	}
	return one
}
