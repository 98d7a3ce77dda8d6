package product

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// New prepares a contraction that is carried out as a config says, which has been checked.
func New(e *unit.Unit, name string, k *schedule.Kernel, c *nest.Contraction, d blocking.Decided) *Product {
	p := Of(e, name, k, c, d)
	if p.Pack.Right == tile.Prepacked {
		p.Slot = e.Panels(k.Operands[c.Right].Buffer, p.Layout(c.Right, c.Col, p.Panel))
	}
	p.Reserve(p.Memory())
	switch {
	case p.Pack.Left == tile.Prepacked:
		p.left.Slot = e.Panels(k.Operands[c.Left].Buffer, p.Layout(c.Left, c.Row, tile.RowPanel))
	case p.Pack.Left == tile.UpFront || p.C.Padded != nil:
		p.left = Place{p.scratch, p.memory.Rows}
	}
	if p.Pack.Right == tile.UpFront {
		p.Slot = p.scratch
	}
	return p
}

// Fits says whether a contraction can be written, if it is scheduled as one: there is a micro-kernel for its sums, and there are vectors of all
// that is done with them.
func Fits(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, c *nest.Contraction) bool {
	aside := -1
	switch {
	case c.Window != nil:
		aside = c.Right
	case c.Padded != nil:
		aside = c.Left
	}
	_, known := micro.Of(c.Sum.Type)
	return known && point.VectorKernel(k, buffers, aside)
}

// Of prepares a contraction, all but where it reads its operands.
func Of(e *unit.Unit, name string, k *schedule.Kernel, c *nest.Contraction, d blocking.Decided) *Product {
	return &Product{Text: new(cnest.Text), E: e, Name: name, Blocking: blocking.New(e.Target, k, c, d)}
}

// Reserve finds the addresses of the workspaces that the product has.
func (p *Product) Reserve(m blocking.Memory) {
	p.memory = m
	if m.Device > 0 {
		p.scratch = p.E.Scratch(m.Device)
	}
	if m.Private > 0 {
		p.thread = p.E.Private(m.Private)
	}
}

// Write writes the whole kernel.
func (p *Product) Write() string {
	p.Functions()
	p.task()
	if p.Cut.Groups > 0 {
		joinTask(p)
	}
	p.run()
	return p.String()
}

// Functions writes what tasks call: the multiplication of tiles, and the packing of operands.
func (p *Product) Functions() {
	p.Finish(p.C.Transposed)
	EachSize(p.Cut.TileRows, p.C.Row.Extent, func(rows int64) {
		EachSize(p.Cut.TileCols, p.C.Col.Extent, func(cols int64) {
			p.TileFunction(rows, cols)
			if p.Cut.Groups > 0 {
				joinFunction(p, rows, cols)
			}
		})
	})
	switch {
	case p.Pack.Right != tile.UpFront && p.Pack.Right != tile.PerMacroTile:
	case p.C.Window != nil:
		windowFunction(p)
	default:
		columnsOf(p).function()
	}
	if p.Pack.Right == tile.UpFront {
		columnsOf(p).task()
	}
	switch {
	case p.Pack.Left == tile.UpFront:
		rowsOf(p).task()
	case p.C.Padded != nil:
		padTask(p)
	case p.Pack.Left == tile.PerMacroTile:
		rowsOf(p).function()
	}
}

// Finish writes the function of the kernel's statements on a vector of sums: of columns, or of rows.
func (p *Product) Finish(ofRows bool) {
	v := p.E.V
	at := &point.Point{V: v, K: p.K, Views: p.C.Views, Axes: p.Places(), N: p.N, Count: "n", Locals: map[int]vector.Value{},
		Sums: map[*scalar.Expr]vector.Value{p.C.Sum: {Text: "sum", Type: p.D}}}
	at.Along = len(at.Axes) - 1
	if ofRows {
		at.Along--
	}
	if p.Seldom != nil {
		seldomFunctions(p, at.Axes, at.Along)
	}
	Epilogue(p.Text, p.E, at, p.Name+"_finish", p.aside()...)
	first := 0
	if s := p.Seldom; s != nil {
		at.Statements(p.Text, 0, s.Statement)
		at.Locals[s.Statement] = seldomValue(at, p.Text, p.Name, p.Coordinates(""), s)
		first = s.Statement + 1
	}
	at.Statements(p.Text, first, len(p.K.Statements))
	p.Close()
}

