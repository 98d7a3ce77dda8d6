// Package lowprecision writes products of bytes and of bfloat16 by the instructions that a processor has, which it is asked for when the kernel runs. It
// must not import backends/cpu. Read next: lowprecision.go, tile.go.
package lowprecision

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// Kernel writes a contraction of narrow numbers; see nest.LowPrecision. Both operands stand in panels of groups of four bytes, which
// panels.Blocked describes: packed when the program is built if they are constant, else before the product is computed.
//
// The sums of a tile are computed by one of several functions, for the instructions that a processor may have; which it has is
// asked when the kernel runs.
type Kernel struct {
	*product.Product
	n           *nest.LowPrecision
	tiles       []narrowTile
	left, right narrowOperand
}

// narrowOperand is a packed operand.
type narrowOperand struct {
	operand int
	along   point.Axis // rows or columns
	layout  panels.Layout
	fixed   bool          // it is packed when the program is built
	place   product.Place // of the panels: of a constant, or in scratch memory
	chunk   int64         // of rows or columns that are packed at once
	side    narrowSide
}

// narrowSide is what the code calls the two operands and the positions along them.
type narrowSide struct{ name, first, count string }

// Widened gives the kernel with the types that it is computed in, and its sum; ok says whether it can be written, if it is scheduled so.
func Widened(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.LowPrecision) (wide *schedule.Kernel, sum *scalar.Expr, ok bool) {
	aside := -1
	if found.Padded != nil {
		aside = found.Left
	}
	wide, sum, ok = vector.Widened(k, found.Sum)
	return wide, sum, ok && point.VectorBounds(wide, buffers, aside)
}

// New prepares a narrow contraction; nil if the kernel is not scheduled as one.
func New(e *unit.Unit, name string, k *schedule.Kernel, found *nest.LowPrecision) *Kernel {
	lanes := e.Target.Lanes(4)
	cut, ok := blocking.ReadCut(k, found.Contraction, int64(lanes))
	if found.Row.Inner() < 0 && !found.Unpacked {
		cut.Rows, cut.TileRows = tile.NarrowRows, 1
	}
	if !ok || !fits(cut, found) {
		return nil
	}
	wide, sum, ok := Widened(k, e.Buffers, found)
	if !ok {
		return nil
	}
	c := *found.Contraction
	c.Sum = sum
	p := &product.Product{Text: new(cnest.Text), E: e, Name: name, Seldom: nest.SeldomOf(wide), Blocking: &blocking.Blocking{Target: e.Target, K: wide, C: &c, D: sum.Type,
		N: lanes, Cut: cut, Sizes: blocking.Sizes{Length: found.Length(), Outer: 1, Inner: 1}}}
	for _, d := range c.Batch {
		p.Batch = append(p.Batch, point.Axis{Dim: d, Variable: fmt.Sprintf("g%d", len(p.Batch))})
	}
	n := &Kernel{Product: p, n: found}
	n.left = n.operandOf(c.Left, point.Axis{Dim: c.Row, Variable: "i"}, panels.Lines, narrowSide{"left", "row", "rows"})
	n.right = n.operandOf(c.Right, point.Axis{Dim: c.Col, Variable: "j"}, panels.Across, narrowSide{"right", "column", "columns"})
	if found.Unpacked {
		n.right.layout.Blocked.Run = found.Run()
	}
	n.placePanels()
	switch {
	case found.Transposed:
		p.PlaceWorkspace(0, p.TransposedBytes())
	case p.Split() && !found.Unpacked:
		p.PlaceWorkspace(0, 4*cut.Rows*cut.Cols)
	}
	n.tiles = n.variants()
	return n
}

// fits says whether pieces and tiles are such as the instructions for narrow numbers take.
func fits(c blocking.Cut, n *nest.LowPrecision) bool {
	if n.Unpacked {
		return c.TileCols%tile.NarrowPanel == 0 && c.Fold == n.Run()
	}
	if c.Fold < n.Length() && c.Fold*4/n.Group%tile.NarrowBlock != 0 {
		return false
	}
	return c.Rows%tile.NarrowRows == 0 && c.Cols%tile.NarrowCols == 0 && tile.NarrowRows%c.TileRows == 0 &&
		tile.NarrowCols%c.TileCols == 0 && c.TileRows <= tile.NarrowPanel
}

