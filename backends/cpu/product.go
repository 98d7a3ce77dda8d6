package cpu

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

const panelBytes = tile.PanelBytes

// maxPacked bounds the scratch memory that a right operand is packed into at once, in bytes.
const maxPacked = 32 << 20

// product writes the code of a contraction. Its right operand stands in panels of a few columns, each with all of the fold, so
// that the innermost loop reads it in order; its left operand is read where it stands.
//
// The sums of a tile of rows and columns stay in registers. The function of a tile multiplies and adds; the function finish
// carries out the kernel's statements on a vector of sums.
type product struct {
	*cnest.Text
	e      *unit.Unit
	k      *schedule.Kernel
	c      *nest.Contraction
	pack   tile.Packing // where the factors are read
	number int
	d      scalar.DType // of the sums
	n      int          // lanes of a vector
	cut    cut
	seldom *nest.Seldom // what some results are computed from besides, or nil
	sizes
	storage
}

// sizes are the extents of a contraction's dimensions.
type sizes struct {
	panel  int64 // columns of a panel
	length int64 // of the fold
	batch  []point.Axis
	outer  int64 // how many panels' worth of batch there are: extents of the batch that the right operand follows
	inner  int64 // extents of the rest of the batch
}

// storage is where the operands of a contraction are read.
type storage struct {
	form rightForm
	slot int   // of the panels
	rows place // of the left operand in panels of rows, if it is
	pad  place // of the padded copy of the left operand
	own
	comes coming // that tiles fetch
}

// own is the memory that a thread has for the piece it is at, in bytes: panels of rows, of columns, and behind them unfinished sums.
type own struct {
	ownSlot  int
	ownBytes int64
	panelsAt int64
	openAt   int64
	open     int64 // of the sums, which are on the stack if they are few
}

// place is a place in a slot's memory, in bytes.
type place struct {
	slot int
	at   int64
}

// rightForm is where the right operand is read.
type rightForm uint8

const (
	direct   rightForm = iota // where it stands
	packed                    // from panels that the program packs before it multiplies
	local                     // from panels that a thread packs before each piece, as no other piece needs them
	prepared                  // from panels that were packed when the program was built
)

// cut holds what the schedule says of rows and columns.
type cut struct {
	rows, cols         int64 // of a piece: what a thread computes at a time
	tileRows, tileCols int64 // of a register tile
	fold, block        int64 // values of the innermost dimension of the fold at once, and in a partial sum, which may be longer
	thread             bool
}

// readCut reads the levels of a contraction, if they are of the form that passes/tile gives them.
func readCut(k *schedule.Kernel, c *nest.Contraction, lanes int64) (cut, bool) {
	x := cut{rows: 1, tileRows: 1, fold: 1, block: 1}
	if l := c.Row.Inner(); l >= 0 {
		levels := k.Loops[l].Levels
		if len(levels) != 3 || levels[2].Bind != schedule.Unrolled || levels[0].Tile%levels[1].Tile != 0 {
			return x, false
		}
		x.rows, x.tileRows = levels[0].Tile, levels[1].Tile
		x.thread = levels[0].Bind == schedule.Thread
	}
	levels := k.Loops[c.Col.Inner()].Levels
	if len(levels) != 4 || levels[3].Bind != schedule.Vector || levels[2].Tile != lanes || levels[1].Tile%lanes != 0 ||
		levels[0].Tile%levels[1].Tile != 0 {
		return x, false
	}
	x.cols, x.tileCols = levels[0].Tile, levels[1].Tile
	x.thread = x.thread || levels[0].Bind == schedule.Thread
	if x.tileRows > 64 || x.tileCols > 32*lanes {
		return x, false
	}
	if n := len(c.Reduction); n > 0 {
		levels, extent := k.Loops[c.Reduction[n-1].Inner()].Levels, c.Reduction[n-1].Extent
		if len(levels) != 3 || len(c.Reduction) > 1 && levels[0].Tile < extent {
			return x, false
		}
		x.fold, x.block = min(extent, levels[0].Tile), min(extent, levels[1].Tile)
		if c.Sum.Type.IsFloat() && k.Sums > 0 {
			x.block = min(extent, k.Sums)
		}
		return x, x.ends(extent)
	}
	return x, true
}

