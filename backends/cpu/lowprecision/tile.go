package lowprecision

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// define adds a text to the definitions before the kernels.
func (n *Kernel) define(name, text string) { n.p.E.V.Define(name, func() string { return text }) }

// defineFile adds a file of the folder microkernels to the definitions before the kernels.
func (n *Kernel) defineFile(file string) {
	n.p.E.V.Define(file, func() string { return micro.Text(file) })
}

// functions writes those of all tiles, in all sizes.
func (n *Kernel) functions() {
	for _, t := range n.tiles {
		t.Kernel.Define(n.p.E.V, n.p.N)
		n.guarded(t, func() {
			if t.Form == micro.MatrixUnit {
				t.matrixFunction(n)
				return
			}
			product.EachSize(t.rows, n.p.C.Row.Extent, func(rows int64) {
				product.EachSize(t.cols, n.p.C.Col.Extent, func(cols int64) { t.vectorFunction(n, rows, cols) })
			})
		})
	}
}

// open opens the function of a tile with a name, behind a line about it.
func (n *Kernel) open(about, attribute, name, more string) {
	where := "a and w are their panels"
	if n.n.Unpacked {
		where = "a is the first row, w the panels of the columns"
	}
	n.Line("\n// The sums of %s; %s.", about, where)
	kept := ""
	switch {
	case n.p.C.Transposed:
		kept = ", uint32_t *restrict open"
	case n.parted():
		kept = ", int64_t f, int64_t fn, uint32_t *restrict open"
	}
	left := "uint8_t *restrict a"
	if n.n.Unpacked {
		left = "void *restrict left"
	}
	n.Open("static __attribute__((noinline)) %svoid %s_%s(const %s, const uint8_t *restrict w, void *const *b%s, int64_t i, int64_t j%s%s) {",
		attribute, n.p.Name, name, left, n.p.Coordinates("int64_t "), kept, more)
	if n.n.Unpacked {
		n.Line("const uint8_t *const a = left;")
		n.Line("(void)b, %s(void)i, (void)j;", n.p.Voids())
	}
}