// Epilogue opens the function of a kernel's statements on a vector of sums, which an expression gives: the first of those in which operands may
// be read aside from there.
func Epilogue(t *cnest.Text, e *unit.Unit, at *point.Point, name string, aside ...*scalar.Expr) {
	t.Open("\nTAPC_FN void %s(void *const *b%s, %s sum, int n) {", name, point.Coordinates(at.Axes, "int64_t "), at.V.Type(at.Sums[aside[0]].Type, at.N))
	var used []int
	for i, o := range at.K.Operands {
		if o.Mode == schedule.Write || nest.ReadsBeside(at.K, i, aside...) {
			used = append(used, i)
		}
	}
	point.Pointers(t, e, at.K, used)
	t.Line("%s(void)n;", point.Voids(at.Axes))
}

// task writes what a thread does: some pieces of the results.
func (p *Product) task() {
	c := p.Cut
	unit.Task(p.Text, "", fmt.Sprintf("%s_task", p.Name), "tapc_part")
	switch left := p.K.Operands[p.C.Left]; {
	case p.Pack.Paneled():
		p.Line("const %s *left = (const %s *)((const char *)b[%d] + %d); // %s in panels of rows", p.E.W.Stored(p.D), p.E.W.Stored(p.D), p.left.Slot, p.left.At, left.Name)
	case p.C.Padded != nil:
		p.E.Raw(left.Buffer)
		p.Line("const %s *left = (const %s *)((const char *)b[%d] + %d); // %s with zeros around", p.E.W.Stored(p.D), p.E.W.Stored(p.D), p.left.Slot, p.left.At, left.Name)
	default:
		p.E.Raw(left.Buffer)
		p.Line("const %s *left = b[%d]; // %s", p.E.W.Stored(p.D), p.E.Slot(left.Buffer), left.Name)
	}
	if p.Pack.Right == tile.Unpacked {
		p.E.Raw(p.K.Operands[p.C.Right].Buffer)
		p.Slot = p.E.Slot(p.K.Operands[p.C.Right].Buffer)
	}
	if p.Pack.Right != tile.PerMacroTile {
		p.Line("const %s *right = b[%d]; // %s%s", p.E.W.Stored(p.D), p.Slot, p.K.Operands[p.C.Right].Name, map[tile.Pack]string{tile.UpFront: " in panels", tile.Prepacked: " in panels"}[p.Pack.Right])
	}
	if p.C.Transposed {
		p.DeclareWorkspace("_Alignas(64) ", p.element(), int64(p.D.Wide().Size()))
	} else {
		p.DeclareWorkspace("", p.sumType(), int64(p.N)*int64(p.D.Wide().Size()))
	}
	if p.Pack.Left == tile.PerMacroTile {
		p.Line("%s *const rows = (%s *)own; // %s in panels of %d rows", p.E.W.Stored(p.D), p.E.W.Stored(p.D), p.K.Operands[p.C.Left].Name, p.Cut.TileRows)
	}
	across(p)
	if p.Pack.Right == tile.PerMacroTile {
		p.Line("%s *const panels = (%s *)(own + %d);", p.E.W.Stored(p.D), p.E.W.Stored(p.D), p.memory.Columns)
	}
	if p.Cut.Groups > 0 {
		groupOf(p)
	} else {
		p.Open("for (int64_t piece = begin; piece < end; piece++) {")
		p.Line("int64_t rest = piece;")
	}
	p.coordinatesOf(c)
	if p.Pack.Right == tile.PerMacroTile {
		p.Line("const %s *right = panels;", p.E.W.Stored(p.D))
	}
	if p.Pack.Right == tile.PerMacroTile && !p.Blockwise() {
		columnsOf(p).piece("0", fmt.Sprint(p.InnerFold()))
	}
	p.Tiles()
	p.Close(2)
}

// across writes how many macro-tiles there are side by side, and where the last ends.
func across(p *Product) {
	if p.Pack.Right == tile.UpFront {
		p.Line("const int64_t across = (part->columns + %d) / %d, last = part->column + part->columns;", p.Cut.Cols-1, p.Cut.Cols)
		return
	}
	p.Line("enum { across = %d, last = %d };", (p.C.Col.Extent+p.Cut.Cols-1)/p.Cut.Cols, p.C.Col.Extent)
}