// span is how many values of the fold have one partial sum of partial sums.
func (c cut) span() int64 { return c.block * tile.SumBlock }

// ends says whether the parts of a fold that run at once end where partial sums end or, if they are shorter, whole parts make one.
func (c cut) ends(extent int64) bool {
	fit := func(part, of int64) bool { return of >= extent || of%part == 0 }
	return c.fold >= extent || (c.fold%c.block == 0 || c.fold < c.block && fit(c.fold, c.block)) && fit(c.fold, c.span())
}

// newProduct prepares a contraction; nil if the kernel is not scheduled as one.
func newProduct(e *unit.Unit, number int, k *schedule.Kernel, c *nest.Contraction) *product {
	p := productOf(e, number, k, c, tile.PackingOf(c))
	if p != nil {
		p.chooseForm()
		p.placePiece()
		p.comes = p.whatComes()
		if p.pack.Left == tile.Prepacked {
			p.rows.slot = e.Panels(k.Operands[c.Left].Buffer, p.layout(c.Left, c.Row, tile.RowPanel))
		}
	}
	return p
}

// productOf prepares a contraction that is recognised, all but where it reads its operands; nil if it is not scheduled as one.
func productOf(e *unit.Unit, number int, k *schedule.Kernel, c *nest.Contraction, pack tile.Packing) *product {
	aside := -1
	switch {
	case c.Window != nil:
		aside = c.Right
	case c.Padded != nil:
		aside = c.Left
	}
	if _, known := microkernelOf(c.Sum.Type); !known || !point.VectorKernel(k, e.Buffers, aside) {
		return nil
	}
	p := &product{Text: new(cnest.Text), e: e, k: k, c: c, pack: pack, number: number, d: c.Sum.Type, n: e.Target.Lanes(c.Sum.Type.Size()),
		sizes: sizes{length: 1, outer: 1, inner: 1}}
	var ok bool
	if p.cut, ok = readCut(k, c, int64(p.n)); !ok {
		return nil
	}
	p.panel = panelBytes / int64(p.d.Size())
	if p.cut.tileCols%p.panel != 0 && p.panel%p.cut.tileCols != 0 {
		return nil
	}
	for _, d := range c.Reduction {
		p.length *= d.Extent
	}
	p.sortBatch()
	if p.pack.Left == tile.PerMacroTile && p.cut.tileRows > int64(p.n) {
		p.pack.Left = tile.Unpacked
	}
	return p
}

// sortBatch puts the dimensions that the right operand follows first, and names all.
func (p *product) sortBatch() {
	right := p.c.Views[p.c.Right]
	for _, follows := range []bool{true, false} {
		for _, d := range p.c.Batch {
			if (d.Step(right) != 0) != follows {
				continue
			}
			p.batch = append(p.batch, point.Axis{Dim: d, Variable: fmt.Sprintf("g%d", len(p.batch))})
			if follows {
				p.outer *= d.Extent
			} else {
				p.inner *= d.Extent
			}
		}
	}
}

// chooseForm packs the right operand if it is used often enough to pay, or does not stand in columns.
func (p *product) chooseForm() {
	buffer := p.k.Operands[p.c.Right].Buffer
	scratch := int64(0)
	switch {
	case p.pack.Right == tile.Prepacked:
		p.form = prepared
		p.slot = p.e.Panels(buffer, p.layout(p.c.Right, p.c.Col, p.panel))
	case p.pack.Right == tile.Unpacked:
		p.form = direct
	case p.pack.Left != tile.PerMacroTile && p.cut.rows >= p.c.Row.Extent && p.inner == 1 && p.cut.cols%p.panel == 0: // pieces are whole panels
		p.form = local
	default:
		p.form = packed
		groups, columns := p.chunk()
		scratch = groups * p.panelsOf(columns) * p.length * panelBytes
	}
	if scratch > 0 {
		p.slot = p.e.NeedScratch(scratch)
	}
	at := isa.Align(scratch, panelBytes)
	switch {
	case p.pack.Left == tile.UpFront:
		p.rows = place{p.e.NeedScratch(at + p.layout(p.c.Left, p.c.Row, tile.RowPanel).Bytes()), at}
	case p.c.Padded != nil:
		p.pad = place{p.e.NeedScratch(at + p.c.Padded.Elements()*int64(p.d.Size())), at}
	}
}

