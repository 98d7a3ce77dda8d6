package lowprecision

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// A narrow contraction whose left operand is read where it stands: tiles' functions get the address of their first row, and step
// along the fold in runs of neighbouring bytes. The right operand's panels begin a new block with each run.

// writeStanding writes the rest of such a kernel.
func (n *Kernel) writeStanding() string {
	n.define("tapc_u32_any", "typedef uint32_t tapc_u32_any __attribute__((may_alias));\n")
	n.define("tapc_u32_at", "typedef uint32_t tapc_u32_at __attribute__((may_alias, aligned(1)));\n")
	n.defineFile("part.c")
	if n.summed() {
		n.rowSums()
	}
	for _, t := range n.tiles {
		t.Kernel.Define(n.E.V, n.Product.N)
		n.guarded(t, func() {
			if t.Form == micro.MatrixUnit {
				t.standingMatrix(n)
				return
			}
			for _, s := range t.shapes(n) {
				t.standingVectors(n, s[0], s[1])
			}
		})
	}
	n.choice()
	if n.C.Padded != nil {
		n.imageTask()
	}
	n.standingTask()
	n.standingRun()
	return n.String()
}

// summed says whether the corrections need the sums of the rows' bytes.
func (n *Kernel) summed() bool {
	e, plus := n.zero(&n.right)
	return n.corrected() && (e != nil || plus != 0)
}

// bytesOf is how far a view of the left operand steps for a dimension, in bytes of what is read.
func (n *Kernel) bytesOf(d nest.Dim) int64 {
	return d.Step(n.C.Views[n.C.Left]) * n.left.layout.Blocked.Size()
}

// run is the bytes of a run along the fold.
func (n *Kernel) runBytes() int64 { return n.n.Run() * n.left.layout.Blocked.Size() }

// runs opens the loops over the runs of the fold, and gives the text of where the run begins in the left operand.
func (n *Kernel) runs() (at string, depth int) {
	outer := n.C.Reduction[:len(n.C.Reduction)-1]
	at = "a"
	for i, d := range outer {
		n.Open("for (int64_t f%d = 0; f%d < %d; f%d++) {", i, i, d.Extent, i)
		at += fmt.Sprintf(" + f%d * %s", i, point.Number(n.bytesOf(d)))
	}
	return at, len(outer)
}

// rowSums writes the function that adds up the bytes that rows are made of, along the fold.
func (n *Kernel) rowSums() {
	n.Line("\n// The sums of the bytes of some rows along the fold.")
	n.Open("static __attribute__((noinline)) void k%d_row_sums(const uint8_t *a, int rows, uint32_t *sums) {", n.Number)
	n.Open("for (int r = 0; r < rows; r++, a += %s) {", point.Number(n.bytesOf(n.C.Row)))
	n.Line("uint32_t sum = 0;")
	at, depth := n.runs()
	n.Line("const uint8_t *ak = %s;", at)
	n.Line("for (int64_t x = 0; x < %d; x++) sum += ak[x];", n.runBytes())
	n.Close(depth)
	n.Line("sums[r] = sum;")
	n.Close(2)
}

// standingParameters gives those that all tiles' functions have.
func (n *Kernel) standingParameters(more string) string {
	text := fmt.Sprintf("const uint8_t *restrict a, const uint8_t *restrict w, void *const *b%s, int64_t i, int64_t j", n.Coordinates("int64_t "))
	if n.C.Transposed {
		text += ", uint32_t *restrict open"
	}
	return text + more
}

// standingSums writes what becomes of the sums of a tile: vector is the text of those of row r, $x in it the number of the vector.
// They are finished, or kept for the piece if neighbours among the results are rows.
func (n *Kernel) standingSums(t narrowTile, vector, rows string, whole, rest string) {
	lanes := int64(n.Product.N)
	if n.corrected() && n.summed() {
		n.Line("uint32_t row_sums[%d];", max(tile.NarrowRows, n.Cut.TileRows))
		n.Line("k%d_row_sums(a, %s, row_sums);", n.Number, rows)
	}
	n.declareColumnSums(t)
	call := func(x, count string) {
		sum := strings.ReplaceAll(vector, "$x", x)
		if n.corrected() {
			row := "0"
			if n.summed() {
				row = "row_sums[r]"
			}
			sum = fmt.Sprintf("k%d_correct(b%s, i + r, j + %s * %d, %s, %s, %s, %s)", n.Number, n.Coordinates(""), x, lanes, sum, row, n.columnSums(x), count)
		}
		if !n.C.Transposed {
			n.Line("k%d_finish(b%s, i + r, j + %s * %d, %s, %s);", n.Number, n.Coordinates(""), x, lanes, sum, count)
			return
		}
		n.Line("*(%su *)(open + r * %d + %s * %d) = %s;", n.E.V.Type(n.Product.D, n.Product.N), n.OpenCols(), x, lanes, sum)
	}
	n.Open("for (int r = 0; r < %s; r++) {", rows)
	if whole != "0" {
		n.Open("for (int x = 0; x < %s; x++) {", whole)
		call("x", fmt.Sprint(lanes))
		n.Close()
	}
	switch rest {
	case "0":
	case "n": // known at run time
		n.Line("const int x = cols / %d, n = cols %% %d;", lanes, lanes)
		n.Line("if (n == 0) continue;")
		call("x", "n")
	default:
		call(whole, rest)
	}
	n.Close()
}

