// Package winograd writes convolutions that are carried out on transformed tiles, around a product. It must not import backends/cpu. Read
// next: winograd.go, tile.go.
package winograd

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// Kernel writes a convolution that is carried out on transformed tiles; see nest.Winograd. A thread takes a piece, which is a
// block of tiles and some channels of their results, and keeps everything in memory of its own, which stays in the second cache: it
// transforms the tiles' elements, channels innermost; multiplies them, point by point, with the filters, which were transformed when the program
// was built; and transforms the sums back and carries out the kernel's statements on the results. Pieces of the same block follow each
// other, so that a thread transforms a block once.
//
// The product of a point is one of tiles by channels, with the register tiles of other products, and operands of its own.
type Kernel struct {
	*cnest.Text
	p          *product.Product // of one point
	w          *nest.Winograd
	kernel     *schedule.Kernel
	batch      []point.Axis
	piece      winogradPiece
	memory     winogradMemory
	thread     int  // the slot of the workspaces
	transposed bool // the image's channels are not neighbours: a block of it is copied first
	rows       bool // results are neighbours along rows of the image, not along channels
}

// winogradPiece is what a thread computes at a time.
type winogradPiece struct {
	images       int64 // along the axis that is number of in the batch, if there is one
	of           int
	down, across int64 // tiles of an image
	out          int64 // channels of results
}

// tiles is how many tiles it has, of all its images.
func (p winogradPiece) tiles() int64 { return p.images * p.down * p.across }

// winogradMemory says where a thread keeps what, in elements from the beginning of its scratch memory, which holds the transformed tiles
// first.
type winogradMemory struct {
	line, point         int64 // from tile to tile, and from point to point
	sums                int64 // where sums are
	sumLine, sumPoint   int64
	patch               int64 // where a part of the image is, with channels innermost and zeros around
	results, resultLine int64 // where rows of results are before they are transposed, and how long a row is, in vectors
	size                int64
}

// New prepares such a convolution, which is cut as Read says.
func New(e *unit.Unit, name string, k *schedule.Kernel, d Decided) *Kernel {
	w := of(e.Target, k, d)
	w.Text = new(cnest.Text)
	w.pointProduct(e, name, d.cut)
	w.placeOperands()
	return w
}

// Workspaces says what such a convolution has for itself: each thread the tiles of a piece, their sums, and what is on the way there.
func Workspaces(t isa.Target, k *schedule.Kernel, d Decided) []schedule.Workspace {
	return schedule.WorkspacesOf(0, of(t, k, d).memory.size*4)
}

// of lays out the memory of a convolution.
func of(t isa.Target, k *schedule.Kernel, d Decided) *Kernel {
	found := d.found
	w := &Kernel{w: found, kernel: k, piece: d.piece, batch: point.Axes("g", found.Batch)}
	image := found.Views[found.Image]
	w.transposed = found.In.Step(image) != 1
	for _, s := range k.Statements {
		if s.Store >= 0 {
			store := found.Views[s.Store]
			w.rows = found.Out.Step(store) != 1 && found.Across.Step(store) == 1
			break
		}
	}
	w.layOut(int64(t.Lanes(4)))
	return w
}

// layOut divides the scratch memory of a thread. Points, and tiles if they are whole pages apart, have a line of the cache between
// them: what is written and read side by side would push each other out of the first cache.
func (w *Kernel) layOut(lanes int64) {
	const line, page = tile.PanelBytes / 4, 4096 / 4
	m := &w.memory
	at := int64(0)
	take := func(n int64) int64 {
		from := at
		at += isa.Align(n, line)
		return from
	}
	spread := func(n int64) int64 {
		if n = isa.Align(n, line); n%page == 0 {
			n += line
		}
		return n
	}
	tiles, points, around := w.piece.tiles(), w.w.Points(), w.w.Size+2
	m.line, m.sumLine = spread(w.w.In.Extent), spread(w.piece.out)
	m.point, m.sumPoint = tiles*m.line+line, tiles*m.sumLine+line
	take(points * m.point)
	m.sums = take(points * m.sumPoint)
	if w.transposed {
		m.patch = take((w.piece.down*w.w.Size + 2) * (w.piece.across*w.w.Size + 2) * m.line)
	} else {
		m.patch = take(around * around * m.line)
	}
	if w.rows {
		m.resultLine = isa.Align(w.piece.across*w.w.Size, lanes)
		m.results = take(w.w.Size * m.resultLine * lanes)
	}
	m.size = at
}