// pieces is how many pieces there are for one place of the batch.
func (p *product) pieces() int64 {
	return (p.c.Row.Extent + p.cut.rows - 1) / p.cut.rows * ((p.c.Col.Extent + p.cut.cols - 1) / p.cut.cols)
}

// share is the bytes of the panels of one piece.
func (p *product) share() int64 { return p.panelsOf(p.cut.cols) * p.deep() * panelBytes }

// deep is how many values of the fold a panel holds: all, or those that run at once if a thread packs them just before.
func (p *product) deep() int64 {
	if p.blockwise() {
		return p.cut.fold
	}
	return p.length
}

// blockwise says whether a thread packs the columns of its piece for each part of the fold anew.
func (p *product) blockwise() bool { return p.form == local && p.split() && p.partly() }

func (p *product) panelsOf(columns int64) int64 { return (columns + p.panel - 1) / p.panel }

// chunk gives how many groups of panels, and how many columns of each, are packed at once.
func (p *product) chunk() (groups, columns int64) {
	columns = p.c.Col.Extent
	one := p.length * panelBytes // bytes of a panel
	if whole := p.panelsOf(columns) * one; whole <= maxPacked {
		return max(1, min(p.outer, maxPacked/max(1, whole))), columns
	}
	step := max(p.panel, p.cut.tileCols)
	return 1, min(columns, max(1, maxPacked/one*p.panel/step)*step)
}

// layout says how the panels of an operand are made from its elements: some rows or columns wide.
func (p *product) layout(operand int, along nest.Dim, width int64) panels.Layout {
	v := p.c.Views[operand]
	l := panels.Layout{Size: p.d.Size(), Width: width, Base: point.Start(p.k, v), Columns: along.Extent, Step: along.Step(v)}
	for _, a := range p.batch {
		if s := a.Step(v); s != 0 {
			l.Groups = append(l.Groups, panels.Stride{Extent: a.Extent, Step: s})
		}
	}
	for _, d := range p.c.Reduction {
		for _, loop := range d.Loops {
			l.Reduced = append(l.Reduced, panels.Stride{Extent: p.k.Loops[loop].Extent(), Step: v.Steps[loop]})
		}
	}
	return l
}

// write writes the whole kernel.
func (p *product) write() string {
	p.functions()
	p.task()
	p.run()
	return p.String()
}

// functions writes what tasks call: the multiplication of tiles, and the packing of operands.
func (p *product) functions() {
	p.finish(p.c.Transposed)
	rows, cols := p.cut.tileRows, p.cut.tileCols
	for _, r := range []int64{rows, p.c.Row.Extent % rows} {
		for _, c := range []int64{cols, p.c.Col.Extent % cols} {
			if r > 0 && c > 0 && r <= p.c.Row.Extent && c <= p.c.Col.Extent {
				p.tileFunction(r, c)
			}
		}
	}
	switch {
	case p.form != packed && p.form != local:
	case p.c.Window != nil:
		p.windowFunction()
	default:
		p.panelFunction()
	}
	if p.form == packed {
		p.packTask()
	}
	switch {
	case p.pack.Left == tile.UpFront:
		p.rowTask()
	case p.c.Padded != nil:
		p.padTask()
	case p.pack.Left == tile.PerMacroTile:
		p.leftFunction()
	}
}

// places gives the axes of the kernel's results.
func (p *product) places() []point.Axis {
	return append(slices.Clone(p.batch), point.Axis{Dim: p.c.Row, Variable: "i"}, point.Axis{Dim: p.c.Col, Variable: "j"})
}

// coordinates lists the batch variables as parameters or arguments.
func (p *product) coordinates(prefix string) string {
	text := ""
	for _, a := range p.batch {
		text += ", " + prefix + a.Variable
	}
	return text
}