// standingVectors writes the function that keeps the sums of some rows and columns in vector registers.
func (t narrowTile) standingVectors(n *Kernel, rows, cols int64) {
	lanes := int64(n.Product.N)
	vectors := (cols + lanes - 1) / lanes
	v := n.E.V.Type(n.VectorType(), n.Product.N)
	n.Line("\n// The sums of %d rows and %d columns; a is the first row, w the panels of the columns.", rows, cols)
	n.Open("static __attribute__((noinline)) %svoid k%d_%s_%dx%d(%s) {", t.Attribute(), n.Number, t.Name, rows, cols, n.standingParameters(""))
	n.Line("(void)b, %s(void)i, (void)j;", n.Voids())
	sums := func() {
		for r := range rows {
			n.Line("%s %s;", v, product.List(vectors, func(x int64) string { return fmt.Sprintf("c%d_%d = {0}", r, x) }))
		}
	}
	kept := func(op string) {
		for r := range rows {
			n.Line("%s", strings.Join(eachOf(vectors, func(x int64) string { return fmt.Sprintf("s[%d] %s c%d_%d;", r*vectors+x, op, r, x) }), " "))
		}
	}
	n.Line("%s s[%d]%s;", v, rows*vectors, map[bool]string{true: " = {{0}}"}[t.Run() > 0])
	if t.Run() == 0 {
		sums()
	}
	n.Line("const uint8_t *wk = w;")
	at, depth := n.runs()
	n.Line("const uint8_t *ak = %s;", at)
	run := n.runBytes()
	whole, rest := run/4, run%4
	step := func(left func(r int64) string) {
		t.standingStep(n, rows, vectors, left)
		n.Line("ak += 4, wk += %d;", 4*tile.NarrowPanel)
	}
	read := func(r int64) string {
		return fmt.Sprintf("*(const tapc_u32_at *)(ak + %s)", point.Number(r*n.bytesOf(n.C.Row)))
	}
	partly := func(r int64) string {
		return fmt.Sprintf("tapc_some(ak + %s, %d)", point.Number(r*n.bytesOf(n.C.Row)), rest)
	}
	if rest > 0 {
		n.defineFile("some.c")
	}
	if t.Run() == 0 {
		n.groups("0", fmt.Sprint(whole), func() { step(read) })
		if rest > 0 {
			n.Open("{")
			step(partly)
			n.Close()
		}
	} else {
		per := t.Run() * tile.NarrowPanel
		n.Open("for (int k = 0; k < %d; k += %d) {", whole+min(rest, 1), per)
		sums()
		if whole%per == 0 && rest == 0 {
			n.groups("0", fmt.Sprint(per), func() { step(read) })
		} else {
			n.Line("const int end = k + %d < %d ? k + %d : %d;", per, whole, per, whole)
			n.groups("k", "end", func() { step(read) })
		}
		if rest > 0 {
			n.Open("if (k + %d > %d) {", per, whole)
			step(partly)
			n.Close()
		}
		kept("+=")
		n.Close()
	}
	if skip := n.right.layout.Blocked.Blocks(n.n.Run())*tile.NarrowPanel - whole - min(rest, 1); skip > 0 && depth > 0 {
		n.Line("wk += %d;", skip*4*tile.NarrowPanel)
	}
	n.Close(depth)
	if t.Run() == 0 {
		kept("=")
	}
	n.standingSums(t, n.keptSums(t, vectors), fmt.Sprint(rows), fmt.Sprint(cols/lanes), fmt.Sprint(cols%lanes))
	n.Close()
}

// groups writes a loop over groups of four bytes.
func (n *Kernel) groups(from, to string, body func()) {
	if from == to {
		return
	}
	n.Line("#pragma GCC unroll 2")
	n.Open("for (int x = %s; x < %s; x++) {", from, to)
	body()
	n.Close()
}

