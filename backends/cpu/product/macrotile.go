package product

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/point"
)

// Tiles writes the loops over the tiles of a block of rows of products back to back, which read the left operand in place.
func (p *Product) Tiles() {
	if p.Split() {
		length := p.InnerFold()
		p.Open("for (int64_t f = 0; f < %d; f += %d) {", length, p.Cut.Fold)
		if length%p.Cut.Fold == 0 {
			p.Line("const int64_t fn = %d;", p.Cut.Fold)
		} else {
			p.Line("const int64_t fn = %d - f < %d ? %d - f : %d;", length, p.Cut.Fold, length, p.Cut.Fold)
		}
	}
	byColumns := func() {
		p.Open("for (int64_t j = j0; j < j1; j += %d) {", p.Cut.TileCols)
		p.Line("const %s *w = %s;", p.E.W.Stored(p.D), columnsOf(p).tile())
	}
	byRows := func() {
		v := p.C.Views[p.C.Left]
		p.Open("for (int64_t i = i0; i < i1; i += %d) {", p.Cut.TileRows)
		p.Line("const %s *a = left + %s;", p.E.W.Stored(p.D), point.OffsetText(point.Start(p.K, v), p.Places(), v)+p.runOffset(p.innerStep(v)))
	}
	if p.Cut.RowsFirst {
		byRows()
		byColumns()
	} else {
		byColumns()
		byRows()
	}
	AtEdge(p.Text, "j", p.Cut.TileCols, p.C.Col.Extent, func(c int64) {
		AtEdge(p.Text, "i", p.Cut.TileRows, p.C.Row.Extent, func(r int64) { p.Line("%s", p.call(r, c)) })
	})
	p.Close(2)
	if p.C.Transposed {
		p.Line("%s", p.TransposeCall())
	}
	if p.Split() {
		p.Close()
	}
}

// call writes the call of the function of a tile of r rows and c columns.
func (p *Product) call(r, c int64) string {
	more := ""
	switch {
	case p.C.Transposed:
		more = ", " + p.OpenPlace()
	case p.Split():
		rows, cols := p.Cut.TileRows, p.Cut.TileCols
		more = fmt.Sprintf(", f, fn, open + ((j - j0) / %d * %d + (i - i0) / %d) * %d", cols, p.Cut.Rows/rows, rows, rows*cols/int64(p.N))
	}
	return fmt.Sprintf("%s_%dx%d(a, w, b%s, i, j%s);", p.Name, r, c, p.Coordinates(""), more)
}

// runOffset writes how far the present run of the reduction is from the first.
func (p *Product) runOffset(step int64) string {
	if !p.Split() {
		return ""
	}
	return fmt.Sprintf(" + f * %s", point.Number(step))
}

// EachSize does something for the sizes that tiles of a dimension have: whole ones, and what is left at its end.
func EachSize(size, extent int64, do func(size int64)) {
	if extent >= size {
		do(size)
	}
	if rest := extent % size; rest > 0 {
		do(rest)
	}
}

// AtEdge writes something for the size of the tile that begins at a variable: a whole one, or what is left at the end of its dimension.
func AtEdge(t *cnest.Text, variable string, size, extent int64, write func(size int64)) {
	rest := extent % size
	switch {
	case rest == 0:
		write(size)
	case extent < size:
		write(rest)
	default:
		t.Open("if (%s + %d <= %d) {", variable, size, extent)
		write(size)
		t.Else()
		write(rest)
		t.Close()
	}
}
