package pieces

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/ir/zspace"
)

// read lists the cells of a piece over a box of the index, point by point.
func read(p *Piece, index zspace.Range, into map[string]bool) {
	box := zspace.Range{Start: index.Start.Clone(), End: index.End.Clone()}
	for _, n := range p.Window {
		box.Start, box.End = append(box.Start, 0), append(box.End, n)
	}
points:
	for x := range box.Points() {
		for i, row := range p.Guards.Projection {
			v := p.Guards.Offset[i]
			for j, a := range row {
				v += a * x[j]
			}
			if v < 0 {
				continue points
			}
		}
		c, err := p.Cells.Apply(x)
		if err != nil {
			panic(err)
		}
		into[fmt.Sprint([]int64(c))] = true
	}
}

func listed(boxes []Box) map[string]bool {
	out := map[string]bool{}
	for _, b := range boxes {
		r := zspace.Range{Start: make(zspace.Point, len(b.Count)), End: b.Count}
		for n := range r.Points() {
			c := b.Start.Clone()
			for k := range c {
				c[k] += n[k] * b.Step[k]
			}
			out[fmt.Sprint([]int64(c))] = true
		}
	}
	return out
}

func randomForms(rnd *rand.Rand, rows, cols int, most int64) zspace.AffineMap {
	var a zspace.AffineMap
	for range rows {
		row := make([]int64, cols)
		for j := range row {
			if rnd.IntN(3) > 0 {
				row[j] = rnd.Int64N(2*most+1) - most
			}
		}
		a.Projection, a.Offset = append(a.Projection, row), append(a.Offset, rnd.Int64N(13)-5)
	}
	return a
}

// What random pieces read is what they list, point by point: nothing is missing and nothing too many.
func TestCellsAgainstPoints(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 3))
	n := 30000
	if testing.Short() {
		n = 4000
	}
	inexact := 0
	for i := range n {
		index := zspace.Range{}
		for range rnd.IntN(3) {
			at := rnd.Int64N(7) - 3
			index.Start, index.End = append(index.Start, at), append(index.End, at+rnd.Int64N(7))
		}
		p := Piece{}
		for range rnd.IntN(3) {
			p.Window = append(p.Window, rnd.Int64N(6))
		}
		cols := index.Rank() + len(p.Window)
		p.Guards, p.Cells = randomForms(rnd, rnd.IntN(4), cols, 1+rnd.Int64N(5)), randomForms(rnd, rnd.IntN(3), cols, 1+rnd.Int64N(4))
		if err := p.Validate(index.Rank(), len(p.Cells.Offset)); err != nil {
			t.Fatal(err)
		}
		check(t, i, p, index, &inexact)
		simple, some := p.Simplify(index)
		want := map[string]bool{}
		if !index.Empty() {
			read(&p, index, want)
		}
		switch {
		case some && !index.Empty():
			check(t, i, simple, index, &inexact)
			got := map[string]bool{}
			if read(&simple, index, got); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%d: %v over %v is simplified to %v", i, &p, index, &simple)
			}
		case len(want) > 0:
			t.Fatalf("%d: %v over %v is simplified to nothing", i, &p, index)
		}
	}
	if inexact > 0 {
		t.Errorf("%d of %d are not exact", inexact, n)
	}
}

func check(t *testing.T, i int, p Piece, index zspace.Range, inexact *int) {
	t.Helper()
	want := map[string]bool{}
	if !index.Empty() {
		read(&p, index, want)
	}
	boxes, exact := Cells([]Piece{p}, index)
	got := listed(boxes)
	for c := range want {
		if !got[c] {
			t.Fatalf("%d: %v over %v misses %s: %v", i, &p, index, c, boxes)
		}
	}
	if !exact {
		*inexact++
		return
	}
	for c := range got {
		if !want[c] {
			t.Fatalf("%d: %v over %v has %s too many: %v", i, &p, index, c, boxes)
		}
	}
}

// Quotients and remainders of a row-major number: a range of them is at most three boxes of a matrix.
func TestRanges(t *testing.T) {
	for _, c := range []struct {
		piece Piece
		index zspace.Range
		want  string
	}{
		{Piece{Window: zspace.Point{1 << 20}, Guards: affine("(d0, d1) -> (d0 - 1024*d1, 1023 - d0 + 1024*d1)"), Cells: affine("(d0, d1) -> (d1, d0 - 1024*d1)")},
			zspace.Range{Start: zspace.Point{1000}, End: zspace.Point{1000000}}, "[zr[0:1, 1000:1024] zr[1:976, 0:1024] zr[976:977, 0:576]]"},
		{Piece{Window: zspace.Point{3}, Guards: affine("(d0, d1) -> (d0 + d1 - 1, 100 - d0 - d1)"), Cells: affine("(d0, d1) -> (d0 + d1 - 1)")},
			zspace.Range{Start: zspace.Point{50}, End: zspace.Point{100}}, "[zr[49:100]]"},
		{Piece{Window: zspace.Point{2}, Guards: affine("(d0, d1) -> (3*d0 + d1 - 1, 20 - 3*d0 - d1)"), Cells: affine("(d0, d1) -> (3*d0 + d1 - 1)")},
			zspace.Range{Start: zspace.Point{0}, End: zspace.Point{4}}, "[zr[2:9] by [3] zr[0:10] by [3]]"},
	} {
		boxes, exact := Cells([]Piece{c.piece}, c.index)
		if got := fmt.Sprint(boxes); got != c.want || !exact {
			t.Errorf("%v over %v: %s, exact %v, want %s", &c.piece, c.index, got, exact, c.want)
		}
	}
}

func affine(text string) zspace.AffineMap {
	a, err := zspace.ParseAffineMap(text)
	if err != nil {
		panic(err)
	}
	return a
}

// Where the number of boxes is too great the hull is given, and said to be one.
func TestHullWhereTooMany(t *testing.T) {
	p := Piece{Guards: affine("(d0, d1) -> (d0 - d1)"), Cells: affine("(d0, d1) -> (d0, d1)")}
	n := int64(1 << 30)
	boxes, exact := Cells([]Piece{p}, zspace.Range{Start: zspace.Point{0, 0}, End: zspace.Point{n, n}})
	if len(boxes) == 0 || exact {
		t.Errorf("%v, exact %v", boxes, exact)
	}
	hull, any, _ := Hull([]Piece{p}, zspace.Range{Start: zspace.Point{5, 0}, End: zspace.Point{6, 9}})
	if !any || hull.String() != "zr[5:6, 0:6]" {
		t.Errorf("hull %v", hull)
	}
	if _, any, _ := Hull([]Piece{p}, zspace.Range{Start: zspace.Point{5, 8}, End: zspace.Point{6, 9}}); any {
		t.Error("nothing is read above the diagonal")
	}
}
