package cpu

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/passes/tile"
)

// pieceLeft is how many bytes the panels of a piece's rows take, for one run of the fold. Storing whole vectors reaches over the end.
func (p *product) pieceLeft() int64 {
	return isa.Align((p.cut.rows*p.cut.fold+int64(p.n))*int64(p.d.Size()), panelBytes)
}

// placePiece finds the memory that a thread has for its piece.
func (p *product) placePiece() {
	bytes, open := int64(0), int64(0)
	if p.pack.Left == tile.PerMacroTile {
		bytes = p.pieceLeft()
	}
	if p.form == local {
		p.panelsAt = bytes
		bytes += p.share()
	}
	switch {
	case p.c.Transposed:
		open = p.turnedBytes()
	case p.split():
		open = p.openBytes()
	}
	p.placeOwn(bytes, open)
}

// placeOwn finds the memory of a thread for panels, and for unfinished sums if they are too many for the stack.
func (p *product) placeOwn(packed, open int64) {
	p.open, p.openAt, p.ownBytes = open, packed, packed
	if open > tile.MaxSums {
		p.ownBytes += isa.Align(open, panelBytes)
	}
	if p.ownBytes > 0 {
		p.ownSlot = p.e.NeedThread(p.ownBytes)
	}
}

// openBytes is the size of the unfinished sums of a piece.
func (p *product) openBytes() int64 { return p.openSums() * int64(p.n) * int64(p.d.Wide().Size()) }

// declareOwn declares what a thread has for itself; unfinished sums, of a type of some size, are on the stack or not.
func (p *product) declareOwn(align, typ string, size int64) {
	if p.ownBytes > 0 {
		p.Line("char *const own = (char *)b[%d] + worker * %s;", p.ownSlot, point.Number(p.ownBytes))
	}
	switch {
	case p.open == 0:
	case p.open > tile.MaxSums:
		p.Line("%s *const open = (%s *)(own + %d); // unfinished sums", typ, typ, p.openAt)
	default:
		p.e.Stack(p.open)
		p.Line("%s%s open[%d]; // unfinished sums", align, typ, p.open/size)
	}
}

// leftFunction writes the function that puts some rows of the left operand in panels, each as many rows as a tile has, one run of the fold.
func (p *product) leftFunction() {
	o, rows, n := p.k.Operands[p.c.Left], p.cut.tileRows, int64(p.n)
	stored, step := p.e.W.Stored(p.d), point.Number(p.c.Row.Step(p.c.Views[p.c.Left]))
	p.Line("")
	p.Line("// Some rows of %s in panels of %d rows, %d values of the fold each.", o.Name, rows, p.cut.fold)
	p.Open("static void k%d_left(const %s *from, int64_t rows, int64_t values, %s *to) {", p.number, stored, stored)
	p.Open("for (; rows > 0; rows -= %d, from += %s, to += %d) {", rows, point.Number(rows*p.c.Row.Step(p.c.Views[p.c.Left])), rows*p.cut.fold)
	p.Line("int64_t k = 0;")
	p.Line("if (rows >= %d) for (; k + %d <= values; k += %d) %s;", rows, n, n,
		p.e.V.Of(p.d, p.n).Transpose(int(rows), "from + k", step, fmt.Sprintf("to + k * %d", rows), fmt.Sprint(rows)))
	p.Open("for (; k < values; k++) {")
	p.Line("for (int64_t r = 0; r < %d && r < rows; r++) to[k * %d + r] = from[r * %s + k];", rows, rows, step)
	p.Close()
	p.Close()
	p.Close()
}

// packLeft writes the call that puts the rows of a piece in panels, if they are: one run of the fold.
func (p *product) packLeft() {
	switch at := p.leftOffset("i0"); {
	case p.pack.Left != tile.PerMacroTile:
	case p.split():
		p.Line("k%d_left(left + %s%s, i1 - i0, fn, rows);", p.number, at, p.foldOffset(p.c.Reduction[0].Step(p.c.Views[p.c.Left])))
	default:
		p.Line("k%d_left(left + %s, i1 - i0, %d, rows);", p.number, at, p.innerFold())
	}
}

// leftTile writes where the rows of a tile are.
func (p *product) leftTile() string {
	step := int64(0)
	if n := len(p.c.Reduction); n > 0 {
		step = p.c.Reduction[n-1].Step(p.c.Views[p.c.Left])
	}
	switch {
	case p.pack.Left == tile.PerMacroTile:
		return fmt.Sprintf("rows + (i - i0) * %d", p.cut.fold)
	case p.pack.Paneled():
		return "left + " + p.rowOffset("i") + p.foldOffset(tile.RowPanel)
	}
	return "left + " + p.leftOffset("i") + p.foldOffset(step)
}

// foldOffset writes how far the present run of the fold is from the first.
func (p *product) foldOffset(step int64) string {
	if !p.split() {
		return ""
	}
	return fmt.Sprintf(" + f * %s", point.Number(step))
}

// leftOffset writes the number of the left operand's element that a row starts at.
func (p *product) leftOffset(row string) string {
	view := p.c.Views[p.c.Left]
	return point.OffsetText(point.Start(p.k, view), append(slices.Clone(p.batch), point.Axis{Dim: p.c.Row, Variable: row}), view)
}

// leftWidth is how many rows the panels of the left operand have, 0 if it is read where it stands.
func (p *product) leftWidth() int64 {
	switch {
	case p.pack.Left == tile.PerMacroTile:
		return p.cut.tileRows
	case p.pack.Paneled():
		return tile.RowPanel
	}
	return 0
}

// rowOffset writes the number of the element of the panels of rows that a tile starts at: tiles do not reach over their ends.
func (p *product) rowOffset(row string) string {
	group, panel := p.group(p.c.Left), fmt.Sprintf("%s / %d", row, tile.RowPanel)
	if group != "" {
		panel = fmt.Sprintf("((%s) * %d + %s)", group, p.rowPanels(), panel)
	}
	return fmt.Sprintf("%s * %s + %s %% %d", panel, point.Number(p.length*tile.RowPanel), row, tile.RowPanel)
}