// standingStep writes one step of the fold: a group of every row and column.
func (t narrowTile) standingStep(n *Kernel, rows, vectors int64, left func(r int64) string) {
	lanes := int64(n.Product.N)
	bits := n.E.V.Type(scalar.UInt32, n.Product.N)
	for x := range vectors {
		at := x * lanes
		n.Line("const %s w%d = *(const %su *)(wk + %d);", bits, x, bits, at/tile.NarrowPanel*n.right.panel()+at%tile.NarrowPanel*4)
	}
	for r := range rows {
		n.Open("{")
		n.Line("const %s a0 = %s;", bits, n.E.V.Splat(vector.Value{Text: left(r), Type: scalar.UInt32, Uniform: true}, n.Product.N).Text)
		for x := range vectors {
			n.Line("%s", t.Step(n.E.V, n.Product.N, fmt.Sprintf("c%d_%d", r, x), "a0", fmt.Sprintf("w%d", x)))
		}
		n.Close()
	}
}

// standingMatrix writes the function that computes two by two tiles of the matrix unit, or those of them that there are. Rows are
// loaded from where they stand; where there are fewer than sixteen, or fewer than 64 bytes of them, they are copied first.
func (t narrowTile) standingMatrix(n *Kernel) {
	lanes := int64(n.Product.N)
	vector := n.E.V.Type(n.Product.D, int(lanes))
	n.defineFile("tilerows.c")
	n.Line("\n// The sums of up to 32 rows and columns with the matrix unit; a is the first row, w the panels of the columns.")
	n.Open("static __attribute__((noinline)) void k%d_amx(%s) {", n.Number, n.standingParameters(", int rows, int cols"))
	n.Line("(void)b, %s(void)i, (void)j;", n.Voids())
	n.Line("const int down = rows > 16, across = cols > 16;")
	n.Line("_Alignas(64) uint32_t c[1024];")
	n.Line("_Alignas(64) uint8_t some[1024];")
	for x := range tileLives {
		n.Line("tapc_tile_zero(%d);", x)
	}
	n.Line("const uint8_t *wk = w;")
	at, depth := n.runs()
	run, step := n.runBytes(), point.Number(n.bytesOf(n.C.Row))
	n.Open("for (int64_t k = 0; k < %d; k += %d, wk += %d) {", run, tile.NarrowBlock, panels.BlockBytes)
	n.Line("const uint8_t *ak = %s + k;", at)
	bytes := fmt.Sprint(tile.NarrowBlock)
	if run%tile.NarrowBlock != 0 {
		bytes = fmt.Sprintf("(k + %d <= %d ? %d : %d)", tile.NarrowBlock, run, tile.NarrowBlock, run%tile.NarrowBlock)
	}
	n.Line("const int bytes = %s;", bytes)
	load := func(tile int, from, count string) {
		n.Line("if (%s >= 16 && bytes == 64) tapc_tile_load_apart(%d, %s, %s);", count, tile, from, step)
		n.Line("else { tapc_tile_rows(some, %s, %s, %s < 16 ? %s : 16, bytes); tapc_tile_load(%d, some); }", from, step, count, count, tile)
	}
	load(4, "ak", "rows")
	n.Line("tapc_tile_load(6, wk);")
	n.Line("%s(0, 4, 6);", t.Function)
	n.Open("if (across) {")
	n.Line("tapc_tile_load(7, wk + %d);", n.right.panel())
	n.Line("%s(1, 4, 7);", t.Function)
	n.Close()
	n.Line("if (!down) continue;")
	load(5, "ak + 16 * "+step, "rows - 16")
	n.Line("%s(2, 5, 6);", t.Function)
	n.Line("if (across) %s(3, 5, 7);", t.Function)
	n.Close()
	n.Close(depth)
	for x, when := range tileLives {
		n.Line("%stapc_tile_store(%d, c + %d);", when, x, 256*x)
	}
	n.standingSums(t, fmt.Sprintf("*(const %su *)(c + r / 16 * 512 + $x * %d / 16 * 256 + r %% 16 * 16 + $x * %d %% 16)", vector, lanes, lanes),
		"rows", fmt.Sprintf("cols / %d", lanes), "n")
	n.Close()
}