// finish writes the function of the kernel's statements on a vector of sums: of columns, or of rows.
func (p *product) finish(ofRows bool) {
	v := p.e.V
	at := &point.Point{V: v, K: p.k, Views: p.c.Views, Axes: p.places(), N: p.n, Count: "n", Locals: map[int]vector.Value{},
		Sums: map[*scalar.Expr]vector.Value{p.c.Sum: {Text: "sum", Type: p.d}}}
	at.Along = len(at.Axes) - 1
	if ofRows {
		at.Along--
	}
	if p.seldom != nil {
		p.seldomFunctions(p.seldom, at.Axes, at.Along)
	}
	p.Line("")
	p.Open("TAPC_FN void k%d_finish(void *const *b%s, int64_t i, int64_t j, %s sum, int n) {", p.number, p.coordinates("int64_t "), v.Type(p.d, p.n))
	used := []int{}
	for i, o := range p.k.Operands {
		if o.Mode == schedule.Write || p.finishReads(i) {
			used = append(used, i)
		}
	}
	point.Pointers(p.Text, p.e, p.k, used)
	p.Line("%s(void)i, (void)j, (void)n;", p.voids())
	all := make([]int, len(p.k.Statements))
	for i := range all {
		all[i] = i
	}
	if s := p.seldom; s != nil {
		at.Statements(p.Text, all[:s.Statement])
		at.Locals[s.Statement] = seldomValue(at, p.Text, p.number, p.coordinates(""), s)
		all = all[s.Statement+1:]
	}
	at.Statements(p.Text, all)
	p.Close()
}

// finishReads says whether an operand is read outside the sum.
func (p *product) finishReads(operand int) bool {
	if p.seldom != nil {
		return readsBeside(p.k, operand, p.c.Sum, p.seldom.Choice.Args[2])
	}
	return readsBeside(p.k, operand, p.c.Sum)
}

// readsBeside says whether a kernel reads an operand outside some of its expressions.
func readsBeside(k *schedule.Kernel, operand int, aside ...*scalar.Expr) bool {
	found := false
	for _, s := range k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			found = found || e.Op == scalar.Load && e.Ref == operand
			return !slices.Contains(aside, e)
		})
	}
	return found
}

// voids marks batch variables as used.
func (p *product) voids() string {
	text := ""
	for _, a := range p.batch {
		text += "(void)" + a.Variable + ", "
	}
	return text
}

// task writes what a thread does: some pieces of the results.
func (p *product) task() {
	c := p.cut
	p.Line("")
	p.Open("static void k%d_task(void *ctx, int64_t begin, int64_t end, int worker) {", p.number)
	p.Line("const tapc_part *part = ctx;")
	p.Line("void *const *b = part->b;")
	p.Line("(void)worker;")
	switch left := p.k.Operands[p.c.Left]; {
	case p.pack.Paneled():
		p.Line("const %s *left = (const %s *)((const char *)b[%d] + %d); // %s in panels of rows", p.e.W.Stored(p.d), p.e.W.Stored(p.d), p.rows.slot, p.rows.at, left.Name)
	case p.c.Padded != nil:
		p.e.Raw(left.Buffer)
		p.Line("const %s *left = (const %s *)((const char *)b[%d] + %d); // %s with zeros around", p.e.W.Stored(p.d), p.e.W.Stored(p.d), p.pad.slot, p.pad.at, left.Name)
	default:
		p.e.Raw(left.Buffer)
		p.Line("const %s *left = b[%d]; // %s", p.e.W.Stored(p.d), p.e.Slot(left.Buffer), left.Name)
	}
	if p.form == direct {
		p.e.Raw(p.k.Operands[p.c.Right].Buffer)
		p.slot = p.e.Slot(p.k.Operands[p.c.Right].Buffer)
	}
	if p.form != local {
		p.Line("const %s *right = b[%d]; // %s%s", p.e.W.Stored(p.d), p.slot, p.k.Operands[p.c.Right].Name, map[rightForm]string{packed: " in panels", prepared: " in panels"}[p.form])
	}
	if p.c.Transposed {
		p.declareOwn("_Alignas(64) ", p.element(), int64(p.d.Wide().Size()))
	} else {
		p.declareOwn("", p.e.V.Type(p.vectorType(), p.n), int64(p.n)*int64(p.d.Wide().Size()))
	}
	if p.pack.Left == tile.PerMacroTile {
		p.Line("%s *const rows = (%s *)own; // %s in panels of %d rows", p.e.W.Stored(p.d), p.e.W.Stored(p.d), p.k.Operands[p.c.Left].Name, p.cut.tileRows)
	}
	if p.form == packed {
		p.Line("const int64_t across = (part->columns + %d) / %d, last = part->column + part->columns;", c.cols-1, c.cols)
	} else {
		p.Line("enum { across = %d, last = %d };", (p.c.Col.Extent+c.cols-1)/c.cols, p.c.Col.Extent)
	}
	if p.form == local {
		p.Line("%s *const panels = (%s *)(own + %d);", p.e.W.Stored(p.d), p.e.W.Stored(p.d), p.panelsAt)
	}
	p.Open("for (int64_t piece = begin; piece < end; piece++) {")
	p.Line("int64_t rest = piece;")
	p.coordinatesOf(c)
	if p.form == local {
		p.Line("const %s *right = panels;", p.e.W.Stored(p.d))
	}
	if p.form == local && !p.blockwise() {
		p.packPiece("0", fmt.Sprint(p.innerFold()))
	}
	p.tiles()
	p.Close()
	p.Close()
}

