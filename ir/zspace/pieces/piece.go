// Package pieces says exactly which cells of a tensor the points of an index space read, where one affine map with a shape does
// not: beside borders, at every second cell, in an order that wraps round.
//
// A Piece is an affine image of an index point and of a window of its own, where guards hold: a relation in the sense of the
// polyhedral model, whose own dimensions are what is summed over and the quotients of floor divisions. What a box of the
// index reads (Cells, Hull) is computed on demand, exactly and within a bound of steps. It must not import anything of the graph.
// Read next: dialects/tensorops/reads, which derives pieces.
package pieces

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir/zspace"
)

// Piece is what one access reads: at the point x of an index, for every w from 0 to Window (exclusive) for which all rows of
// Guards·(x, w) are 0 or more, the cell Cells·(x, w). Both maps have a column for each dimension of the index and then one for
// each of the window.
type Piece struct {
	Window zspace.Point
	Guards zspace.AffineMap
	Cells  zspace.AffineMap
}

// maxMagnitude bounds coordinates, extents and all that a row of a piece may come to, so that sums of them fit in 64 bits.
const maxMagnitude = 1 << 40

// Validate returns nil exactly when the piece has maps of the right size for an index of the given rank, a window without
// negative extents, and a rank of cells as given.
func (p *Piece) Validate(index, rank int) error {
	for k, n := range p.Window {
		if n < 0 {
			return &zspace.NegativeError{What: "window", Dim: k, Value: n}
		}
	}
	for _, a := range []zspace.AffineMap{p.Guards, p.Cells} {
		if err := a.Validate(); err != nil {
			return err
		}
		if cols := index + len(p.Window); !a.Projection.Fits(cols) {
			return &zspace.RankError{What: "index and window", Want: a.Projection.Cols(), Got: cols}
		}
	}
	if len(p.Cells.Offset) != rank {
		return &zspace.RankError{What: "cells", Want: rank, Got: len(p.Cells.Offset)}
	}
	return nil
}

// Equal says whether two pieces say the same in the same way.
func (p *Piece) Equal(q *Piece) bool {
	return p.Window.Equal(q.Window) && p.Guards.Equal(q.Guards) && p.Cells.Equal(q.Cells)
}

// Clone returns a copy that shares no memory with p.
func (p *Piece) Clone() Piece {
	return Piece{Window: p.Window.Clone(), Guards: p.Guards.Clone(), Cells: p.Cells.Clone()}
}

// String gives the piece as the text form writes its parts.
func (p *Piece) String() string {
	return fmt.Sprintf("%v where %v over %v", p.Cells, p.Guards, p.Window)
}

// Translate moves the cells by delta.
func (p *Piece) Translate(delta zspace.Point) (Piece, error) {
	out := p.Clone()
	a, err := p.Cells.Translate(delta)
	out.Cells = a
	return out, err
}

// system gives the piece over a box of its index; ok is false where numbers are too great to be worked with.
func (p *Piece) system(index zspace.Range) (*system, bool) {
	s := &system{}
	for i := range index.Start {
		s.lo, s.hi = append(s.lo, index.Start[i]), append(s.hi, index.End[i]-1)
	}
	for _, n := range p.Window {
		s.lo, s.hi = append(s.lo, 0), append(s.hi, n-1)
	}
	s.guards, s.cells = formsOf(p.Guards, len(s.lo)), formsOf(p.Cells, len(s.lo))
	return s, !slices.ContainsFunc(s.guards, s.tooGreat) && !slices.ContainsFunc(s.cells, s.tooGreat)
}

func formsOf(a zspace.AffineMap, vars int) []form {
	out := make([]form, len(a.Offset))
	for i := range out {
		out[i] = form{make([]int64, vars), a.Offset[i]}
		copy(out[i].c, a.Projection[i])
	}
	return out
}

func mapOf(forms []form) zspace.AffineMap {
	var a zspace.AffineMap
	for _, f := range forms {
		a.Projection, a.Offset = append(a.Projection, f.c), append(a.Offset, f.k)
	}
	return a
}

// Simplify gives a piece that reads the same at every point of an index, without guards that always hold and own dimensions that
// have one value; some is false if it reads nothing anywhere.
func (p *Piece) Simplify(index zspace.Range) (out Piece, some bool) {
	s, ok := p.system(index)
	if !ok {
		return p.Clone(), true
	}
	rank := index.Rank()
	lo, hi := slices.Clone(s.lo[:rank]), slices.Clone(s.hi[:rank])
	if !s.tighten() {
		return Piece{}, false
	}
	s.restoreBounds(lo, hi)
	s.fix(rank)
	var window zspace.Point
	kept := make([]int, 0, len(s.lo))
	for i := range s.lo {
		if i < rank || s.used(i) {
			kept = append(kept, i)
		}
		if i >= rank && s.used(i) {
			window = append(window, s.hi[i]-s.lo[i]+1)
			s.shift(i)
		}
	}
	for _, list := range [][]form{s.guards, s.cells} {
		for i := range list {
			list[i].c = pick(list[i].c, kept)
		}
	}
	return Piece{Window: window, Guards: mapOf(s.guards), Cells: mapOf(s.cells)}, true
}

func pick(row []int64, at []int) []int64 {
	out := make([]int64, len(at))
	for i, j := range at {
		out[i] = row[j]
	}
	return out
}

// Covers says whether q reads what p does under more guards, or the same: the same cells over the same window.
func (p *Piece) Covers(q *Piece) bool {
	if !p.Window.Equal(q.Window) || !p.Cells.Equal(q.Cells) {
		return false
	}
	for i, row := range p.Guards.Projection {
		found := false
		for j, r := range q.Guards.Projection {
			found = found || slices.Equal(r, row) && q.Guards.Offset[j] <= p.Guards.Offset[i]
		}
		if !found {
			return false
		}
	}
	return true
}
