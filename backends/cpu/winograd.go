package cpu

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// winograd writes a convolution that is carried out on transformed tiles; see nest.Winograd. A thread takes a piece, which is a
// block of tiles and some channels of their results, and keeps everything in memory of its own, which stays in the second cache: it
// transforms the tiles' elements, channels innermost; multiplies them, point by point, with the filters, which were transformed when the program
// was built; and transforms the sums back and carries out the kernel's statements on the results. Pieces of the same block follow each
// other, so that a thread transforms a block once.
//
// The product of a point is one of tiles by channels, with the register tiles of other products: the embedded product is that of all
// points, with operands of its own.
type winograd struct {
	*product
	w      *nest.Winograd
	kernel *schedule.Kernel
	batch  []point.Axis // of the convolution; the embedded product has none
	piece  winogradPiece
	memory winogradMemory
	turned bool // the image's channels are not neighbours: a block of it is copied first
	rows   bool // results are neighbours along rows of the image, not along channels
}

// winogradPiece is what a thread computes at a time.
type winogradPiece struct {
	images       int64 // along the axis that is number of in the batch, if there is one
	of           int
	down, across int64 // tiles of an image
	out          int64 // channels of results
}

func (p winogradPiece) tiles() int64 { return p.images * p.down * p.across }

// winogradMemory says where a thread keeps what, in elements from the beginning of its scratch memory, which holds the transformed tiles
// first.
type winogradMemory struct {
	line, point         int64 // from tile to tile, and from point to point
	sums                int64 // where sums are
	sumLine, sumPoint   int64
	patch               int64 // where a part of the image is, with channels innermost and zeros around
	results, resultLine int64 // where rows of results are before they are turned, and how long a row is, in vectors
	size                int64
}

// newWinograd prepares such a convolution; nil if the kernel is not scheduled as one.
func newWinograd(e *unit.Unit, number int, k *schedule.Kernel, found *nest.Winograd) *winograd {
	levels := k.Loops[found.Down.Inner()].Levels
	if len(levels) != 3 || !point.VectorKernel(k, e.Buffers, found.Image) {
		return nil
	}
	if _, ok := panels.WinogradForms[levels[1].Tile]; !ok {
		return nil
	}
	found = found.Of(levels[1].Tile)
	w := &winograd{w: found, kernel: k, piece: winogradPiece{images: 1, of: found.Images()}}
	c, ok := w.readLevels(int64(e.Target.Lanes(4)))
	if !ok {
		return nil
	}
	for _, d := range found.Batch {
		w.batch = append(w.batch, point.Axis{Dim: d, Variable: fmt.Sprintf("g%d", len(w.batch))})
	}
	image := found.Views[found.Image]
	w.turned = found.In.Step(image) != 1
	for _, s := range k.Statements {
		if s.Store >= 0 {
			store := found.Views[s.Store]
			w.rows = found.Out.Step(store) != 1 && found.Across.Step(store) == 1
			break
		}
	}
	w.layOut(int64(e.Target.Lanes(4)))
	w.pointProduct(e, number, c)
	w.placeOperands()
	return w
}

// readLevels reads the levels of a convolution, if they are of the form that passes/tile gives them.
func (w *winograd) readLevels(lanes int64) (cut, bool) {
	c := cut{}
	for _, s := range []struct {
		nest.Slide
		tiles *int64
	}{{w.w.Down, &w.piece.down}, {w.w.Across, &w.piece.across}} {
		levels := w.kernel.Loops[s.Inner()].Levels
		if len(levels) != 3 || levels[0].Tile%w.w.Size != 0 || levels[1].Tile != w.w.Size || levels[2].Bind != schedule.Unrolled {
			return c, false
		}
		*s.tiles = min(levels[0].Tile/w.w.Size, s.Tiles(w.w.Size))
		c.thread = c.thread || levels[0].Bind == schedule.Thread
	}
	if w.piece.of >= 0 {
		d := w.w.Batch[w.piece.of]
		w.piece.images = min(d.Extent, w.kernel.Loops[d.Inner()].Levels[0].Tile)
	}
	whole := w.piece.down >= w.w.Down.Tiles(w.w.Size) && w.piece.across >= w.w.Across.Tiles(w.w.Size)
	if w.piece.images > 1 && !whole {
		return c, false
	}
	out, in := w.kernel.Loops[w.w.Out.Inner()].Levels, w.kernel.Loops[w.w.In.Inner()].Levels
	const panel = panelBytes / 4
	if len(out) != 4 || out[3].Bind != schedule.Vector || out[2].Tile != lanes || out[1].Tile%lanes != 0 || out[0].Tile%out[1].Tile != 0 ||
		out[1].Tile > 32*lanes || panel%lanes != 0 || out[1].Tile%panel != 0 && panel%out[1].Tile != 0 || len(in) != 3 || in[0].Tile < w.w.In.Extent {
		return c, false
	}
	w.piece.out, c.cols, c.tileCols = out[0].Tile, out[0].Tile, out[1].Tile
	c.fold, c.block = w.w.In.Extent, min(in[1].Tile, w.w.In.Extent)
	return c, true
}

