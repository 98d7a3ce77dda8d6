package cpu

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/passes/tile"
)

// togetherPanels is how many panels of rows are filled at once: neighbouring rows of as many share whole lines of memory.
const togetherPanels = 4

// rowPanels is how many panels of rows a place of the batch has.
func (p *product) rowPanels() int64 { return (p.c.Row.Extent + tile.RowPanel - 1) / tile.RowPanel }

// rowTasks is how many pieces of work filling the panels of rows is cut into.
func (p *product) rowTasks() int64 {
	n := (p.rowPanels() + togetherPanels - 1) / togetherPanels
	for _, a := range p.rowGroups() {
		n *= a.Extent
	}
	return n
}

// rowGroups gives the batch axes that the left operand follows.
func (p *product) rowGroups() []point.Axis {
	view := p.c.Views[p.c.Left]
	return slices.DeleteFunc(slices.Clone(p.batch), func(a point.Axis) bool { return a.Step(view) == 0 })
}

// rowTask writes the function with which a thread copies some rows of the left operand into panels.
func (p *product) rowTask() {
	o := p.k.Operands[p.c.Left]
	view, stored, rows := p.c.Views[p.c.Left], p.e.W.Stored(p.d), p.c.Row.Extent
	p.e.Raw(o.Buffer)
	p.Line("")
	p.Line("// %s in panels of %d rows.", o.Name, tile.RowPanel)
	p.Open("static void k%d_rows(void *ctx, int64_t begin, int64_t end, int worker) {", p.number)
	p.Line("const tapc_part *part = ctx;")
	p.Line("void *const *b = part->b;")
	p.Line("(void)worker;")
	p.Line("const %s *left = b[%d]; // %s", stored, p.e.Slot(o.Buffer), o.Name)
	p.Open("for (int64_t piece = begin; piece < end; piece++) {")
	tasks := (p.rowPanels() + togetherPanels - 1) / togetherPanels
	p.Line("const int64_t i0 = piece %% %d * %d;", tasks, togetherPanels*tile.RowPanel)
	groups := p.rowGroups()
	p.Line("int64_t rest = piece / %d;", tasks)
	point.PlaceOf(p.Text, groups)
	p.Line("const %s *from = left + %s;", stored, point.OffsetText(point.Start(p.k, view), append(groups, point.Axis{Dim: p.c.Row, Variable: "i0"}), view))
	p.Line("%s *to = (%s *)((char *)b[%d] + %d) + %s;", stored, stored, p.rows.slot, p.rows.at, p.rowOffset("i0"))
	p.Line("const int64_t live = %d - i0 < %d ? %d - i0 : %d;", rows, togetherPanels*tile.RowPanel, rows, togetherPanels*tile.RowPanel)
	at := "from"
	for x, d := range p.c.Reduction {
		p.Open("for (int64_t f%d = 0; f%d < %d; f%d++) {", x, x, d.Extent, x)
		at += fmt.Sprintf(" + f%d * %s", x, point.Number(d.Step(view)))
	}
	p.Line("const %s *row = %s;", stored, at)
	if step := p.c.Reduction[len(p.c.Reduction)-1].Step(view); p.c.Row.Step(view) == 1 {
		p.Line("for (int x = 0; x < %d; x += %d) TAPC_FETCH(row, %s + x, 0, 3);", togetherPanels*tile.RowPanel, panelBytes/p.d.Size(), point.Number(packAhead*step))
	}
	p.copyRows()
	p.Line("to += %d;", tile.RowPanel)
	for range p.c.Reduction {
		p.Close()
	}
	p.Close()
	p.Close()
}

// copyRows writes how one value of the fold goes to the panels that are filled together.
func (p *product) copyRows() {
	step, apart := p.c.Row.Step(p.c.Views[p.c.Left]), point.Number(p.length*tile.RowPanel)
	p.Open("for (int64_t x = 0; x < live; x += %d) {", tile.RowPanel)
	p.Line("%s *panel = to + x / %d * %s;", p.e.W.Stored(p.d), tile.RowPanel, apart)
	if step == 1 && p.c.Row.Extent >= tile.RowPanel {
		p.Line("if (x + %d <= live) __builtin_memcpy(panel, row + x, %d * sizeof *panel);", tile.RowPanel, tile.RowPanel)
		p.Line("else for (int64_t r = x; r < live; r++) panel[r - x] = row[r];")
	} else {
		p.Line("for (int64_t r = x; r < live && r < x + %d; r++) panel[r - x] = row[r * %s];", tile.RowPanel, point.Number(step))
	}
	p.Close()
}