// pointProduct makes the product of a point: its left operand is the tiles, its right one the filters.
func (w *Kernel) pointProduct(e *unit.Unit, name string, c blocking.Cut) {
	const rows, columns, fold = 0, 1, 2
	in, out := w.w.In.Extent, w.w.Out.Extent
	lanes := e.Target.Lanes(4)
	c.Rows = w.piece.tiles()
	c.TileRows = e.Target.WinogradRows(c.Rows, c.TileCols/int64(lanes))
	views := []nest.View{{Steps: []int64{w.memory.line, 0, 1}}, {Steps: []int64{0, 1, out}}}
	w.p = &product.Product{Text: w.Text, E: e, Name: name, Blocking: &blocking.Blocking{Target: e.Target, K: &schedule.Kernel{Operands: make([]schedule.Operand, len(views))},
		C: &nest.Contraction{Sum: w.w.Sum, Left: 0, Right: 1, Row: nest.Dim{Loops: []int{rows}, Extent: c.Rows}, Col: nest.Dim{Loops: []int{columns}, Extent: out},
			Reduction: []nest.Dim{{Loops: []int{fold}, Extent: in}}, Views: views},
		Pack: tile.Packing{Right: tile.Prepacked},
		D:    scalar.Float32, N: lanes, Cut: c, Sizes: blocking.Sizes{Panel: tile.PanelBytes / 4, Length: in}}}
}

// placeOperands finds places for the filters' panels and the scratch memory.
func (w *Kernel) placeOperands() {
	view, filters := w.w.Views[w.w.Filter], w.kernel.Operands[w.w.Filter].Buffer
	l := panels.Layout{Size: 4, Width: w.p.Panel, Base: point.Start(w.kernel, view), Columns: w.w.Out.Extent, Step: w.w.Out.Step(view),
		Reduced:  []panels.Stride{{Extent: w.w.In.Extent, Step: w.w.In.Step(view)}},
		Winograd: panels.WinogradFilters{Size: w.w.Size, Down: view.Steps[w.w.Down.Tap], Across: view.Steps[w.w.Across.Tap]}}
	for _, a := range point.Follows(w.batch, view) {
		l.Groups = append(l.Groups, panels.Stride{Extent: a.Extent, Step: a.Step(view)})
	}
	w.p.Slot = w.p.E.Panels(filters, l)
	w.thread = w.p.E.Private(w.memory.size * 4)
}

// blocksDown is how many blocks of tiles, each the tiles of a piece, an image has from top to bottom.
func (w *Kernel) blocksDown() int64 {
	return (w.w.Down.Tiles(w.w.Size) + w.piece.down - 1) / w.piece.down
}

// blocksAcross is how many it has from side to side.
func (w *Kernel) blocksAcross() int64 {
	return (w.w.Across.Tiles(w.w.Size) + w.piece.across - 1) / w.piece.across
}

// parts is how many pieces share a block, each with other channels of its results.
func (w *Kernel) parts() int64 { return (w.w.Out.Extent + w.piece.out - 1) / w.piece.out }

// pieces is how many pieces there are.
func (w *Kernel) pieces() int64 {
	n := w.blocksDown() * w.blocksAcross() * w.parts()
	for i := range w.batch {
		n *= w.blocksOf(i)
	}
	return n
}

