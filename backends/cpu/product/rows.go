package product

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/passes/tile"
)

// togetherPanels is how many panels of rows are filled at once: neighbouring rows of as many share whole lines of memory.
const togetherPanels = 4

// rowTasks is how many pieces of work filling the panels of rows is cut into.
func (p *Product) rowTasks() int64 {
	return (p.RowPanels() + togetherPanels - 1) / togetherPanels * point.Count(point.Follows(p.Batch, p.C.Views[p.C.Left]))
}

// rowTask writes the function with which a thread copies some rows of the left operand into panels.
func (p *Product) rowTask() {
	o := p.K.Operands[p.C.Left]
	view, stored, rows := p.C.Views[p.C.Left], p.E.W.Stored(p.D), p.C.Row.Extent
	p.E.Raw(o.Buffer)
	unit.Task(p.Text, fmt.Sprintf("%s in panels of %d rows.", o.Name, tile.RowPanel), fmt.Sprintf("%s_rows", p.Name), "tapc_part")
	p.Line("const %s *left = b[%d]; // %s", stored, p.E.Slot(o.Buffer), o.Name)
	p.Open("for (int64_t piece = begin; piece < end; piece++) {")
	tasks := (p.RowPanels() + togetherPanels - 1) / togetherPanels
	p.Line("const int64_t i0 = piece %% %d * %d;", tasks, togetherPanels*tile.RowPanel)
	groups := point.Follows(p.Batch, p.C.Views[p.C.Left])
	p.Line("int64_t rest = piece / %d;", tasks)
	point.PlaceOf(p.Text, groups)
	p.Line("const %s *from = left + %s;", stored, point.OffsetText(point.Start(p.K, view), append(groups, point.Axis{Dim: p.C.Row, Variable: "i0"}), view))
	p.Line("%s *to = (%s *)((char *)b[%d] + %d) + %s;", stored, stored, p.left.Slot, p.left.At, p.rowOffset("i0"))
	p.Line("const int64_t live = %d - i0 < %d ? %d - i0 : %d;", rows, togetherPanels*tile.RowPanel, rows, togetherPanels*tile.RowPanel)
	at := "from"
	for x, d := range p.C.Reduction {
		p.Open("for (int64_t f%d = 0; f%d < %d; f%d++) {", x, x, d.Extent, x)
		at += fmt.Sprintf(" + f%d * %s", x, point.Number(d.Step(view)))
	}
	p.Line("const %s *row = %s;", stored, at)
	if step := p.C.Reduction[len(p.C.Reduction)-1].Step(view); p.C.Row.Step(view) == 1 {
		p.Line("for (int x = 0; x < %d; x += %d) TAPC_FETCH(row, %s + x, 0, 3);", togetherPanels*tile.RowPanel, tile.PanelBytes/p.D.Size(), point.Number(packAhead*step))
	}
	p.copyRows()
	p.Line("to += %d;", tile.RowPanel)
	p.Close(len(p.C.Reduction))
	p.Close(2)
}

// copyRows writes how one value of the reduction goes to the panels that are filled together.
func (p *Product) copyRows() {
	step, apart := p.C.Row.Step(p.C.Views[p.C.Left]), point.Number(p.Length*tile.RowPanel)
	p.Open("for (int64_t x = 0; x < live; x += %d) {", tile.RowPanel)
	p.Line("%s *panel = to + x / %d * %s;", p.E.W.Stored(p.D), tile.RowPanel, apart)
	if step == 1 && p.C.Row.Extent >= tile.RowPanel {
		p.Line("if (x + %d <= live) __builtin_memcpy(panel, row + x, %d * sizeof *panel);", tile.RowPanel, tile.RowPanel)
		p.Line("else for (int64_t r = x; r < live; r++) panel[r - x] = row[r];")
	} else {
		p.Line("for (int64_t r = x; r < live && r < x + %d; r++) panel[r - x] = row[r * %s];", tile.RowPanel, point.Number(step))
	}
	p.Close()
}