// operandOf lays an operand's panels out.
func (n *Kernel) operandOf(operand int, along point.Axis, form panels.BlockForm, side narrowSide) narrowOperand {
	buffer := n.E.Buffers[n.K.Operands[operand].Buffer]
	l := n.Layout(operand, along.Dim, tile.NarrowPanel)
	l.Size = buffer.Type().Size()
	l.Blocked = panels.Blocked{Form: form, From: buffer.Type()}
	return narrowOperand{operand: operand, along: along, layout: l, fixed: nest.Prepackable(buffer), chunk: along.Extent, side: side}
}

// placePanels finds a place for the panels of each operand, and cuts those that are packed into chunks if they are large.
func (n *Kernel) placePanels() {
	scratch := int64(0)
	if n.n.Unpacked {
		scratch = n.placeImage()
	}
	for _, o := range n.packed() {
		if o.fixed {
			o.place.Slot = n.E.Panels(n.K.Operands[o.operand].Buffer, o.layout)
			continue
		}
		groups, panel := panels.Extents(o.layout.Groups), o.panel()
		if most := blocking.MaxPacked / max(1, groups*panel) * tile.NarrowPanel / tile.NarrowCols * tile.NarrowCols; o.chunk > most { // whole tiles
			o.chunk = max(most, tile.NarrowCols)
		}
		o.place.At = scratch
		scratch = isa.Align(scratch+groups*o.panels(o.chunk)*panel, tile.PanelBytes)
	}
	if scratch == 0 {
		return
	}
	slot := n.E.NeedScratch(scratch)
	for _, o := range n.packed() {
		if !o.fixed {
			o.place.Slot = slot
		}
	}
}

// packed gives the operands that stand in panels.
func (n *Kernel) packed() []*narrowOperand {
	if n.n.Unpacked {
		return []*narrowOperand{&n.right}
	}
	return []*narrowOperand{&n.left, &n.right}
}

// panel is the bytes of one panel.
func (o *narrowOperand) panel() int64 {
	return o.layout.Blocked.PanelBytes(panels.Extents(o.layout.Reduced))
}

func (o *narrowOperand) blocks() int64 {
	return o.layout.Blocked.Blocks(panels.Extents(o.layout.Reduced))
}

func (o *narrowOperand) panels(count int64) int64 {
	return (count + tile.NarrowPanel - 1) / tile.NarrowPanel
}

// zero is what is subtracted from the bytes of the panels, in the signs that they have there: an expression, or nil, plus a number.
func (n *Kernel) zero(o *narrowOperand) (e *scalar.Expr, plus int) {
	e = n.n.LeftZero
	if o == &n.right {
		e = n.n.RightZero
	}
	switch {
	case o.layout.Blocked.Flip() == 0:
		return e, 0
	case o.layout.Blocked.Form == panels.Lines:
		return e, 128
	}
	return e, -128
}

// corrected says whether sums of the panels' bytes are not yet those of the operands'.
func (n *Kernel) corrected() bool {
	l, a := n.zero(&n.left)
	r, b := n.zero(&n.right)
	return l != nil || r != nil || a != 0 || b != 0
}

// needsSums says whether tiles need the sums of the bytes of an operand's panels.
func (n *Kernel) needsSums(o *narrowOperand) bool {
	moved := o == &n.right && slices.ContainsFunc(n.tiles, func(t narrowTile) bool { return t.Moves() })
	return o.layout.Blocked.IsBytes() && (n.corrected() || moved)
}

// Write writes the whole kernel.
func (n *Kernel) Write() string {
	n.Finish(n.C.Transposed)
	if n.corrected() {
		n.correct()
	}
	n.define("tapc_u32_any", "typedef uint32_t tapc_u32_any __attribute__((may_alias));\n")
	if n.n.Unpacked {
		return n.writeUnpacked()
	}
	n.functions()
	for _, o := range []*narrowOperand{&n.left, &n.right} {
		if !o.fixed {
			n.packTask(o)
		}
	}
	n.task()
	n.run()
	return n.String()
}

