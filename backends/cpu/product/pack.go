package product

import (
	"embed"
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/passes/tile"
)

//go:embed c/*.c
var files embed.FS

// Pack names the function that copies values into a panel, for the vectors of a type.
func Pack(x vector.Type) string {
	return x.File(files, "pack.c", "", "TAPC_LOAD(p, n) "+x.Load("p", "n"), "TAPC_GATHER(p, step, n) "+x.Gather("p", "step", "n"))("tapc_pack")
}

// PackSquares names the one that transposes whole squares.
func PackSquares(x vector.Type) string {
	return x.File(files, "squares.c", "", transposing(x, x.Lanes()))("tapc_pack_squares")
}

// PackRows names the one that puts so many rows in each panel.
func PackRows(x vector.Type, rows int) string {
	return x.File(files, "rows.c", fmt.Sprintf("_%d", rows), fmt.Sprintf("TAPC_ROWS %d", rows), transposing(x, rows))("tapc_rows")
}

// Spread names the one that copies one value of several panels of rows.
func Spread(x vector.Type) string { return x.File(files, "spread.c", "")("tapc_spread") }

// Places names the one that copies places that are neighbours so that their values are, in a variant with macros for an element and a square.
func Places(x vector.Type, variant string, macros ...string) string {
	return x.File(files, "places.c", variant, macros...)("tapc_transpose_places")
}

// transposing is the macro that transposes some rows of whole vectors.
func transposing(x vector.Type, rows int) string {
	return "TAPC_TRANSPOSE(from, step, to, apart) " + x.Transpose(rows, "from", "step", "to", "apart")
}

// packColumns writes the function that packs one panel of the right operand: the columns from j on.
func (p *Product) packColumns() {
	buffer, view, stored, vectors := p.K.Operands[p.C.Right].Buffer, p.C.Views[p.C.Right], p.E.W.Stored(p.D), p.E.V.Of(p.D, p.N)
	p.E.Raw(buffer)
	some, ahead := "", int64(0)
	across, step, length := p.C.Col.Step(view), p.innerStep(view), int64(1)
	if n := len(p.C.Reduction); n > 0 {
		length = p.C.Reduction[n-1].Extent
	}
	values := fmt.Sprint(length)
	if p.Partly() { // values of the reduction at a time
		some, values = ", int64_t first, int64_t last", "last - first"
		if a := p.Target.Copies().Ahead; across == 1 && step > a {
			ahead = a
		}
	}
	p.Open("\nstatic void %s_panel(void *const *b%s, int64_t j%s, %s *to) {", p.Name, p.Coordinates("int64_t "), some, stored)
	p.Line("const %s *right = b[%d]; // %s", stored, p.E.Slot(buffer), p.K.Operands[p.C.Right].Name)
	p.Line("%s(void)j;", p.Voids())
	p.Line("const %s *from = right + %s;", stored, point.OffsetText(point.Start(p.K, view), append(p.Groups(), point.Axis{Dim: p.C.Col, Variable: "j"}), view))
	outer := p.outerReduction()
	at := "from" + reducedLoops(p.Text, outer, view)[0]
	if p.Partly() {
		at += " + first * " + point.Number(step)
	}
	AtEdge(p.Text, "j", p.Panel, p.C.Col.Extent, func(live int64) {
		from, to, values := at, "to", values
		if step == 1 && across != 1 && live == p.Panel && length >= int64(p.N) {
			p.Line("const int64_t k = %s(%s, %s, %s, to, %d);", PackSquares(vectors), at, point.Number(across), values, p.Panel)
			from, to, values = from+" + k", fmt.Sprintf("to + k * %d", p.Panel), values+" - k"
		}
		p.Line("%s(%s, %s, %s, %d, %s, %d, %s, %d);", Pack(vectors), from, point.Number(step), point.Number(across), live, values, ahead, to, p.Panel)
	})
	if len(outer) > 0 {
		p.Line("to += %d;", length*p.Panel)
	}
	p.Close(len(outer) + 1)
}

// packRows writes the function that puts some rows of the left operand in panels, each as many rows as a tile has, one run of the reduction.
func (p *Product) packRows() {
	stored, rows := p.E.W.Stored(p.D), p.Cut.TileRows
	p.Line("\n// Some rows of %s in panels of %d rows, %d values of the reduction each.", p.K.Operands[p.C.Left].Name, rows, p.Cut.Fold)
	p.Open("static void %s_left(const %s *from, int64_t rows, int64_t values, %s *to) {", p.Name, stored, stored)
	p.Line("%s(from, %s, rows, values, to, %d);", PackRows(p.E.V.Of(p.D, p.N), int(rows)), point.Number(p.C.Row.Step(p.C.Views[p.C.Left])), rows*p.Cut.Fold)
	p.Close()
}

// packRowsUpFront writes the function that copies some rows of the left operand into panels, several of which are filled at once.
func (p *Product) packRowsUpFront() {
	o, view, stored := p.K.Operands[p.C.Left], p.C.Views[p.C.Left], p.E.W.Stored(p.D)
	rows, several, step := p.C.Row.Extent, together(p.Blocking)*tile.RowPanel, p.C.Row.Step(view)
	p.E.Raw(o.Buffer)
	p.Line("\n// %s in panels of %d rows, from one on.", o.Name, tile.RowPanel)
	p.Open("static void %s_rows(void *const *b%s, int64_t i0, %s *to) {", p.Name, p.Coordinates("int64_t "), stored)
	p.Line("const %s *left = b[%d]; // %s", stored, p.E.Slot(o.Buffer), o.Name)
	p.Line("%s(void)i0;", p.Voids())
	p.Line("const %s *from = left + %s;", stored, point.OffsetText(point.Start(p.K, view), append(point.Follows(p.Batch, view), point.Axis{Dim: p.C.Row, Variable: "i0"}), view))
	p.Line("const int64_t live = %d - i0 < %d ? %d - i0 : %d;", rows, several, rows, several)
	p.Line("const %s *row = from%s;", stored, reducedLoops(p.Text, p.C.Reduction, view)[0])
	if step == 1 {
		p.Line("for (int x = 0; x < %d; x += %d) TAPC_FETCH(row, %s + x, 0, 3);", several, tile.PanelBytes/p.D.Size(), point.Number(p.Target.Copies().Ahead*p.innerStep(view)))
	}
	p.Line("%s(row, %s, live, to, %s, %d);", Spread(p.E.V.Of(p.D, p.N)), point.Number(step), point.Number(p.Length*tile.RowPanel), tile.RowPanel)
	p.Line("to += %d;", tile.RowPanel)
	p.Close(len(p.C.Reduction) + 1)
}

// together is how many panels of rows of four bytes each are filled at once, so that they share whole lines of memory.
func together(b *blocking.Blocking) int64 {
	n, line := int64(1), b.Target.Copies().Line
	for n*tile.RowPanel*4%line != 0 {
		n++
	}
	return n
}