// standingTask writes what a thread does: some pieces of the results.
func (n *Kernel) standingTask() {
	p, c := n.Product, n.Cut
	unit.Task(p.Text, "", fmt.Sprintf("k%d_task", p.Number), "tapc_narrow_part")
	p.Line("const int choice = k%d_choice();", p.Number)
	p.Line("const uint8_t *left = (const uint8_t *)b[%d] + %d; // %s", n.left.place.Slot, n.left.place.At, p.K.Operands[n.left.operand].Name)
	p.Line("const uint8_t *right = (const uint8_t *)b[%d] + %d; // %s in panels", n.right.place.Slot, n.right.place.At, p.K.Operands[n.right.operand].Name)
	if n.C.Transposed {
		p.DeclareWorkspace("_Alignas(64) ", "uint32_t", 4)
	}
	for i, t := range n.tiles {
		if t.setup() != "" {
			n.guarded(t, func() { p.Line("if (choice == %d) %s;", i, t.setup()) })
		}
	}
	rows, cols := p.C.Row.Extent, p.C.Col.Extent
	p.Line("enum { across = %d, down = %d };", (cols+c.Cols-1)/c.Cols, (rows+c.Rows-1)/c.Rows)
	p.Open("for (int64_t piece = begin; piece < end; piece++) {")
	p.Line("int64_t rest = piece;")
	columns := func() {
		p.Line("const int64_t j0 = rest %% across * %d, j1 = j0 + %d < %d ? j0 + %d : %d;", c.Cols, c.Cols, cols, c.Cols, cols)
		p.Line("rest /= across;")
	}
	if !n.columnsOuter() {
		columns()
	}
	p.Line("const int64_t i0 = rest %% down * %d, i1 = i0 + %d < %d ? i0 + %d : %d;", c.Rows, c.Rows, rows, c.Rows, rows)
	p.Line("rest /= down;")
	for _, a := range slices.Backward(p.Batch) {
		p.Line("const int64_t %s = rest %% %d;", a.Variable, a.Extent)
		p.Line("rest /= %d;", a.Extent)
	}
	if n.columnsOuter() {
		columns()
	}
	p.Line("(void)rest;")
	n.standingTiles()
	p.Close()
	for i, t := range n.tiles {
		if t.release() != "" {
			n.guarded(t, func() { p.Line("if (choice == %d) %s;", i, t.release()) })
		}
	}
	p.Close()
}

// columnsOuter says whether a thread goes over all rows for some columns before it goes on to the next: if the panels do not stay
// in the second cache.
func (n *Kernel) columnsOuter() bool {
	return n.right.panels(n.C.Col.Extent)*n.right.panel() > n.E.Target.L2/2 && n.Group(n.right.operand) == ""
}

// standingTiles writes the loops over the tiles of a piece.
func (n *Kernel) standingTiles() {
	p := n.Product
	panel := fmt.Sprintf("j / %d", tile.NarrowPanel)
	if group := n.Group(n.right.operand); group != "" {
		panel = fmt.Sprintf("((%s) * %d + %s)", group, n.right.panels(n.C.Col.Extent), panel)
	}
	view := p.C.Views[p.C.Left]
	at := point.OffsetText(point.Start(p.K, view), append(slices.Clone(p.Batch), point.Axis{Dim: p.C.Row, Variable: "i"}), view)
	turned := n.C.Transposed
	for i, t := range n.tiles {
		n.guarded(t, func() {
			p.Open("if (choice == %d) {", i)
			p.Open("for (int64_t j = j0; j < j1; j += %d) {", t.cols)
			p.Line("const uint8_t *w = right + %s * %s;", panel, point.Number(n.right.panel()))
			p.Open("for (int64_t i = i0; i < i1; i += %d) {", t.rows)
			p.Line("const uint8_t *a = left + (%s) * %d;", at, n.left.layout.Blocked.Size())
			open := ""
			if turned {
				open = ", " + n.OpenPlace()
			}
			if t.Form == micro.MatrixUnit {
				p.Line("k%d_amx(a, w, b%s, i, j%s, (int)(i1 - i < %d ? i1 - i : %d), (int)(j1 - j < %d ? j1 - j : %d));", p.Number,
					p.Coordinates(""), open, t.rows, t.rows, t.cols, t.cols)
			} else {
				t.callShapes(n, open)
			}
			p.Close(3)
		})
	}
	if turned {
		n.TransposeSums(scalar.UInt32)
	}
}

// standingRun writes the function that carries out the kernel.
func (n *Kernel) standingRun() {
	p := n.Product
	p.Line("")
	p.E.Open(p.Text, p.Number)
	p.Line("tapc_narrow_part part = {b, 0, %d, 0, %d};", p.C.Row.Extent, p.C.Col.Extent)
	if n.C.Padded != nil {
		p.Parallel(fmt.Sprint(n.PadRows()), "image", unit.Each(float64(n.C.Padded.Elements()*n.left.layout.Blocked.Size())/unit.PackRate, n.PadRows()))
	}
	p.Parallel(fmt.Sprint(p.Indices()), "task", p.EachPiece(unit.NarrowRate))
	p.Close()
}
