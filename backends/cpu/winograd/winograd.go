// Package winograd writes convolutions that are carried out on transformed tiles, around a product. It must not import backends/cpu. Read
// next: winograd.go, tree.go, c/transform.c.
package winograd

import (
	"embed"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/macrotile"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/trees"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// Kernel is a convolution that is carried out on transformed tiles; see nest.Winograd. A task computes a piece, which is a block of tiles and some
// channels of their results, and keeps everything in memory of its own, which stays in the second cache: it
// transforms the tiles' elements, channels innermost; multiplies them, point by point, with the filters, which were transformed when the program
// was built; and transforms the sums back and carries out the kernel's statements on the results. Pieces of the same block follow each
// other, so that a thread transforms a block once.
//
// The product of a point is one of tiles by channels, with the register tiles of other products, and operands of its own. Tasks and loops are those of
// its tree; the templates of that are transformations, which are C (c/*.c), register tiles, and the kernel's statements.
type Kernel struct {
	w          *nest.Winograd
	kernel     *schedule.Kernel
	batch      []nest.Dim
	block      winogradPiece
	cut        blocking.Cut // of the product of a point
	target     isa.Target
	lanes      int64
	transposed bool // the image's channels are not neighbours: a block of it is copied first
	inRows     bool // results are neighbours along rows of the image, not along channels
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

// panel is the columns of a panel of filters.
const panel = schedule.PanelBytes / 4

// Of is such a convolution, which is cut as Read says, for a target.
func Of(t isa.Target, k *schedule.Kernel, d Decided) *Kernel {
	image := d.found.Views[d.found.Image]
	w := &Kernel{w: d.found, kernel: k, block: d.piece, cut: d.cut, batch: d.found.Batch, target: t, lanes: int64(t.Lanes(4)), transposed: d.found.In.Step(image) != 1}
	for _, s := range k.Statements {
		if s.Store >= 0 {
			store := w.w.Views[s.Store]
			w.inRows = w.w.Out.Step(store) != 1 && w.w.Across.Step(store) == 1
			break
		}
	}
	w.cut.Rows = w.block.tiles()
	w.cut.TileRows = t.WinogradRows(w.cut.Rows, w.cut.TileCols/w.lanes)
	return w
}

// templates are those of the tree of a convolution, in a version of a program.
type templates struct {
	*Kernel
	*cnest.Text
	u    *unit.Unit
	name string
	slot int // of the filters in panels
}

// Templates gives the templates of its tree in a version of a program.
func (w *Kernel) Templates(u *unit.Unit, name string) trees.Templates {
	view, filters := w.w.Views[w.w.Filter], w.kernel.Operands[w.w.Filter].Buffer
	l := panels.Layout{Size: 4, Width: panel, Base: builder.Base(w.kernel, view), Columns: w.w.Out.Extent, Step: w.w.Out.Step(view),
		Reduced:  []panels.Stride{{Extent: w.w.In.Extent, Step: w.w.In.Step(view)}},
		Winograd: panels.WinogradFilters{Size: w.w.Size, Down: view.Steps[w.w.Down.Tap], Across: view.Steps[w.w.Across.Tap]}}
	for _, a := range nest.Followed(w.batch, view, true) {
		l.Groups = append(l.Groups, panels.Stride{Extent: a.Extent, Step: a.Step(view)})
	}
	u.Raw(w.kernel.Operands[w.w.Image].Buffer)
	return &templates{w, new(cnest.Text), u, name, u.Panels(filters, l)}
}

// Constant gives the place of the filters in the kernel's table.
func (w *templates) Constant(int) int { return w.slot }

// Threads says whether several threads take the pieces between them.
func (w *templates) Threads() bool { return w.cut.Thread }

// Region says what the tasks are called, and how many picoseconds each takes.
func (w *templates) Region(*tree.For) (name, picoseconds string) {
	return "task", unit.Each(w.u.Nanoseconds(w.kernel, unit.WinogradRate*float64(w.lanes)), w.pieces())
}

// blocksDown is how many blocks of tiles, each the tiles of a piece, an image has from top to bottom.
func (w *Kernel) blocksDown() int64 {
	return (w.w.Down.Tiles(w.w.Size) + w.block.down - 1) / w.block.down
}

// blocksAcross is how many it has from side to side.
func (w *Kernel) blocksAcross() int64 {
	return (w.w.Across.Tiles(w.w.Size) + w.block.across - 1) / w.block.across
}

// parts is how many pieces share a block, each with other channels of its results.
func (w *Kernel) parts() int64 { return (w.w.Out.Extent + w.block.out - 1) / w.block.out }

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
	if axis == w.block.of {
		return (w.batch[axis].Extent + w.block.images - 1) / w.block.images
	}
	return w.batch[axis].Extent
}

// tileCounts gives the numbers of tiles that a register tile may have, the least first: the usual one, and what is left of pieces, of which those at
// the edges are smaller.
func (w *Kernel) tileCounts() []int64 {
	out := []int64{w.cut.TileRows}
	sizes := func(tiles, piece int64) []int64 { return []int64{piece, tiles % piece} }
	images := []int64{w.block.images}
	if w.block.of >= 0 {
		images = sizes(w.batch[w.block.of].Extent, w.block.images)
	}
	for _, down := range sizes(w.w.Down.Tiles(w.w.Size), w.block.down) {
		for _, across := range sizes(w.w.Across.Tiles(w.w.Size), w.block.across) {
			for _, n := range images {
				out = append(out, n*down*across%w.cut.TileRows)
			}
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(n int64) bool { return n == 0 })
}

//go:embed c/*.c
var files embed.FS

// Define adds the transformations, in vectors of some lanes, to the definitions before kernels.
func Define(v *vector.Printer, lanes int) {
	vector.Singles(v, lanes)
	x := v.Of(scalar.Float32, lanes)
	for _, file := range []string{"patch.c", "transform.c"} {
		x.File(files, file, "", "TAPC_LOAD(p, n) "+x.Load("p", "n"), "TAPC_TRANSPOSE(from, step, to, apart) "+x.Transpose(lanes, "from", "step", "to", "apart"))
	}
}

// Common names the function of a template that kernels have together.
func (w *templates) Common(template string) string { return template }

// Templates writes the functions of the leaves of the tree.
func (w *templates) Templates() string {
	Define(w.u.V, int(w.lanes))
	w.epilogue()
	p := w.product()
	for _, r := range w.tileCounts() {
		product.EachSize(w.cut.TileCols, w.w.Out.Extent, func(cols int64) { p.TileFunction(r, cols) })
	}
	return w.String()
}

// product is that of a point: its left operand is the tiles, its right one the filters. It leaves its sums in memory.
func (w *templates) product() *product.Product {
	const rows, columns, fold = 0, 1, 2
	d := &driver{Kernel: w.Kernel}
	d.layOut()
	in, out := w.w.In.Extent, w.w.Out.Extent
	views := []nest.View{{Steps: []int64{d.m.tiles.Dims[1].Stride, 0, 1}}, {Steps: []int64{0, 1, out}}}
	return &product.Product{Text: w.Text, E: w.u, Name: w.name, Sums: d.m.sums.Dims[1].Stride,
		Blocking: &blocking.Blocking{Target: w.target, K: &schedule.Kernel{Operands: make([]schedule.Operand, len(views))},
			C: &nest.Contraction{Sum: w.w.Sum, Left: 0, Right: 1, Row: nest.Dim{Loops: []int{rows}, Extent: w.cut.Rows}, Col: nest.Dim{Loops: []int{columns}, Extent: out},
				Reduction: []nest.Dim{{Loops: []int{fold}, Extent: in}}, Views: views},
			Pack: tile.Packing{Right: tile.Prepacked},
			D:    scalar.Float32, N: int(w.lanes), Cut: w.cut, Sizes: blocking.Sizes{Panel: panel, Length: in}}}
}

// functions makes those that leaves call.
func (w *Kernel) functions() []*tree.Func {
	dims := append(slices.Clone(w.batch), w.w.Down.Dim, w.w.Across.Dim, w.w.Out)
	along := len(dims) - 1
	if w.inRows {
		along--
	}
	return []*tree.Func{product.Epilogue("epilogue", w.kernel, w.w.Views, dims, along, int(w.lanes), w.w.Sum, "y", "x", "o")}
}

// epilogue writes the functions of the kernel's statements: on a vector of results, of neighbouring channels or of a row; on those of a tile in the channels of
// a vector; and on those of some columns of a row in some channels, which are transposed.
func (w *templates) epilogue() {
	n := int(w.lanes)
	for _, f := range w.functions() {
		trees.Function(w.Text, w.u, w.name, w.kernel, f)
	}
	parameters, batch := "", ""
	for i := range w.batch {
		parameters, batch = parameters+", int64_t "+macrotile.BatchName(i), batch+", "+macrotile.BatchName(i)
	}
	parameters += ", int64_t y, int64_t x, int64_t o"
	if w.inRows {
		w.Open("\nTAPC_FN void %s_row(void *const *b%s, const tapc_singles *restrict from, int64_t channels, int64_t n) {", w.name, parameters)
		w.Line("tapc_singles transposed[TAPC_LANES];")
		w.Line("%s;", w.u.V.Of(scalar.Float32, n).Transpose(n, "(const float *)from", "TAPC_LANES", "(float *)transposed", "TAPC_LANES"))
		w.Line("for (int64_t c = 0; c < channels; c++) %s_epilogue(b%s, y, x, o + c, transposed[c], (int)n);", w.name, batch)
	} else {
		w.Open("\nTAPC_FN void %s_square(void *const *b%s, const tapc_singles *restrict from, int64_t rows, int64_t columns, int64_t n) {", w.name, parameters)
		w.Open("for (int64_t i = 0; i < rows; i++) {")
		w.Line("for (int64_t j = 0; j < columns; j++) %s_epilogue(b%s, y + i, x + j, o, from[i * %d + j], (int)n);", w.name, batch, w.w.Size)
		w.Close()
	}
	w.Close()
}
