package product

import (
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/passes/tile"
)

// together is how many panels of rows of four bytes each are filled at once, so that they share whole lines of memory.
func together(b *blocking.Blocking) int64 {
	n, line := int64(1), b.Target.Copies().Line
	for n*tile.RowPanel*4%line != 0 {
		n++
	}
	return n
}

// upFront writes the function that copies some rows of the left operand into panels.
func (r rows) upFront() {
	o, rows, together := r.p.K.Operands[r.p.C.Left], r.p.C.Row.Extent, together(r.p.Blocking)*tile.RowPanel
	r.p.E.Raw(o.Buffer)
	r.Line("\n// %s in panels of %d rows, from one on.", o.Name, tile.RowPanel)
	r.Open("static void %s_rows(void *const *b%s, int64_t i0, %s *to) {", r.p.Name, r.p.Coordinates("int64_t "), r.stored)
	r.Line("const %s *left = b[%d]; // %s", r.stored, r.p.E.Slot(o.Buffer), o.Name)
	r.Line("%s(void)i0;", r.p.Voids())
	groups := point.Follows(r.p.Batch, r.view)
	r.Line("const %s *from = left + %s;", r.stored, point.OffsetText(point.Start(r.p.K, r.view), append(groups, point.Axis{Dim: r.p.C.Row, Variable: "i0"}), r.view))
	r.Line("const int64_t live = %d - i0 < %d ? %d - i0 : %d;", rows, together, rows, together)
	r.Line("const %s *row = from%s;", r.stored, reducedLoops(r.Text, r.p.C.Reduction, r.view)[0])
	if r.p.C.Row.Step(r.view) == 1 {
		r.Line("for (int x = 0; x < %d; x += %d) TAPC_FETCH(row, %s + x, 0, 3);", together, tile.PanelBytes/r.p.D.Size(), point.Number(r.p.Target.Copies().Ahead*r.p.innerStep(r.view)))
	}
	r.copy()
	r.Line("to += %d;", tile.RowPanel)
	r.Close(len(r.p.C.Reduction) + 1)
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