// finishTile writes what becomes of the sums of a tile: vector gives those of row r, by the number of the vector. They are
// finished, or kept for the macro-tile if neighbours among the results are rows.
func (n *Kernel) finishTile(t registerTile, vector func(x string) string, rows, whole, rest string) {
	lanes := int64(n.p.N)
	row := n.declareRowSums(rows)
	if n.corrected() || t.Moves() {
		n.Line("const tapc_u32_any *column_sums = (const tapc_u32_any *)(w + %d);", n.right.blocks()*panels.BlockBytes)
	}
	call := func(x, count string) {
		sum := vector(x)
		if n.corrected() {
			sum = fmt.Sprintf("%s_correct(b%s, i + r, j + %s * %d, %s, %s, %s, %s)", n.p.Name, n.p.Coordinates(""), x, lanes, sum, row, n.columnSums(x), count)
		}
		if n.p.C.Transposed {
			n.Line("*(%su *)(open + r * %d + %s * %d) = %s;", n.p.E.V.Type(n.p.D, n.p.N), n.p.OpenCols(), x, lanes, sum)
			return
		}
		n.Line("%s_finish(b%s, i + r, j + %s * %d, %s, %s);", n.p.Name, n.p.Coordinates(""), x, lanes, sum, count)
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

// declareRowSums declares the sums of the rows' bytes, if a tile needs them at its end, and gives that of row r.
func (n *Kernel) declareRowSums(rows string) string {
	switch {
	case !n.corrected() || n.n.Unpacked && !n.rowSummed():
		return "0"
	case n.n.Unpacked:
		n.Line("uint32_t row_sums[%d];", max(tile.NarrowRows, n.p.Cut.TileRows))
		n.Line("%s_row_sums(a, %s, row_sums);", n.p.Name, rows)
		return "row_sums[r]"
	}
	n.Line("const tapc_u32_any *row_sums = (const tapc_u32_any *)(a + %d);", n.left.blocks()*panels.BlockBytes)
	return fmt.Sprintf("row_sums[(i + r) %% %d + (i %% %d + r) / %d * %d]", tile.NarrowPanel, tile.NarrowPanel, tile.NarrowPanel, n.left.panel()/4)
}

// matrixFunction writes the function that computes two by two tiles of the matrix unit, or those of them that there are.
func (t registerTile) matrixFunction(n *Kernel) {
	n.open("up to 32 rows and columns with the matrix unit", "", "amx", ", int rows, int cols")
	n.Line("const int down = rows > 16, across = cols > 16;")
	if n.n.Unpacked {
		n.Line("_Alignas(64) uint32_t c[1024];")
		t.matrixUnpacked(n)
	} else {
		t.matrixPanels(n)
	}
	for x, when := range tileLives {
		n.Line("%stapc_tile_store(%d, c + %d);", when, x, 256*x)
	}
	if n.parted() {
		n.Line("if (f + fn < %d) return;", n.left.blocks())
	}
	lanes := n.p.N
	n.finishTile(t, func(x string) string {
		return fmt.Sprintf("*(const %su *)(c + r / 16 * 512 + %s * %d / 16 * 256 + r %% 16 * 16 + %s * %d %% 16)", n.p.E.V.Type(n.p.D, lanes), x, lanes, x, lanes)
	}, "rows", fmt.Sprintf("cols / %d", lanes), "n")
	n.Close()
}

// matrixPanels writes the loop over the blocks of panels.
func (t registerTile) matrixPanels(n *Kernel) {
	first, count := "0", fmt.Sprint(n.left.blocks())
	if n.parted() {
		first, count = "f", "fn"
	}
	if n.parted() {
		n.Line("uint32_t *c = open;")
		n.Open("if (f > 0) {")
		for x, when := range tileLives {
			n.Line("%stapc_tile_load(%d, c + %d);", when, x, 256*x)
		}
		n.Close()
		n.Open("else {")
		zeroTiles(n.Text)
		n.Close()
	} else {
		n.Line("_Alignas(64) uint32_t c[1024];")
		zeroTiles(n.Text)
	}
	n.Open("for (int64_t k = %s, end = %s + %s; k < end; k++) {", first, first, count)
	n.Line("const uint8_t *ak = a + k * %d, *wk = w + k * %d;", panels.BlockBytes, panels.BlockBytes)
	n.Line("for (int x = 0; x < %d; x += 256) TAPC_FETCH(ak, %d + x, 0, 3);", panels.BlockBytes, 4*panels.BlockBytes)
	t.matrixStep(n, func(half int64) {
		n.Line("tapc_tile_load(%d, ak%s);", 4+half, []string{"", fmt.Sprintf(" + %d", n.left.panel())}[half])
	})
	n.Close()
}

// zeroTiles clears the tiles of sums.
func zeroTiles(t *cnest.Text) {
	for x := range tileLives {
		t.Line("tapc_tile_zero(%d);", x)
	}
}

// matrixStep writes a step of the loop over the reduction: load loads one of two tiles of rows, and the columns are at wk.
func (t registerTile) matrixStep(n *Kernel, load func(half int64)) {
	load(0)
	n.Line("tapc_tile_load(6, wk);")
	n.Line("%s(0, 4, 6);", t.Function)
	n.Open("if (across) {")
	n.Line("tapc_tile_load(7, wk + %d);", n.right.panel())
	n.Line("%s(1, 4, 7);", t.Function)
	n.Close()
	n.Line("if (!down) continue;")
	load(1)
	n.Line("%s(2, 5, 6);", t.Function)
	n.Line("if (across) %s(3, 5, 7);", t.Function)
}

// tileLives are the conditions under which each of the four tiles of sums is there.
var tileLives = []string{"", "if (across) ", "if (down) ", "if (down && across) "}

// vectorFunction writes the function that keeps the sums of some rows and columns in vector registers.
func (t registerTile) vectorFunction(n *Kernel, rows, cols int64) {
	lanes := int64(n.p.N)
	sums := product.Sums{Type: n.p.E.V.Type(n.p.VectorType(), n.p.N), Rows: rows, Vectors: (cols + lanes - 1) / lanes}
	n.open(fmt.Sprintf("%d rows and %d columns", rows, cols), t.Attribute(), fmt.Sprintf("%s_%dx%d", t.Name, rows, cols), "")
	if n.n.Unpacked {
		t.sumUnpacked(n, sums)
	} else {
		t.sumPanels(n, sums)
	}
	if n.parted() {
		count := sums.Rows * sums.Vectors
		n.Line("%su *kept = (%su *)open;", sums.Type, sums.Type)
		n.Line("if (f > 0) for (int x = 0; x < %d; x++) s[x] += kept[x];", count)
		n.Open("if (f + fn < %d) {", n.left.blocks())
		n.Line("for (int x = 0; x < %d; x++) kept[x] = s[x];", count)
		n.Line("return;")
		n.Close()
	}
	n.finishTile(t, func(x string) string { return t.result(n, sums, x) }, fmt.Sprint(rows), fmt.Sprint(cols/lanes), fmt.Sprint(cols%lanes))
	n.Close()
}

// sumPanels writes the loop over the blocks of panels.
func (t registerTile) sumPanels(n *Kernel, sums product.Sums) {
	first, count := "0", fmt.Sprint(n.left.blocks())
	if n.parted() {
		first, count = "f", "fn"
	}
	n.Line("%s s[%d] = {{0}};", sums.Type, sums.Rows*sums.Vectors)
	n.Line("const uint8_t *lane = a + i %% %d * %d;", tile.NarrowPanel, tile.NarrowBlock)
	n.Line("int64_t k = %s;", first)
	n.Open("for (const int64_t end = %s + %s; k < end;) {", first, count)
	sums.Declare(n.Text)
	if run := t.Run(); run > 0 {
		n.Line("const int64_t part = k + %d < end ? k + %d : end;", run, run)
	} else {
		n.Line("const int64_t part = end;")
	}
	n.Open("for (; k < part; k++) {")
	n.Line("const uint8_t *ak = lane + k * %d, *wk = w + k * %d;", panels.BlockBytes, panels.BlockBytes)
	if groups := (n.p.Length + n.n.Group - 1) / n.n.Group; groups%tile.NarrowPanel == 0 {
		n.Line("const int groups = %d;", tile.NarrowPanel)
	} else {
		n.Line("const int groups = k + 1 < %d ? %d : %d;", n.left.blocks(), tile.NarrowPanel, groups%tile.NarrowPanel)
	}
	n.Line("#pragma GCC unroll %d", t.Unrolled(0))
	n.Open("for (int x = 0; x < groups; x++, ak += 4, wk += %d) {", 4*tile.NarrowPanel)
	t.step(n, sums, func(r int64) string { return fmt.Sprintf("*(const tapc_u32_any *)(ak + %d)", r*tile.NarrowBlock) })
	n.Close(2)
	sums.Add(n.Text)
	n.Close()
}

// step writes one step of the reduction: a group of every row, which left gives, and of every column.
func (t registerTile) step(n *Kernel, sums product.Sums, left func(r int64) string) {
	lanes := int64(n.p.N)
	bits := n.p.E.V.Type(scalar.UInt32, n.p.N)
	for x := range sums.Vectors {
		at := x * lanes
		n.Line("const %s w%d = *(const %su *)(wk + %d);", bits, x, bits, at/tile.NarrowPanel*n.right.panel()+at%tile.NarrowPanel*4)
	}
	for r := range sums.Rows {
		n.Open("{")
		n.Line("const %s a0 = %s;", bits, n.p.E.V.Splat(vector.Value{Text: left(r), Type: scalar.UInt32, Uniform: true}, n.p.N).Text)
		for x := range sums.Vectors {
			n.Line("%s", t.Step(n.p.E.V, n.p.N, fmt.Sprintf("c%d_%d", r, x), "a0", fmt.Sprintf("w%d", x)))
		}
		n.Close()
	}
}

// columnSums writes the address of those of the vector x.
func (n *Kernel) columnSums(x string) string {
	lanes := n.p.N
	return fmt.Sprintf("column_sums + %s * %d %% %d + %s * %d / %d * %d", x, lanes, tile.NarrowPanel, x, lanes, tile.NarrowPanel, n.right.panel()/4)
}

// result writes the sums of vector x of row r.
func (t registerTile) result(n *Kernel, sums product.Sums, x string) string {
	text := fmt.Sprintf("s[r * %d + %s]", sums.Vectors, x)
	if t.Moves() {
		text = fmt.Sprintf("(%s + (*(const %su *)(%s) << 7))", text, n.p.E.V.Type(scalar.UInt32, n.p.N), n.columnSums(x))
	}
	if n.p.VectorType() != n.p.D {
		return "(" + n.p.E.V.Type(n.p.D, n.p.N) + ")" + text
	}
	return text
}
