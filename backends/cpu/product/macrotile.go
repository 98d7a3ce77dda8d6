package product

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/passes/tile"
)

// Tiles writes the loops over the tiles of a piece.
func (p *Product) Tiles() {
	right := p.C.Views[p.C.Right]
	rows, cols := p.Cut.TileRows, p.Cut.TileCols
	rightAt := p.panelOffset()
	if p.Pack.Right == tile.Unpacked {
		rightAt = point.OffsetText(point.Start(p.K, right), append(slices.Clone(p.Batch), point.Axis{Dim: p.C.Col, Variable: "j"}), right)
	}
	if p.Split() {
		last := p.C.Reduction[len(p.C.Reduction)-1]
		step := p.Panel
		if p.Pack.Right == tile.Unpacked {
			step = last.Step(right)
		}
		if !p.Blockwise() {
			rightAt += p.foldOffset(step)
		}
		from := [2]string{"0", fmt.Sprint(last.Extent)}
		if p.Cut.Groups > 0 {
			from = [2]string{"from", "to"}
		}
		p.Open("for (int64_t f = %s; f < %s; f += %d) {", from[0], from[1], p.Cut.Fold)
		if last.Extent%p.Cut.Fold == 0 {
			p.Line("const int64_t fn = %d;", p.Cut.Fold)
		} else {
			p.Line("const int64_t fn = %d - f < %d ? %d - f : %d;", last.Extent, p.Cut.Fold, last.Extent, p.Cut.Fold)
		}
		if p.Blockwise() {
			p.packPiece("f", "f + fn")
		}
	}
	p.packLeft()
	byColumns := func() {
		p.Open("for (int64_t j = j0; j < j1; j += %d) {", cols)
		p.Line("const %s *w = right + %s;", p.E.W.Stored(p.D), rightAt)
	}
	byRows := func() {
		p.Open("for (int64_t i = i0; i < i1; i += %d) {", rows)
		p.Line("const %s *a = %s;", p.E.W.Stored(p.D), p.leftTile())
	}
	if p.Cut.RowsFirst {
		p.Line("// by rows, as all columns stay near")
		byRows()
		byColumns()
	} else {
		byColumns()
		byRows()
	}
	p.next()
	edges(p, p.call)
	p.Close(2)
	if p.C.Transposed {
		p.TransposeSums(p.D)
	}
	if p.Split() {
		p.Close()
	}
}

// panelOffset writes the number of the element of the panels that a tile starts at.
func (p *Product) panelOffset() string {
	if p.Pack.Right == tile.PerMacroTile {
		text := fmt.Sprintf("(j - j0) / %d * %s", p.Panel, point.Number(p.Deep()*p.Panel))
		if p.Cut.TileCols < p.Panel {
			text += fmt.Sprintf(" + (j - j0) %% %d", p.Panel)
		}
		return text
	}
	group := p.Group(p.C.Right)
	column, panels := "j", fmt.Sprint(p.PanelsOf(p.C.Col.Extent))
	if p.Pack.Right == tile.UpFront {
		column, panels = "(j - part->column)", fmt.Sprintf("((part->columns + %d) / %d)", p.Panel-1, p.Panel)
		if group != "" {
			group += " - part->group"
		}
	}
	panel := fmt.Sprintf("%s / %d", column, p.Panel)
	if group != "" {
		panel = fmt.Sprintf("((%s) * %s + %s)", group, panels, panel)
	}
	text := fmt.Sprintf("%s * %s", panel, point.Number(p.Length*p.Panel))
	if p.Cut.TileCols < p.Panel {
		text += fmt.Sprintf(" + %s %% %d", column, p.Panel)
	}
	return text
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
	more += p.nextAddress("")
	return fmt.Sprintf("%s_%dx%d(a, w, b%s, i, j%s);", p.Name, r, c, p.Coordinates(""), more)
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

// packPiece writes the packing of a piece's columns, from one value of the innermost fold to another. It goes over some rows at a
// time, as panels next to each other are filled from the same lines of memory.
func (p *Product) packPiece(from, to string) {
	pack := func(from, to, at string) {
		p.Line("for (int64_t j = j0; j < j1; j += %d) %s_panel(b%s, j%s, panels + (j - j0) * %s%s);", p.Panel, p.Name, p.Coordinates(""),
			p.foldRange(from, to), point.Number(p.Deep()), at)
	}
	if !p.Partly() {
		pack("", "", "")
		return
	}
	p.Open("for (int64_t from = %s; from < %s; from += %d) {", from, to, packRows)
	p.Line("const int64_t to = from + %d < %s ? from + %d : %s;", packRows, to, packRows, to)
	at := fmt.Sprintf(" + from * %d", p.Panel)
	if from != "0" {
		at = fmt.Sprintf(" + (from - %s) * %d", from, p.Panel)
	}
	pack("from", "to", at)
	p.Close()
}
