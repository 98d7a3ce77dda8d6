// Package tiling says, with a witness, whether a list of boxes tiles a box ([Check]), and what boxes leave of a box ([Subtract]).
package tiling

import (
	"fmt"

	"tensortapestry.org/tapc/ir/zspace"
)

// FaultKind is what is wrong with a tiling.
type FaultKind int

// The kinds of fault. Overlap: two parts share cells of the whole. Gap: cells of
// the whole are in no part. Outside: a part has cells beyond the whole.
const (
	Overlap FaultKind = iota + 1
	Gap
	Outside
)

// String names the kind in lower case.
func (k FaultKind) String() string {
	switch k {
	case Overlap:
		return "overlap"
	case Gap:
		return "gap"
	case Outside:
		return "outside"
	}
	return fmt.Sprintf("FaultKind(%d)", int(k))
}

// Fault says where a list of parts fails to tile a range.
type Fault struct {
	Kind FaultKind
	// I and J are the positions of the parts at fault: both for Overlap (I < J),
	// I only for Outside, none for Gap; -1 where there is none.
	I, J int
	// Witness is a box with at least one cell, all of which show the fault: cells
	// in both parts, cells of the whole in no part, or cells of part I that lie
	// beyond the whole.
	Witness zspace.Range
}

// String says the fault in words, for example "overlap: parts 0 and 2 share zr[3:4]".
func (f *Fault) String() string {
	switch f.Kind {
	case Overlap:
		return fmt.Sprintf("overlap: parts %d and %d share %v", f.I, f.J, f.Witness)
	case Gap:
		return fmt.Sprintf("gap: no part covers %v", f.Witness)
	}
	return fmt.Sprintf("outside: part %d has %v beyond the whole", f.I, f.Witness)
}

// Check returns nil exactly when every cell of whole lies in one and only one
// part and no part has a cell beyond whole. Parts without cells are ignored
// wherever they are; any pattern of boxes is legal, also one that no cut
// divides. Otherwise the fault of the first bad cell in row-major order is
// returned. The error is for parts of another rank and for invalid ranges.
//
// Method: let f count, for every cell, the parts that hold it, less one inside
// whole. The parts tile whole when f is zero everywhere, which is so when its
// mixed difference over all dimensions is. A box has a mixed difference of ±1 at
// its 2^d corners and 0 elsewhere, so summing signed corners decides exactly;
// and since f is the running sum of its mixed difference, the first corner in
// row-major order with a sum that is not zero is the first bad cell, and the
// sum is f there. Equal faces of neighbours cancel early, so a grid of n parts
// costs about n log n.
func Check(whole zspace.Range, parts []zspace.Range) (*Fault, error) {
	if err := checkParts(whole, parts); err != nil {
		return nil, err
	}
	t := newTiler(whole, parts)
	if !t.firstBad() {
		return nil, nil
	}
	return explain(whole, parts, t.cell), nil
}

func checkParts(whole zspace.Range, parts []zspace.Range) error {
	if err := whole.Validate(); err != nil {
		return fmt.Errorf("whole: %w", err)
	}
	for i, r := range parts {
		if r.Rank() != whole.Rank() {
			return &zspace.RankError{What: fmt.Sprintf("part %d", i), Want: whole.Rank(), Got: r.Rank()}
		}
		if err := r.Validate(); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	return nil
}

// explain turns a bad cell into a fault with a witness box around it.
func explain(whole zspace.Range, parts []zspace.Range, cell zspace.Point) *Fault {
	i, j := -1, -1
	for n, r := range parts {
		switch {
		case !r.ContainsPoint(cell):
		case i < 0:
			i = n
		case j < 0:
			j = n
		}
	}
	switch {
	case !whole.ContainsPoint(cell):
		return &Fault{Kind: Outside, I: i, J: -1, Witness: beyond(whole, parts[i], cell)}
	case j >= 0:
		shared, _ := parts[i].Intersect(parts[j])
		shared, _ = shared.Intersect(whole)
		return &Fault{Kind: Overlap, I: i, J: j, Witness: shared}
	}
	return &Fault{Kind: Gap, I: -1, J: -1, Witness: hollow(whole, parts, cell)}
}

// beyond is a piece of part around cell that has no cell of whole; cell is in
// part and not in whole.
func beyond(whole, part zspace.Range, cell zspace.Point) zspace.Range {
	piece := part.Clone()
	for d, v := range cell {
		if v < whole.Start[d] {
			piece.End[d] = min(piece.End[d], whole.Start[d])
			break
		}
		if v >= whole.End[d] {
			piece.Start[d] = max(piece.Start[d], whole.End[d])
			break
		}
	}
	return piece
}

// hollow is a box of whole around cell that no part touches; cell is in whole
// and in no part. Each part that is in the way cuts the box where that costs the
// smallest share of it.
func hollow(whole zspace.Range, parts []zspace.Range, cell zspace.Point) zspace.Range {
	box := whole.Clone()
	for _, r := range parts {
		if !r.Overlaps(box) {
			continue
		}
		best, dim := -1.0, 0
		for d := range cell {
			s, e := besides(box, r, cell, d)
			if share := float64(e-s) / float64(box.End[d]-box.Start[d]); share > best {
				best, dim = share, d
			}
		}
		box.Start[dim], box.End[dim] = besides(box, r, cell, dim)
	}
	return box
}

// besides is the part of box in dimension d on cell's side of r; nothing when r
// spans cell there.
func besides(box, r zspace.Range, cell zspace.Point, d int) (start, end int64) {
	switch {
	case cell[d] < r.Start[d]:
		return box.Start[d], r.Start[d]
	case cell[d] >= r.End[d]:
		return r.End[d], box.End[d]
	}
	return 0, 0
}
