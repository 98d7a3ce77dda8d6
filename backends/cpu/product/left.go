package product

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/point"
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

// leftFunction writes the function that puts some rows of the left operand in panels, each as many rows as a tile has, one run of the reduction.
func (p *Product) leftFunction() {
	o, rows, n := p.K.Operands[p.C.Left], p.Cut.TileRows, int64(p.N)
	stored, step := p.E.W.Stored(p.D), point.Number(p.C.Row.Step(p.C.Views[p.C.Left]))
	p.Line("\n// Some rows of %s in panels of %d rows, %d values of the fold each.", o.Name, rows, p.Cut.Fold)
	p.Open("static void %s_left(const %s *from, int64_t rows, int64_t values, %s *to) {", p.Name, stored, stored)
	p.Open("for (; rows > 0; rows -= %d, from += %s, to += %d) {", rows, point.Number(rows*p.C.Row.Step(p.C.Views[p.C.Left])), rows*p.Cut.Fold)
	p.Line("int64_t k = 0;")
	p.Line("if (rows >= %d) for (; k + %d <= values; k += %d) %s;", rows, n, n,
		p.E.V.Of(p.D, p.N).Transpose(int(rows), "from + k", step, fmt.Sprintf("to + k * %d", rows), fmt.Sprint(rows)))
	p.Open("for (; k < values; k++) {")
	p.Line("for (int64_t r = 0; r < %d && r < rows; r++) to[k * %d + r] = from[r * %s + k];", rows, rows, step)
	p.Close(3)
}

// packLeft writes the call that puts the rows of a piece in panels, if they are: one run of the reduction.
func (p *Product) packLeft() {
	switch at := p.leftOffset("i0"); {
	case p.Pack.Left != tile.PerMacroTile:
	case p.Split():
		p.Line("%s_left(left + %s%s, i1 - i0, fn, rows);", p.Name, at, p.foldOffset(p.C.Reduction[0].Step(p.C.Views[p.C.Left])))
	default:
		p.Line("%s_left(left + %s, i1 - i0, %d, rows);", p.Name, at, p.InnerFold())
	}
}

// leftTile writes where the rows of a tile are.
func (p *Product) leftTile() string {
	step := int64(0)
	if n := len(p.C.Reduction); n > 0 {
		step = p.C.Reduction[n-1].Step(p.C.Views[p.C.Left])
	}
	switch {
	case p.Pack.Left == tile.PerMacroTile:
		return fmt.Sprintf("rows + (i - i0) * %d", p.Cut.Fold)
	case p.Pack.Paneled():
		return "left + " + p.rowOffset("i") + p.foldOffset(tile.RowPanel)
	}
	return "left + " + p.leftOffset("i") + p.foldOffset(step)
}

// foldOffset writes how far the present run of the reduction is from the first.
func (p *Product) foldOffset(step int64) string {
	if !p.Split() {
		return ""
	}
	return fmt.Sprintf(" + f * %s", point.Number(step))
}

// leftOffset writes the number of the left operand's element that a row starts at.
func (p *Product) leftOffset(row string) string {
	view := p.C.Views[p.C.Left]
	return point.OffsetText(point.Start(p.K, view), append(slices.Clone(p.Batch), point.Axis{Dim: p.C.Row, Variable: row}), view)
}

// rowOffset writes the number of the element of the panels of rows that a tile starts at: tiles do not reach over their ends.
func (p *Product) rowOffset(row string) string {
	group, panel := p.Group(p.C.Left), fmt.Sprintf("%s / %d", row, tile.RowPanel)
	if group != "" {
		panel = fmt.Sprintf("((%s) * %d + %s)", group, p.RowPanels(), panel)
	}
	return fmt.Sprintf("%s * %s + %s %% %d", panel, point.Number(p.Length*tile.RowPanel), row, tile.RowPanel)
}
