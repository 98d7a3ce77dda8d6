package product

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// rows packs the rows of the left operand into panels, and finds those of a tile.
type rows struct {
	*cnest.Text
	p      *Product
	view   nest.View
	stored string // the C type of elements
}

// rowsOf gives the writer of that of a product.
func rowsOf(p *Product) rows { return rows{p.Text, p, p.C.Views[p.C.Left], p.E.W.Stored(p.D)} }

// function writes the function that puts some rows of the left operand in panels, each as many rows as a tile has, one run of the reduction.
func (r rows) function() {
	o, rows, n := r.p.K.Operands[r.p.C.Left], r.p.Cut.TileRows, int64(r.p.N)
	step := point.Number(r.p.C.Row.Step(r.view))
	r.Line("\n// Some rows of %s in panels of %d rows, %d values of the reduction each.", o.Name, rows, r.p.Cut.Fold)
	r.Open("static void %s_left(const %s *from, int64_t rows, int64_t values, %s *to) {", r.p.Name, r.stored, r.stored)
	r.Open("for (; rows > 0; rows -= %d, from += %s, to += %d) {", rows, point.Number(rows*r.p.C.Row.Step(r.view)), rows*r.p.Cut.Fold)
	r.Line("int64_t k = 0;")
	r.Line("if (rows >= %d) for (; k + %d <= values; k += %d) %s;", rows, n, n,
		r.p.E.V.Of(r.p.D, r.p.N).Transpose(int(rows), "from + k", step, fmt.Sprintf("to + k * %d", rows), fmt.Sprint(rows)))
	r.Open("for (; k < values; k++) {")
	r.Line("for (int64_t r = 0; r < %d && r < rows; r++) to[k * %d + r] = from[r * %s + k];", rows, rows, step)
	r.Close(3)
}