// packPiece writes the packing of a piece's columns, from one value of the innermost fold to another. It goes over some rows at a
// time, as panels next to each other are filled from the same lines of memory.
func (p *product) packPiece(from, to string) {
	pack := func(from, to, at string) {
		p.Line("for (int64_t j = j0; j < j1; j += %d) k%d_panel(b%s, j%s, panels + (j - j0) * %s%s);", p.panel, p.number, p.coordinates(""),
			p.foldRange(from, to), point.Number(p.deep()), at)
	}
	if !p.partly() {
		pack("", "", "")
		return
	}
	p.Open("for (int64_t from = %s; from < %s; from += %d) {", from, to, packRows)
	p.Line("const int64_t to = from + %d < %s ? from + %d : %s;", packRows, to, packRows, to)
	at := fmt.Sprintf(" + from * %d", p.panel)
	if from != "0" {
		at = fmt.Sprintf(" + (from - %s) * %d", from, p.panel)
	}
	pack("from", "to", at)
	p.Close()
}

// coordinatesOf writes which columns, rows and place of the batch a piece is.
func (p *product) coordinatesOf(c cut) {
	columns := func() {
		p.Line("const int64_t j0 = part->column + rest %% across * %d, j1 = j0 + %d < last ? j0 + %d : last;", c.cols, c.cols, c.cols)
		p.Line("rest /= across;")
	}
	if !p.columnsLast() {
		columns()
	}
	down := (p.c.Row.Extent + c.rows - 1) / c.rows
	p.Line("const int64_t i0 = rest %% %d * %d, i1 = i0 + %d < %d ? i0 + %d : %d;", down, c.rows, c.rows, p.c.Row.Extent, c.rows, p.c.Row.Extent)
	p.Line("rest /= %d;", down)
	for i := len(p.batch) - 1; i >= 0; i-- {
		a := p.batch[i]
		if i == 0 && !p.columnsLast() {
			first := ""
			if p.outer > 1 {
				first = "part->group + "
			}
			p.Line("const int64_t %s = %srest;", a.Variable, first)
			continue
		}
		if p.isLastOuter(i) {
			p.Line("rest += part->group;")
		}
		p.Line("const int64_t %s = rest %% %d;", a.Variable, a.Extent)
		p.Line("rest /= %d;", a.Extent)
	}
	if p.columnsLast() {
		columns()
	}
}