// blocksOf is how many blocks there are along an axis of the batch.
func (w *Kernel) blocksOf(axis int) int64 {
	if axis == w.piece.of {
		return (w.batch[axis].Extent + w.piece.images - 1) / w.piece.images
	}
	return w.batch[axis].Extent
}

// Write writes the whole kernel.
func (w *Kernel) Write() string {
	w.epilogue()
	w.keepSums()
	for _, r := range w.tileCounts() {
		product.EachSize(w.p.Cut.TileCols, w.w.Out.Extent, func(cols int64) { w.p.TileFunction(r, cols) })
	}
	w.pointFunction()
	w.patchFunction()
	w.imageFunction()
	w.resultFunction()
	w.resultsFunction()
	w.task()
	w.Line("")
	w.p.E.Open(w.Text, w.p.Name)
	unit.Region(w.Text, w.p.Cut.Thread, fmt.Sprint(w.pieces()), unit.Each(w.p.E.Nanoseconds(w.kernel, unit.WinogradRate*float64(w.p.N)), w.pieces()),
		fmt.Sprintf("%s_task", w.p.Name), "(void *)b")
	w.Close()
	return w.String()
}

// tileCounts gives the numbers of tiles that a register tile may have: the usual one, and what is left of pieces, of which those at
// the edges are smaller.
func (w *Kernel) tileCounts() []int64 {
	out := []int64{w.p.Cut.TileRows}
	sizes := func(tiles, piece int64) []int64 { return []int64{piece, tiles % piece} }
	add := func(tiles int64) {
		if rest := tiles % w.p.Cut.TileRows; rest > 0 && !slices.Contains(out, rest) {
			out = append(out, rest)
		}
	}
	for _, down := range sizes(w.w.Down.Tiles(w.w.Size), w.piece.down) {
		for _, across := range sizes(w.w.Across.Tiles(w.w.Size), w.piece.across) {
			add(w.piece.images * down * across)
		}
	}
	if w.piece.of >= 0 {
		add(w.batch[w.piece.of].Extent % w.piece.images * w.piece.down * w.piece.across)
	}
	return out
}

// task writes what a thread does: some pieces.
func (w *Kernel) task() {
	n, m, c := w.p.Name, w.memory, w.p.Cut
	w.Open("\nstatic void %s_task(void *ctx, int64_t begin, int64_t end, int worker) {", n)
	w.Line("void *const *b = ctx;")
	w.Line("float *const memory = (float *)b[%d] + worker * %s;", w.thread, point.Number(m.size))
	w.Line("int64_t present = -1; // the block of which the tiles are there")
	w.Open("for (int64_t piece = begin; piece < end; piece++) {")
	w.Line("const int64_t block = piece / %d, o0 = piece %% %d * %d, o1 = o0 + %d < %d ? o0 + %d : %d;", w.parts(), w.parts(), c.Cols, c.Cols,
		w.w.Out.Extent, c.Cols, w.w.Out.Extent)
	w.Line("int64_t rest = block;")
	place := func(letter string, blocks, tiles, extent int64) {
		w.Line("const int64_t %s0 = rest %% %d * %d, %s1 = %s0 + %d < %d ? %s0 + %d : %d;", letter, blocks, tiles*w.w.Size, letter, letter,
			tiles*w.w.Size, extent, letter, tiles*w.w.Size, extent)
		w.Line("rest /= %d;", blocks)
	}
	place("x", w.blocksAcross(), w.piece.across, w.w.Across.Extent)
	place("y", w.blocksDown(), w.piece.down, w.w.Down.Extent)
	for i := len(w.batch) - 1; i >= 0; i-- {
		a := w.batch[i]
		if i == w.piece.of {
			w.Line("const int64_t n0 = rest %% %d * %d, n1 = n0 + %d < %d ? n0 + %d : %d;", w.blocksOf(i), w.piece.images, w.piece.images, a.Extent, w.piece.images, a.Extent)
		} else {
			w.Line("const int64_t %s = rest %% %d;", a.Variable, a.Extent)
		}
		w.Line("rest /= %d;", w.blocksOf(i))
	}
	w.Line("const int64_t each = ((y1 - y0 + %d) / %d) * ((x1 - x0 + %d) / %d); // tiles", w.w.Size-1, w.w.Size, w.w.Size-1, w.w.Size)
	w.Open("if (block != present) {")
	w.byImage(fmt.Sprintf("%s_image(b%s, y0, y1, x0, x1, memory + %d, memory%%s);", n, point.Coordinates(w.batch, ""), m.patch), m.line)
	w.Close()
	w.Line("present = block;")
	w.multiply()
	w.byImage(fmt.Sprintf("%s_results(b%s, y0, y1, x0, x1, o0, o1, memory + %d%%s%s);", n, point.Coordinates(w.batch, ""), m.sums,
		w.resultsMemory("memory + "+fmt.Sprint(m.results))), m.sumLine)
	w.Close(2)
}