// layOut divides the scratch memory of a thread. Points, and tiles if they are whole pages apart, have a line of the cache between
// them: what is written and read side by side would push each other out of the first cache.
func (w *winograd) layOut(lanes int64) {
	const line, page = panelBytes / 4, 4096 / 4
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
	if w.turned {
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
func (w *winograd) pointProduct(e *unit.Unit, number int, c cut) {
	const rows, columns, fold = 0, 1, 2
	in, out := w.w.In.Extent, w.w.Out.Extent
	lanes := e.Target.Lanes(4)
	c.rows = w.piece.tiles()
	c.tileRows = e.Target.WinogradRows(c.rows, c.tileCols/int64(lanes))
	views := []nest.View{{Steps: []int64{w.memory.line, 0, 1}}, {Steps: []int64{0, 1, out}}}
	w.product = &product{Text: new(cnest.Text), e: e, k: &schedule.Kernel{Operands: make([]schedule.Operand, len(views))},
		c: &nest.Contraction{Sum: w.w.Sum, Left: 0, Right: 1, Row: nest.Dim{Loops: []int{rows}, Extent: c.rows}, Col: nest.Dim{Loops: []int{columns}, Extent: out},
			Reduction: []nest.Dim{{Loops: []int{fold}, Extent: in}}, Views: views},
		pack:   tile.Packing{Right: tile.Prepacked},
		number: number, d: scalar.Float32, n: lanes, cut: c, sizes: sizes{panel: panelBytes / 4, length: in}, storage: storage{form: prepared}}
}

// placeOperands finds places for the filters' panels and the scratch memory.
func (w *winograd) placeOperands() {
	view, filters := w.w.Views[w.w.Filter], w.kernel.Operands[w.w.Filter].Buffer
	l := panels.Layout{Size: 4, Width: w.panel, Base: point.Start(w.kernel, view), Columns: w.w.Out.Extent, Step: w.w.Out.Step(view),
		Reduced:  []panels.Stride{{Extent: w.w.In.Extent, Step: w.w.In.Step(view)}},
		Winograd: panels.WinogradFilters{Size: w.w.Size, Down: view.Steps[w.w.Down.Tap], Across: view.Steps[w.w.Across.Tap]}}
	for _, a := range w.batch {
		if s := a.Step(view); s != 0 {
			l.Groups = append(l.Groups, panels.Stride{Extent: a.Extent, Step: s})
		}
	}
	w.slot = w.e.Panels(filters, l)
	w.pad.slot = w.e.NeedThread(w.memory.size * 4)
}

// blocksDown is how many blocks of tiles, each the tiles of a piece, an image has from top to bottom.
func (w *winograd) blocksDown() int64 {
	return (w.w.Down.Tiles(w.w.Size) + w.piece.down - 1) / w.piece.down
}

// blocksAcross is how many it has from side to side.
func (w *winograd) blocksAcross() int64 {
	return (w.w.Across.Tiles(w.w.Size) + w.piece.across - 1) / w.piece.across
}

// parts is how many pieces share a block, each with other channels of its results.
func (w *winograd) parts() int64 { return (w.w.Out.Extent + w.piece.out - 1) / w.piece.out }

// pieces is how many pieces there are.
func (w *winograd) pieces() int64 {
	n := w.blocksDown() * w.blocksAcross() * w.parts()
	for i := range w.batch {
		n *= w.blocksOf(i)
	}
	return n
}

// blocksOf is how many blocks there are along an axis of the batch.
func (w *winograd) blocksOf(axis int) int64 {
	if axis == w.piece.of {
		return (w.batch[axis].Extent + w.piece.images - 1) / w.piece.images
	}
	return w.batch[axis].Extent
}

// write writes the whole kernel.
func (w *winograd) write() string {
	w.epilogue()
	w.keepSums()
	for _, r := range w.tileCounts() {
		for _, c := range []int64{w.cut.tileCols, w.w.Out.Extent % w.cut.tileCols} {
			if r > 0 && c > 0 && c <= w.w.Out.Extent {
				w.tileFunction(r, c)
			}
		}
	}
	w.pointFunction()
	w.patchFunction()
	w.imageFunction()
	w.resultFunction()
	w.resultsFunction()
	w.task()
	w.Line("")
	w.e.Open(w.Text, w.number)
	if w.cut.thread {
		w.Line("tapc_parallel(pool, %d, %s, k%d_task, (void *)b);", w.pieces(), unit.Each(w.e.Nanoseconds(w.kernel, unit.WinogradRate*float64(w.n)), w.pieces()), w.number)
	} else {
		w.Line("k%d_task((void *)b, 0, %d, 0);", w.number, w.pieces())
	}
	w.Close()
	return w.String()
}

// tileCounts gives the numbers of tiles that a register tile may have: the usual one, and what is left of pieces, of which those at
// the edges are smaller.
func (w *winograd) tileCounts() []int64 {
	out := []int64{w.cut.tileRows}
	sizes := func(tiles, piece int64) []int64 { return []int64{piece, tiles % piece} }
	add := func(tiles int64) {
		if rest := tiles % w.cut.tileRows; rest > 0 && !slices.Contains(out, rest) {
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

// variables lists the batch variables as parameters or arguments.
func (w *winograd) variables(prefix string) string {
	text := ""
	for _, a := range w.batch {
		text += ", " + prefix + a.Variable
	}
	return text
}

// task writes what a thread does: some pieces.
func (w *winograd) task() {
	n, m, c := w.number, w.memory, w.cut
	w.Line("")
	w.Open("static void k%d_task(void *ctx, int64_t begin, int64_t end, int worker) {", n)
	w.Line("void *const *b = ctx;")
	w.Line("float *const memory = (float *)b[%d] + worker * %s;", w.pad.slot, point.Number(m.size))
	w.Line("int64_t present = -1; // the block of which the tiles are there")
	w.Open("for (int64_t piece = begin; piece < end; piece++) {")
	w.Line("const int64_t block = piece / %d, o0 = piece %% %d * %d, o1 = o0 + %d < %d ? o0 + %d : %d;", w.parts(), w.parts(), c.cols, c.cols,
		w.w.Out.Extent, c.cols, w.w.Out.Extent)
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
	w.byImage(fmt.Sprintf("k%d_image(b%s, y0, y1, x0, x1, memory + %d, memory%%s);", n, w.variables(""), m.patch), m.line)
	w.Close()
	w.Line("present = block;")
	w.multiply()
	w.byImage(fmt.Sprintf("k%d_results(b%s, y0, y1, x0, x1, o0, o1, memory + %d%%s%s);", n, w.variables(""), m.sums,
		w.resultsMemory("memory + "+fmt.Sprint(m.results))), m.sumLine)
	w.Close()
	w.Close()
}

// byImage writes a call for each image of a piece, with the offset of its first tile, whose elements or sums are some numbers apart.
func (w *winograd) byImage(call string, apart int64) {
	if w.piece.of < 0 {
		w.Line(call, "")
		return
	}
	n := w.batch[w.piece.of].Variable
	w.Line("for (int64_t %s = n0; %s < n1; %s++) "+call, n, n, n, fmt.Sprintf(" + (%s - n0) * each * %d", n, apart))
}

// multiply writes the loops over the points, and the register tiles of each.
func (w *winograd) multiply() {
	m, c, length := w.memory, w.cut, w.length*w.panel
	panels := w.panelsOf(w.w.Out.Extent)
	first := "point"
	if group := w.filterGroup(); group != "" {
		first = fmt.Sprintf("((%s) * %d + point)", group, w.w.Points())
	}
	if w.piece.of >= 0 {
		w.Line("const int64_t tiles = (n1 - n0) * each;")
	} else {
		w.Line("const int64_t tiles = each;")
	}
	w.Open("for (int64_t point = 0; point < %d; point++) {", w.w.Points())
	w.Line("void *const sums[1] = {memory + %d + point * %d};", m.sums, m.sumPoint)
	w.Line("const float *right = (const float *)b[%d] + %s * %s; // %s, transformed", w.slot, first, point.Number(panels*length), w.kernel.Operands[w.w.Filter].Name)
	w.Open("for (int64_t j = o0; j < o1; j += %d) {", c.tileCols)
	within := ""
	if c.tileCols < w.panel {
		within = fmt.Sprintf(" + j %% %d", w.panel)
	}
	w.Line("const float *w = right + j / %d * %s%s;", w.panel, point.Number(length), within)
	w.Open("for (int64_t i = 0; i < tiles; i += %d) {", c.tileRows)
	w.Line("const float *a = memory + point * %d + i * %d;", m.point, m.line)
	rest := w.w.Out.Extent % c.tileCols
	switch {
	case rest == 0:
		w.callTiles(c.tileCols)
	case w.w.Out.Extent < c.tileCols:
		w.callTiles(rest)
	default:
		w.Open("if (j + %d <= %d) {", c.tileCols, w.w.Out.Extent)
		w.callTiles(c.tileCols)
		w.Close()
		w.Open("else {")
		w.callTiles(rest)
		w.Close()
	}
	w.Close()
	w.Close()
	w.Close()
}

// callTiles writes the calls of the register tiles of some columns.
func (w *winograd) callTiles(cols int64) {
	counts := w.tileCounts()
	call := func(r int64) string { return fmt.Sprintf("k%d_%dx%d(a, w, sums, i, j - o0);", w.number, r, cols) }
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

// filterGroup writes the number of the filters' group at the present place in the batch; "" if there is one.
func (w *winograd) filterGroup() string {
	text := ""
	for _, a := range w.batch {
		switch {
		case a.Step(w.w.Views[w.w.Filter]) == 0:
		case text == "":
			text = a.Variable
		default:
			text = fmt.Sprintf("(%s) * %d + %s", text, a.Extent, a.Variable)
		}
	}
	return text
}
