package cpu

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/passes/tile"
)

// tiles writes the loops over the tiles of a piece.
func (p *product) tiles() {
	right := p.c.Views[p.c.Right]
	rows, cols := p.cut.tileRows, p.cut.tileCols
	rightAt := p.panelOffset()
	if p.form == direct {
		rightAt = point.OffsetText(point.Start(p.k, right), append(slices.Clone(p.batch), point.Axis{Dim: p.c.Col, Variable: "j"}), right)
	}
	if p.split() {
		last := p.c.Reduction[len(p.c.Reduction)-1]
		step := p.panel
		if p.form == direct {
			step = last.Step(right)
		}
		if !p.blockwise() {
			rightAt += p.foldOffset(step)
		}
		p.Open("for (int64_t f = 0; f < %d; f += %d) {", last.Extent, p.cut.fold)
		if last.Extent%p.cut.fold == 0 {
			p.Line("const int64_t fn = %d;", p.cut.fold)
		} else {
			p.Line("const int64_t fn = %d - f < %d ? %d - f : %d;", last.Extent, p.cut.fold, last.Extent, p.cut.fold)
		}
		if p.blockwise() {
			p.packPiece("f", "f + fn")
		}
	}
	p.packLeft()
	byColumns := func() {
		p.Open("for (int64_t j = j0; j < j1; j += %d) {", cols)
		p.Line("const %s *w = right + %s;", p.e.W.Stored(p.d), rightAt)
	}
	byRows := func() {
		p.Open("for (int64_t i = i0; i < i1; i += %d) {", rows)
		p.Line("const %s *a = %s;", p.e.W.Stored(p.d), p.leftTile())
	}
	if p.rowsFirst() {
		p.Line("// by rows, as all columns stay near")
		byRows()
		byColumns()
	} else {
		byColumns()
		byRows()
	}
	p.next()
	p.calls()
	p.Close()
	p.Close()
	if p.c.Transposed {
		p.turnSums(p.d)
	}
	if p.split() {
		p.Close()
	}
}

// rowsFirst says whether a piece's rows go by outermost: if all of its columns stay in the second cache, the results of a row are written
// one behind the other.
func (p *product) rowsFirst() bool {
	return p.form == prepared && p.pack.Left != tile.PerMacroTile && !p.split() && p.cut.cols > p.cut.tileCols && p.e.Target.Near(p.cut.cols*p.length*int64(p.d.Size()))
}

// group writes the number of an operand's present place in the batch, as far as it follows that; "" if it does not.
func (p *product) group(operand int) string {
	text := ""
	for _, a := range p.batch {
		switch {
		case a.Step(p.c.Views[operand]) == 0:
		case text == "":
			text = a.Variable
		default:
			text = fmt.Sprintf("(%s) * %d + %s", text, a.Extent, a.Variable)
		}
	}
	return text
}

// panelOffset writes the number of the element of the panels that a tile starts at.
func (p *product) panelOffset() string {
	if p.form == local {
		text := fmt.Sprintf("(j - j0) / %d * %s", p.panel, point.Number(p.deep()*p.panel))
		if p.cut.tileCols < p.panel {
			text += fmt.Sprintf(" + (j - j0) %% %d", p.panel)
		}
		return text
	}
	group := p.group(p.c.Right)
	column, panels := "j", fmt.Sprint(p.panelsOf(p.c.Col.Extent))
	if p.form == packed {
		column, panels = "(j - part->column)", fmt.Sprintf("((part->columns + %d) / %d)", p.panel-1, p.panel)
		if group != "" {
			group += " - part->group"
		}
	}
	panel := fmt.Sprintf("%s / %d", column, p.panel)
	if group != "" {
		panel = fmt.Sprintf("((%s) * %s + %s)", group, panels, panel)
	}
	text := fmt.Sprintf("%s * %s", panel, point.Number(p.length*p.panel))
	if p.cut.tileCols < p.panel {
		text += fmt.Sprintf(" + %s %% %d", column, p.panel)
	}
	return text
}

// calls writes the call of the tile's function: whole tiles, and those at the edges.
func (p *product) calls() {
	rows, cols := p.cut.tileRows, p.cut.tileCols
	rowRest, colRest := p.c.Row.Extent%rows, p.c.Col.Extent%cols
	call := func(r, c int64) string {
		more := ""
		switch {
		case p.c.Transposed:
			more = ", " + p.openPlace()
		case p.split():
			more = ", f, fn, " + p.openTile()
		}
		more += p.nextArguments()
		return fmt.Sprintf("k%d_%dx%d(a, w, b%s, i, j%s);", p.number, r, c, p.coordinates(""), more)
	}
	byRows := func(c int64) {
		switch {
		case rowRest == 0:
			p.Line("%s", call(rows, c))
		case p.c.Row.Extent < rows:
			p.Line("%s", call(rowRest, c))
		default:
			p.Line("if (i + %d <= %d) %s", rows, p.c.Row.Extent, call(rows, c))
			p.Line("else %s", call(rowRest, c))
		}
	}
	switch {
	case colRest == 0:
		byRows(cols)
	case p.c.Col.Extent < cols:
		byRows(colRest)
	default:
		p.Open("if (j + %d <= %d) {", cols, p.c.Col.Extent)
		byRows(cols)
		p.Close()
		p.Open("else {")
		byRows(colRest)
		p.Close()
	}
}