// byImage writes a call for each image of a piece, with the offset of its first tile, whose elements or sums are some numbers apart.
func (w *Kernel) byImage(call string, apart int64) {
	if w.piece.of < 0 {
		w.Line(call, "")
		return
	}
	n := w.batch[w.piece.of].Variable
	w.Line("for (int64_t %s = n0; %s < n1; %s++) "+call, n, n, n, fmt.Sprintf(" + (%s - n0) * each * %d", n, apart))
}

// multiply writes the loops over the points, and the register tiles of each.
func (w *Kernel) multiply() {
	m, c, length := w.memory, w.p.Cut, w.p.Length*w.p.Panel
	panels := w.p.PanelsOf(w.w.Out.Extent)
	first := "point"
	if group := point.Group(w.batch, w.w.Views[w.w.Filter]); group != "" {
		first = fmt.Sprintf("((%s) * %d + point)", group, w.w.Points())
	}
	if w.piece.of >= 0 {
		w.Line("const int64_t tiles = (n1 - n0) * each;")
	} else {
		w.Line("const int64_t tiles = each;")
	}
	w.Open("for (int64_t point = 0; point < %d; point++) {", w.w.Points())
	w.Line("void *const sums[1] = {memory + %d + point * %d};", m.sums, m.sumPoint)
	w.Line("const float *right = (const float *)b[%d] + %s * %s; // %s, transformed", w.p.Slot, first, point.Number(panels*length), w.kernel.Operands[w.w.Filter].Name)
	w.Open("for (int64_t j = o0; j < o1; j += %d) {", c.TileCols)
	within := ""
	if c.TileCols < w.p.Panel {
		within = fmt.Sprintf(" + j %% %d", w.p.Panel)
	}
	w.Line("const float *w = right + j / %d * %s%s;", w.p.Panel, point.Number(length), within)
	w.Open("for (int64_t i = 0; i < tiles; i += %d) {", c.TileRows)
	w.Line("const float *a = memory + point * %d + i * %d;", m.point, m.line)
	product.AtEdge(w.Text, "j", c.TileCols, w.w.Out.Extent, w.callTiles)
	w.Close(3)
}

// callTiles writes the calls of the register tiles of some columns.
func (w *Kernel) callTiles(cols int64) {
	counts := w.tileCounts()
	call := func(r int64) string { return fmt.Sprintf("%s_%dx%d(a, w, sums, i, j - o0);", w.p.Name, r, cols) }
	if len(counts) == 1 {
		w.Line("%s", call(counts[0]))
		return
	}
	w.Line("const int64_t left = tiles - i;")
	w.Line("if (left >= %d) %s", counts[0], call(counts[0]))
	for i, r := range counts[1:] {
		if i+2 == len(counts) {
			w.Line("else %s", call(r))
		} else {
			w.Line("else if (left == %d) %s", r, call(r))
		}
	}
}
