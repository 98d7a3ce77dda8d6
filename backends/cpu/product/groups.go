package product

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/unit"
)

// groupOf writes the loop over the tasks of a product whose groups are tasks: which macro-tile and which part of the sum each has.
func groupOf(p *Product) {
	n, span, t := p.Cut.Groups, p.Cut.Span(), p.sumType()
	p.Line("%s *const groups = (%s *)((char *)b[%d] + %d); // sums of groups", t, t, p.scratch, p.memory.Groups)
	p.Open("for (int64_t index = begin; index < end; index++) {")
	p.Line("const int64_t from = index %% %d * %d, to = from + %d < %d ? from + %d : %d;", n, span, span, p.Length, span, p.Length)
	p.Line("%s *const group = groups + index * %d;", t, p.OpenArea())
	p.Line("int64_t rest = index / %d;", n)
}

// joinFunction writes the function that adds the sums of the groups of a tile of rows by cols, in their order, and finishes it.
func joinFunction(p *Product, rows, cols int64) {
	t := tileOf(p, rows, cols)
	p.Line("\n// The sums of %d rows and %d columns, of those of groups.", rows, cols)
	p.Open("static void %s_join_%dx%d(void *const *b%s, int64_t i, int64_t j, const %s *restrict group) {", p.Name, rows, cols, p.Coordinates("int64_t "), t.sums.Type)
	p.Line("%s s[%d];", t.sums.Type, t.sums.count())
	t.each("s[x] = group[x]")
	p.Open("for (int64_t g = 1; g < %d; g++) {", p.Cut.Groups)
	p.Line("group += %d;", p.OpenArea())
	t.each("s[x] = s[x] + group[x]")
	p.Close()
	t.finish()
	p.Close()
}

// joinTask writes what a thread does with the sums of the groups of some macro-tiles.
func joinTask(p *Product) {
	t := p.sumType()
	unit.Task(p.Text, "", p.Name+"_join", "tapc_part")
	across(p)
	p.Line("const %s *const groups = (const %s *)((const char *)b[%d] + %d);", t, t, p.scratch, p.memory.Groups)
	p.Open("for (int64_t index = begin; index < end; index++) {")
	p.Line("int64_t rest = index;")
	p.coordinatesOf(p.Cut)
	p.Line("const %s *const group = groups + index * %d;", t, p.Cut.Groups*p.OpenArea())
	p.Open("for (int64_t j = j0; j < j1; j += %d) {", p.Cut.TileCols)
	p.Open("for (int64_t i = i0; i < i1; i += %d) {", p.Cut.TileRows)
	edges(p, func(r, c int64) string {
		return fmt.Sprintf("%s_join_%dx%d(b%s, i, j, %s);", p.Name, r, c, p.Coordinates(""), p.openTile("group"))
	})
	p.Close(4)
}