// coordinatesOf writes which columns, rows and place of the batch a piece is.
func (p *Product) coordinatesOf(c blocking.Cut) {
	columns := func() {
		p.Line("const int64_t j0 = part->column + rest %% across * %d, j1 = j0 + %d < last ? j0 + %d : last;", c.Cols, c.Cols, c.Cols)
		p.Line("rest /= across;")
	}
	if !p.Cut.ColumnsLast {
		columns()
	}
	down := (p.C.Row.Extent + c.Rows - 1) / c.Rows
	p.Line("const int64_t i0 = rest %% %d * %d, i1 = i0 + %d < %d ? i0 + %d : %d;", down, c.Rows, c.Rows, p.C.Row.Extent, c.Rows, p.C.Row.Extent)
	p.Line("rest /= %d;", down)
	for i := len(p.Batch) - 1; i >= 0; i-- {
		a := p.Batch[i]
		if i == 0 && !p.Cut.ColumnsLast {
			first := ""
			if p.Outer > 1 {
				first = "part->group + "
			}
			p.Line("const int64_t %s = %srest;", a.Variable, first)
			continue
		}
		if p.IsLastOuter(i) {
			p.Line("rest += part->group;")
		}
		p.Line("const int64_t %s = rest %% %d;", a.Variable, a.Extent)
		p.Line("rest /= %d;", a.Extent)
	}
	if p.Cut.ColumnsLast {
		columns()
	}
}

// run writes the function that carries out the kernel.
func (p *Product) run() {
	p.Line("")
	p.E.Open(p.Text, p.Name)
	switch {
	case p.Pack.Left == tile.UpFront:
		p.before(rowsOf(p).tasks(), "rows", p.Layout(p.C.Left, p.C.Row, tile.RowPanel).Bytes())
	case p.C.Padded != nil:
		p.before(p.PadRows(), "pad", p.C.Padded.Elements()*int64(p.D.Size()))
	}
	pieces := (p.C.Row.Extent + p.Cut.Rows - 1) / p.Cut.Rows * p.Inner
	if p.Pack.Right != tile.UpFront {
		p.Line("tapc_part part = {b, 0, 0, %d};", p.C.Col.Extent)
		carryOut(p, fmt.Sprint(p.Indices()))
		p.Close()
		return
	}
	groups, columns := p.Chunk()
	p.Open("for (int64_t g = 0; g < %d; g += %d) {", p.Outer, groups)
	p.Line("const int64_t groups = %d - g < %d ? %d - g : %d;", p.Outer, groups, p.Outer, groups)
	p.Open("for (int64_t j = 0; j < %d; j += %d) {", p.C.Col.Extent, columns)
	p.Line("tapc_part part = {b, g, j, %d - j < %d ? %d - j : %d};", p.C.Col.Extent, columns, p.C.Col.Extent, columns)
	p.Parallel(fmt.Sprintf("groups * ((part.columns + %d) / %d)", p.Panel-1, p.Panel), "pack", unit.Each(float64(p.Length*tile.PanelBytes)/unit.PackRate, 1))
	carryOut(p, fmt.Sprintf("groups * %d * ((part.columns + %d) / %d)", pieces, p.Cut.Cols-1, p.Cut.Cols))
	p.Close(3)
}

// carryOut writes the regions that compute some macro-tiles.
func carryOut(p *Product, tiles string) {
	n := p.Cut.Groups
	if n == 0 {
		p.Parallel(tiles, "task", p.EachPiece(unit.TileRate))
		return
	}
	p.Parallel(fmt.Sprintf("%s * %d", tiles, n), "task", unit.Each(p.E.Nanoseconds(p.K, unit.TileRate*float64(p.N)), p.Indices()*n))
	p.Parallel(tiles, "join", unit.Each(float64(blocking.GroupBytes(p.Blocking, p.Cut))/unit.PackRate, p.Indices()))
}

// before writes what threads do before anything is packed or multiplied: they fill some bytes.
func (p *Product) before(n int64, function string, bytes int64) {
	p.Open("{")
	p.Line("tapc_part part = {b, 0, 0, 0};")
	p.Parallel(fmt.Sprint(n), function, unit.Each(float64(bytes)/unit.PackRate, n))
	p.Close()
}
