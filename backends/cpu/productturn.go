package cpu

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// openRows and openCols are the sizes of the array of the sums of a piece that are turned before they are finished: whole vectors
// either way, and whole tiles of columns.
func (p *product) openRows() int64 {
	return isa.Align(min(p.cut.rows, p.c.Row.Extent), int64(p.n))
}
func (p *product) openCols() int64 {
	return isa.Align(min(p.cut.cols, p.c.Col.Extent), max(int64(p.n), tile.NarrowRows))
}

// turnedBytes is the size of that array.
func (p *product) turnedBytes() int64 { return p.openRows() * p.openCols() * int64(p.d.Wide().Size()) }

// openPlace is where the sums of the present tile are in it.
func (p *product) openPlace() string {
	return fmt.Sprintf("open + (i - i0) * %d + j - j0", p.openCols())
}

// turnSums writes the finishing of a piece whose results are neighbours along the rows: its sums, kept as elements of a type of the
// same size, are turned, square by square.
func (p *product) turnSums(kept scalar.DType) {
	lanes := int64(p.n)
	t, element := p.e.V.Type(p.d, p.n), p.e.W.Type(kept)
	p.Open("for (int64_t i = i0; i < i1; i += %d) {", lanes)
	p.Line("const int rows = i1 - i < %d ? (int)(i1 - i) : %d;", lanes, lanes)
	p.Open("for (int64_t j = j0; j < j1; j += %d) {", lanes)
	p.Line("_Alignas(64) %s square[%d];", element, lanes*lanes)
	p.Line("%s;", p.e.V.Of(kept, p.n).Transpose(p.n, p.openPlace(), fmt.Sprint(p.openCols()), "square", fmt.Sprint(lanes)))
	p.Line("for (int x = 0; x < %d && j + x < j1; x++) k%d_finish(b%s, i, j + x, *(const %su *)(square + x * %d), rows);", lanes, p.number,
		p.coordinates(""), t, lanes)
	p.Close()
	p.Close()
}

// keepTile writes how a tile keeps its sums for the piece.
func (p *product) keepTile(rows, vectors int64) {
	p.Line("for (int r = 0; r < %d; r++) for (int x = 0; x < %d; x++) *(%s *)(open + r * %d + x * %d) = s[r * %d + x];", rows, vectors,
		p.e.V.Type(p.vectorType(), p.n), p.openCols(), p.n, vectors)
}