// columnsLast says whether a thread goes over the rows and the batch for some columns before it goes on to the next: if the right
// operand is the larger, each part of it is then read once.
func (p *product) columnsLast() bool {
	left := p.c.Row.Extent * p.inner * p.length
	several := p.inner > 1 || p.cut.rows < p.c.Row.Extent
	return p.form == prepared && p.pack.Left != tile.PerMacroTile && p.outer == 1 && several && p.c.Col.Extent*p.length > min(left, keepLeft/int64(p.d.Size()))
}

// keepLeft is about how many bytes of the left operand stay in the second cache beside the columns at work.
const keepLeft = 512 << 10

// isLastOuter says whether batch axis i is the innermost of several that the right operand follows: groups of panels count
// from there.
func (p *product) isLastOuter(i int) bool {
	v := p.c.Views[p.c.Right]
	return p.batch[i].Step(v) != 0 && (i+1 == len(p.batch) || p.batch[i+1].Step(v) == 0)
}

// split says whether the fold runs in several parts, with the unfinished sums of a piece in memory between them.
func (p *product) split() bool { return p.cut.fold < p.innerFold() }

func (p *product) innerFold() int64 {
	if n := len(p.c.Reduction); n > 0 {
		return p.c.Reduction[n-1].Extent
	}
	return 1
}

// run writes the function that carries out the kernel.
func (p *product) run() {
	p.Line("")
	p.e.Open(p.Text, p.number)
	switch {
	case p.pack.Left == tile.UpFront:
		p.before(p.rowTasks(), "rows", p.layout(p.c.Left, p.c.Row, tile.RowPanel).Bytes())
	case p.c.Padded != nil:
		p.before(p.padRows(), "pad", p.c.Padded.Elements()*int64(p.d.Size()))
	}
	pieces := (p.c.Row.Extent + p.cut.rows - 1) / p.cut.rows * p.inner
	if p.form != packed {
		p.Line("tapc_part part = {b, 0, 0, %d};", p.c.Col.Extent)
		p.parallel(fmt.Sprint(p.indices()), "task", p.eachPiece(unit.TileRate))
		p.Close()
		return
	}
	groups, columns := p.chunk()
	p.Open("for (int64_t g = 0; g < %d; g += %d) {", p.outer, groups)
	p.Line("const int64_t groups = %d - g < %d ? %d - g : %d;", p.outer, groups, p.outer, groups)
	p.Open("for (int64_t j = 0; j < %d; j += %d) {", p.c.Col.Extent, columns)
	p.Line("tapc_part part = {b, g, j, %d - j < %d ? %d - j : %d};", p.c.Col.Extent, columns, p.c.Col.Extent, columns)
	p.parallel(fmt.Sprintf("groups * ((part.columns + %d) / %d)", p.panel-1, p.panel), "pack", unit.Each(float64(p.length*panelBytes)/unit.PackRate, 1))
	p.parallel(fmt.Sprintf("groups * %d * ((part.columns + %d) / %d)", pieces, p.cut.cols-1, p.cut.cols), "task", p.eachPiece(unit.TileRate))
	p.Close()
	p.Close()
	p.Close()
}

// indices is how many pieces there are in all, as the indices of one region.
func (p *product) indices() int64 {
	n := p.pieces()
	for _, a := range p.batch {
		n *= a.Extent
	}
	return n
}

// eachPiece writes how many nanoseconds a piece takes, at so many operations in one for each lane.
func (p *product) eachPiece(rate float64) string {
	return unit.Each(p.e.Nanoseconds(p.k, rate*float64(p.n)), p.indices())
}

// before writes what threads do before anything is packed or multiplied: they fill some bytes.
func (p *product) before(n int64, function string, bytes int64) {
	p.Open("{")
	p.Line("tapc_part part = {b, 0, 0, 0};")
	p.parallel(fmt.Sprint(n), function, unit.Each(float64(bytes)/unit.PackRate, n))
	p.Close()
}

// parallel writes the region of n calls of a function, with the nanoseconds that each takes.
func (p *product) parallel(n, function, each string) {
	if p.cut.thread {
		p.Line("tapc_parallel(pool, %s, %s, k%d_%s, &part);", n, each, p.number, function)
	} else {
		p.Line("k%d_%s(&part, 0, %s, 0);", p.number, function, n)
	}
}
