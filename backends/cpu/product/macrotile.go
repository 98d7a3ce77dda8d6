package product

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cnest"
)

// Tiles writes the loops over the tiles of a piece.
func (p *Product) Tiles() {
	rows, cols := p.Cut.TileRows, p.Cut.TileCols
	if p.Split() {
		length, from := p.InnerFold(), [2]string{"0", fmt.Sprint(p.InnerFold())}
		if p.Cut.Groups > 0 {
			from = [2]string{"from", "to"}
		}
		p.Open("for (int64_t f = %s; f < %s; f += %d) {", from[0], from[1], p.Cut.Fold)
		if length%p.Cut.Fold == 0 {
			p.Line("const int64_t fn = %d;", p.Cut.Fold)
		} else {
			p.Line("const int64_t fn = %d - f < %d ? %d - f : %d;", length, p.Cut.Fold, length, p.Cut.Fold)
		}
		if p.Blockwise() {
			columnsOf(p).piece("f", "f + fn")
		}
	}
	rowsOf(p).pack()
	byColumns := func() {
		p.Open("for (int64_t j = j0; j < j1; j += %d) {", cols)
		p.Line("const %s *w = %s;", p.E.W.Stored(p.D), columnsOf(p).tile())
	}
	byRows := func() {
		p.Open("for (int64_t i = i0; i < i1; i += %d) {", rows)
		p.Line("const %s *a = %s;", p.E.W.Stored(p.D), rowsOf(p).tile())
	}
	if p.Cut.RowsFirst {
		p.Line("// by rows, as all columns stay near")
		byRows()
		byColumns()
	} else {
		byColumns()
		byRows()
	}
	fetch{p}.declare()
	edges(p, p.call)
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
		more = ", f, fn, " + p.openTile("open")
	}
	if p.Cut.Groups > 0 {
		more += ", " + p.openTile("group")
	}
	more += fetch{p}.addresses("")
	return fmt.Sprintf("%s_%dx%d(a, w, b%s, i, j%s);", p.Name, r, c, p.Coordinates(""), more)
}

// openTile writes where the sums of a tile are in those of a macro-tile: those of the tiles of some columns one behind the other.
func (p *Product) openTile(open string) string {
	rows, cols := p.Cut.TileRows, p.Cut.TileCols
	each := rows * cols / int64(p.N)
	if p.Cut.Cols <= cols {
		return fmt.Sprintf("%s + (i - i0) / %d * %d", open, rows, each)
	}
	return fmt.Sprintf("%s + ((j - j0) / %d * %d + (i - i0) / %d) * %d", open, cols, p.Cut.Rows/rows, rows, each)
}

// edges writes the call of a tile's function: of whole tiles, and of those at the edges.
func edges(p *Product, call func(r, c int64) string) {
	AtEdge(p.Text, "j", p.Cut.TileCols, p.C.Col.Extent, func(c int64) {
		AtEdge(p.Text, "i", p.Cut.TileRows, p.C.Row.Extent, func(r int64) { p.Line("%s", call(r, c)) })
	})
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
