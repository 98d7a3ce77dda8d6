package product

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/passes/tile"
)

// together is how many panels of rows of four bytes each are filled at once, so that they share whole lines of memory.
func (r rows) together() int64 {
	n, line := int64(1), r.p.Target.Copies().Line
	for n*tile.RowPanel*4%line != 0 {
		n++
	}
	return n
}

// pieces is how many such panels there are, of one group.
func (r rows) pieces() int64 { return (r.p.RowPanels() + r.together() - 1) / r.together() }

// tasks is how many pieces of work filling the panels of rows is cut into.
func (r rows) tasks() int64 { return r.pieces() * point.Count(point.Follows(r.p.Batch, r.view)) }

// task writes the function with which a thread copies some rows of the left operand into panels.
func (r rows) task() {
	o := r.p.K.Operands[r.p.C.Left]
	rows, tasks, together := r.p.C.Row.Extent, r.pieces(), r.together()*tile.RowPanel
	r.p.E.Raw(o.Buffer)
	unit.Task(r.Text, fmt.Sprintf("%s in panels of %d rows.", o.Name, tile.RowPanel), fmt.Sprintf("%s_rows", r.p.Name), "tapc_part")
	r.Line("const %s *left = b[%d]; // %s", r.stored, r.p.E.Slot(o.Buffer), o.Name)
	r.Open("for (int64_t piece = begin; piece < end; piece++) {")
	r.Line("const int64_t i0 = piece %% %d * %d;", tasks, together)
	groups := point.Follows(r.p.Batch, r.view)
	r.Line("int64_t rest = piece / %d;", tasks)
	point.PlaceOf(r.Text, groups)
	r.Line("const %s *from = left + %s;", r.stored, point.OffsetText(point.Start(r.p.K, r.view), append(groups, point.Axis{Dim: r.p.C.Row, Variable: "i0"}), r.view))
	r.Line("%s *to = (%s *)((char *)b[%d] + %d) + %s;", r.stored, r.stored, r.p.left.Slot, r.p.left.At, r.panelOffset("i0"))
	r.Line("const int64_t live = %d - i0 < %d ? %d - i0 : %d;", rows, together, rows, together)
	r.Line("const %s *row = from%s;", r.stored, reducedLoops(r.Text, r.p.C.Reduction, r.view)[0])
	if r.p.C.Row.Step(r.view) == 1 {
		r.Line("for (int x = 0; x < %d; x += %d) TAPC_FETCH(row, %s + x, 0, 3);", together, tile.PanelBytes/r.p.D.Size(), point.Number(r.p.Target.Copies().Ahead*r.p.innerStep(r.view)))
	}
	r.copy()
	r.Line("to += %d;", tile.RowPanel)
	r.Close(len(r.p.C.Reduction) + 2)
}

// copy writes how one value of the reduction goes to the panels that are filled together.
func (r rows) copy() {
	step, apart := r.p.C.Row.Step(r.view), point.Number(r.p.Length*tile.RowPanel)
	r.Open("for (int64_t x = 0; x < live; x += %d) {", tile.RowPanel)
	r.Line("%s *panel = to + x / %d * %s;", r.stored, tile.RowPanel, apart)
	if step == 1 && r.p.C.Row.Extent >= tile.RowPanel {
		r.Line("if (x + %d <= live) __builtin_memcpy(panel, row + x, %d * sizeof *panel);", tile.RowPanel, tile.RowPanel)
		r.Line("else for (int64_t r = x; r < live; r++) panel[r - x] = row[r];")
	} else {
		r.Line("for (int64_t r = x; r < live && r < x + %d; r++) panel[r - x] = row[r * %s];", tile.RowPanel, point.Number(step))
	}
	r.Close()
}