// correct writes the function that makes of sums of the panels' bytes those of the numbers they stand for:
// Σ(a-x)(b-y) = Σab - xΣb - yΣa + length·x·y, modulo 2^32 as int32 wraps.
func (n *Kernel) correct() {
	v, p := n.E.V, n.Product
	t, d := v.Type(scalar.UInt32, n.Product.N), v.Type(scalar.Int32, n.Product.N)
	p.Line("\n// What the sums of bytes are without their zero points; the sums of the row and of the columns are given.")
	p.Open("TAPC_FN %s %s_correct(void *const *b%s, int64_t i, int64_t j, %s sum, uint32_t row, const uint32_t *columns, int n) {",
		d, p.Name, p.Coordinates("int64_t "), d)
	at := &point.Point{V: v, K: p.K, Views: p.C.Views, Axes: p.Places(), N: p.N, Count: "n", Locals: map[int]vector.Value{}}
	at.Along = len(at.Axes) - 1
	n.zeroPointers(n.n.LeftZero, n.n.RightZero)
	p.Line("(void)b, %s(void)i, (void)j, (void)n, (void)row, (void)columns;", p.Voids())
	zero := func(o *narrowOperand) string {
		e, plus := n.zero(o)
		if e == nil {
			return fmt.Sprintf("(%s)(%d)", p.E.W.Type(scalar.UInt32), plus)
		}
		x := v.Expr(e, p.N, at)
		if x.Uniform {
			return fmt.Sprintf("((uint32_t)%s + (uint32_t)(%d))", x.Text, plus)
		}
		return fmt.Sprintf("((%s)%s + (uint32_t)(%d))", t, x.Text, plus)
	}
	isZero := func(o *narrowOperand) bool { e, plus := n.zero(o); return e == nil && plus == 0 }
	p.Line("%s r = (%s)sum;", t, t)
	if !isZero(&n.left) {
		p.Line("r -= *(const %su *)columns * %s;", t, zero(&n.left))
	}
	if !isZero(&n.right) {
		p.Line("r -= row * %s;", zero(&n.right))
	}
	if !isZero(&n.left) && !isZero(&n.right) {
		p.Line("r += %du * %s * %s;", uint32(p.Length), zero(&n.left), zero(&n.right))
	}
	p.Line("return (%s)r;", d)
	p.Close()
}

// threadTask writes what a thread does: some macro-tiles, each computed by what compute writes. Counts is a line that says how many there are.
func (n *Kernel) threadTask(counts string, compute func()) {
	p := n.Product
	unit.Task(p.Text, "", fmt.Sprintf("%s_task", p.Name), "tapc_narrow_part")
	p.Line("const int choice = %s_choice();", p.Name)
	for _, o := range []*narrowOperand{&n.left, &n.right} {
		in := " in panels"
		if n.n.Unpacked && o == &n.left {
			in = ""
		}
		p.Line("const uint8_t *%s = (const uint8_t *)b[%d] + %d; // %s%s", o.side.name, o.place.Slot, o.place.At, p.K.Operands[o.operand].Name, in)
	}
	p.DeclareWorkspace("_Alignas(64) ", "uint32_t", 4)
	units := func(statement string) {
		for i, t := range n.tiles {
			if t.Form == micro.MatrixUnit {
				n.guarded(t, func() { p.Line("if (choice == %d) %s;", i, statement) })
			}
		}
	}
	units("tapc_tile_config()")
	p.Line("%s", counts)
	p.Open("for (int64_t piece = begin; piece < end; piece++) {")
	p.Line("int64_t rest = piece;")
	compute()
	p.Close()
	units("tapc_tile_release()")
	p.Close()
}

