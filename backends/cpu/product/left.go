package product

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/passes/tile"
)

// DeclareWorkspace declares what a thread has for itself; unfinished sums, of a type of some size, are on the stack or not.
func (p *Product) DeclareWorkspace(align, typ string, size int64) {
	m := p.memory
	if m.Private > 0 {
		p.Line("char *const own = (char *)b[%d] + worker * %s;", p.thread, point.Number(m.Private))
	}
	switch {
	case m.Sums == 0:
	case m.Sums > tile.MaxSums:
		p.Line("%s *const open = (%s *)(own + %d); // unfinished sums", typ, typ, m.Open)
	default:
		p.E.Stack(m.Sums)
		p.Line("%s%s open[%d]; // unfinished sums", align, typ, m.Sums/size)
	}
}

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

// pack writes the call that puts the rows of a piece in panels, if they are: one run of the reduction.
func (r rows) pack() {
	switch at := r.offset("i0"); {
	case r.p.Pack.Left != tile.PerMacroTile:
	case r.p.Split():
		r.Line("%s_left(left + %s%s, i1 - i0, fn, rows);", r.p.Name, at, r.p.foldOffset(r.p.C.Reduction[0].Step(r.view)))
	default:
		r.Line("%s_left(left + %s, i1 - i0, %d, rows);", r.p.Name, at, r.p.InnerFold())
	}
}

// tile writes where the rows of a tile are.
func (r rows) tile() string {
	switch {
	case r.p.Pack.Left == tile.PerMacroTile:
		return fmt.Sprintf("rows + (i - i0) * %d", r.p.Cut.Fold)
	case r.p.Pack.Paneled():
		return "left + " + r.panelOffset("i") + r.p.foldOffset(tile.RowPanel)
	}
	return "left + " + r.offset("i") + r.p.foldOffset(r.p.innerStep(r.view))
}

// foldOffset writes how far the present run of the reduction is from the first.
func (p *Product) foldOffset(step int64) string {
	if !p.Split() {
		return ""
	}
	return fmt.Sprintf(" + f * %s", point.Number(step))
}

// offset writes the number of the left operand's element that a row starts at.
func (r rows) offset(row string) string {
	return point.OffsetText(point.Start(r.p.K, r.view), append(slices.Clone(r.p.Batch), point.Axis{Dim: r.p.C.Row, Variable: row}), r.view)
}

// panelOffset writes the number of the element of the panels of rows that a tile starts at: tiles do not reach over their ends.
func (r rows) panelOffset(row string) string {
	group, panel := r.p.Group(r.p.C.Left), fmt.Sprintf("%s / %d", row, tile.RowPanel)
	if group != "" {
		panel = fmt.Sprintf("((%s) * %d + %s)", group, r.p.RowPanels(), panel)
	}
	return fmt.Sprintf("%s * %s + %s %% %d", panel, point.Number(r.p.Length*tile.RowPanel), row, tile.RowPanel)
}