// task writes what a thread does with operands in panels.
func (n *Kernel) task() {
	p, c := n.Product, n.Cut
	n.threadTask(fmt.Sprintf("const int64_t across = (part->columns + %d) / %d, down = (part->rows + %d) / %d;", c.Cols-1, c.Cols, c.Rows-1, c.Rows), func() {
		p.Line("const int64_t j0 = part->column + rest %% across * %d, last = part->column + part->columns, j1 = j0 + %d < last ? j0 + %d : last;", c.Cols, c.Cols, c.Cols)
		p.Line("rest /= across;")
		p.Line("const int64_t i0 = part->row + rest %% down * %d, low = part->row + part->rows, i1 = i0 + %d < low ? i0 + %d : low;", c.Rows, c.Rows, c.Rows)
		p.Line("rest /= down;")
		point.PlaceOf(p.Text, p.Batch)
		n.parts()
	})
}

// panelAt writes the address of the panel that a row or column is in.
func (n *Kernel) panelAt(o *narrowOperand) string {
	group := n.Group(o.operand)
	panel := fmt.Sprintf("(%s - part->%s) / %d", o.along.Variable, o.side.first, tile.NarrowPanel)
	if group != "" {
		panel = fmt.Sprintf("((%s) * ((part->%s + %d) / %d) + %s)", group, o.side.count, tile.NarrowPanel-1, tile.NarrowPanel, panel)
	}
	return fmt.Sprintf("%s + %s * %s", o.side.name, panel, point.Number(o.panel()))
}

// parts writes the loops over the tiles of a macro-tile, for each part of the reduction that runs at once.
func (n *Kernel) parts() {
	w, a := n.panelAt(&n.right), n.panelAt(&n.left)
	if !n.Split() {
		n.pieceTiles(w, a)
		return
	}
	blocks, step := n.left.blocks(), n.left.layout.Blocked.Blocks(n.Cut.Fold)
	n.Open("for (int64_t f = 0; f < %d; f += %d) {", blocks, step)
	n.Line("const int64_t fn = %d - f < %d ? %d - f : %d;", blocks, step, blocks, step)
	n.pieceTiles(w, a)
	n.Close()
}

// pieceTiles writes the loops over the tiles of a macro-tile, whose columns and rows are at w and a.
func (n *Kernel) pieceTiles(w, a string) {
	for i, t := range n.tiles {
		n.guarded(t, func() {
			n.Open("if (choice == %d) {", i)
			n.Open("for (int64_t j = j0; j < j1; j += %d) {", t.cols)
			n.Line("const uint8_t *w = %s;", w)
			n.Open("for (int64_t i = i0; i < i1; i += %d) {", t.rows)
			n.Line("const uint8_t *a = %s;", a)
			t.call(n)
			n.Close(3)
		})
	}
}

// guarded writes what needs a compiler that knows a tile's instructions.
func (n *Kernel) guarded(t narrowTile, write func()) {
	if t.Known() != "" {
		n.Line("#if %s", t.Known())
	}
	write()
	if t.Known() != "" {
		n.Line("#endif")
	}
}

// run writes the function that carries out the kernel.
func (n *Kernel) run() {
	p := n.Product
	n.defineFile("part.c")
	p.Line("")
	p.E.Open(p.Text, p.Name)
	rows, cols := p.C.Row.Extent, p.C.Col.Extent
	p.Open("for (int64_t j = 0; j < %d; j += %d) {", cols, n.right.chunk)
	p.Line("tapc_narrow_part part = {b, 0, 0, j, %d - j < %d ? %d - j : %d};", cols, n.right.chunk, cols, n.right.chunk)
	if !n.right.fixed {
		n.pack(&n.right)
	}
	p.Open("for (int64_t i = 0; i < %d; i += %d) {", rows, n.left.chunk)
	p.Line("part.row = i, part.rows = %d - i < %d ? %d - i : %d;", rows, n.left.chunk, rows, n.left.chunk)
	if !n.left.fixed {
		n.pack(&n.left)
	}
	batch := int64(1)
	for _, a := range p.Batch {
		batch *= a.Extent
	}
	p.Parallel(fmt.Sprintf("%s * ((part.rows + %d) / %d) * ((part.columns + %d) / %d)", point.Number(batch), p.Cut.Rows-1, p.Cut.Rows, p.Cut.Cols-1, p.Cut.Cols), "task", p.EachPiece(unit.NarrowRate))
	p.Close(3)
}
