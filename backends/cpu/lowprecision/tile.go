package lowprecision

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// narrowTile is a function that computes a tile of sums by a row of the table of micro-kernels.
type narrowTile struct {
	micro.Kernel
	rows, cols int64
}

// setup and release are statements before a thread's first tile and behind its last.
func (t narrowTile) setup() string {
	if t.Form == micro.MatrixUnit {
		return "tapc_tile_config()"
	}
	return ""
}

func (t narrowTile) release() string {
	if t.Form == micro.MatrixUnit {
		return "tapc_tile_release()"
	}
	return ""
}

// variants gives the functions that a kernel has, the best first.
func (n *Kernel) variants() []narrowTile {
	var out []narrowTile
	for _, m := range micro.For(n.E.Target, n.n.Group) {
		t := narrowTile{m, n.Cut.TileRows, n.Cut.TileCols}
		switch { // what is taken apart needs registers too
		case m.Form == micro.MatrixUnit:
			t.rows, t.cols = tile.NarrowRows, tile.NarrowRows
		case m.Form == micro.TakenApart && n.n.Unpacked && (t.rows > 8 || t.cols%(2*tile.NarrowPanel) != 0):
			t.cols = tile.NarrowPanel
		case m.Form == micro.TakenApart && m.Sum.IsInt() && n.E.Target.Vector >= 64:
			t.cols = 2 * tile.NarrowPanel
		}
		out = append(out, t)
	}
	return out
}

// choice writes the function that says which of the tile's functions this processor can run.
func (n *Kernel) choice() {
	n.Open("\nstatic int k%d_choice(void) {", n.Number)
	last := len(n.tiles) - 1
	if last > 0 {
		n.Line("const unsigned has = TAPC_FEATURES;")
		n.Line("(void)has;")
	}
	for i, t := range n.tiles[:last] {
		n.guarded(t, func() { n.Line("if (has & %s) return %d; // %s", t.Feature, i, t.Name) })
	}
	n.Line("return %d;", last)
	n.Close()
}

// define adds a text to the definitions before the kernels.
func (n *Kernel) define(name, text string) {
	n.E.V.Define(name, func() string { return text })
}

// defineFile adds a file of the folder microkernels to the definitions before the kernels.
func (n *Kernel) defineFile(file string) {
	n.E.V.Define(file, func() string { return micro.Text(file) })
}

// shapes gives the sizes of tiles that occur: whole ones, and those at the edges.
func (t narrowTile) shapes(n *Kernel) (list [][2]int64) {
	for _, r := range []int64{t.rows, n.C.Row.Extent % t.rows} {
		for _, c := range []int64{t.cols, n.C.Col.Extent % t.cols} {
			if r > 0 && c > 0 && r <= n.C.Row.Extent && c <= n.C.Col.Extent {
				list = append(list, [2]int64{r, c})
			}
		}
	}
	return list
}

// write writes the functions of all sizes.
func (t narrowTile) write(n *Kernel) {
	t.Kernel.Define(n.E.V, n.Product.N)
	if t.Form == micro.MatrixUnit {
		n.guarded(t, func() { t.matrixFunction(n) })
		return
	}
	n.define("tapc_u32_any", "typedef uint32_t tapc_u32_any __attribute__((may_alias));\n")
	n.guarded(t, func() {
		for _, s := range t.shapes(n) {
			t.vectorFunction(n, s[0], s[1])
		}
	})
}

// call writes the call of the function for the tile at i and j.
func (t narrowTile) call(n *Kernel) {
	more := ""
	if n.Split() {
		more = fmt.Sprintf(", f, fn, open + ((i - i0) / %d * %d + (j - j0) / %d) * %d", t.rows, n.Cut.Cols/t.cols, t.cols, t.rows*t.cols)
	}
	if t.Form == micro.MatrixUnit {
		n.Line("k%d_amx(a, w, b%s, i, j, (int)(i1 - i < %d ? i1 - i : %d), (int)(j1 - j < %d ? j1 - j : %d)%s);", n.Number, n.Coordinates(""),
			t.rows, t.rows, t.cols, t.cols, more)
		return
	}
	t.callShapes(n, more)
}

// callShapes writes the call of the function for the tile's size at i and j.
func (t narrowTile) callShapes(n *Kernel, more string) {
	shapes := t.shapes(n)
	for i, s := range shapes {
		var tests []string
		if s[0] == t.rows && n.C.Row.Extent%t.rows != 0 {
			tests = append(tests, fmt.Sprintf("i + %d <= %d", t.rows, n.C.Row.Extent))
		}
		if s[0] != t.rows && n.C.Row.Extent > t.rows {
			tests = append(tests, fmt.Sprintf("i + %d > %d", t.rows, n.C.Row.Extent))
		}
		if s[1] == t.cols && n.C.Col.Extent%t.cols != 0 {
			tests = append(tests, fmt.Sprintf("j + %d <= %d", t.cols, n.C.Col.Extent))
		}
		call := fmt.Sprintf("k%d_%s_%dx%d(a, w, b%s, i, j%s);", n.Number, t.Name, s[0], s[1], n.Coordinates(""), more)
		switch {
		case i+1 == len(shapes) && i > 0:
			n.Line("else %s", call)
		case len(tests) == 0:
			n.Line("%s", call)
		case i > 0:
			n.Line("else if (%s) %s", strings.Join(tests, " && "), call)
		default:
			n.Line("if (%s) %s", strings.Join(tests, " && "), call)
		}
	}
}

// parameters gives those that all tile functions have.
func (n *Kernel) parameters(more string) string {
	text := fmt.Sprintf("const uint8_t *restrict a, const uint8_t *restrict w, void *const *b%s, int64_t i, int64_t j", n.Coordinates("int64_t "))
	text += more
	if n.Split() {
		text += ", int64_t f, int64_t fn, uint32_t *restrict open"
	}
	return text
}

// blockRange gives the texts of a tile's first block of the fold and of how many there are.
func (n *Kernel) blockRange() (first, count string) {
	if n.Split() {
		return "f", "fn"
	}
	return "0", fmt.Sprint(n.left.blocks())
}

// finishTile writes the calls of finish for the sums of a tile: vector is the text of those of row r, $x in it the number of the
// vector.
func (n *Kernel) finishTile(t narrowTile, vector, rows, whole string, rest string) {
	lanes := int64(n.Product.N)
	call := func(x, count string) {
		sum := strings.ReplaceAll(vector, "$x", x)
		if n.corrected() {
			sum = fmt.Sprintf("k%d_correct(b%s, i + r, j + %s * %d, %s, row_sums[(i + r) %% %d + (i %% %d + r) / %d * %d], %s, %s)",
				n.Number, n.Coordinates(""), x, lanes, sum, tile.NarrowPanel, tile.NarrowPanel, tile.NarrowPanel, n.left.panel()/4, n.columnSums(x), count)
		}
		n.Line("k%d_finish(b%s, i + r, j + %s * %d, %s, %s);", n.Number, n.Coordinates(""), x, lanes, sum, count)
	}
	if n.corrected() {
		n.Line("const tapc_u32_any *row_sums = (const tapc_u32_any *)(a + %d);", n.left.blocks()*panels.BlockBytes)
	}
	n.declareColumnSums(t)
	n.Open("for (int r = 0; r < %s; r++) {", rows)
	if whole != "0" {
		n.Open("for (int x = 0; x < %s; x++) {", whole)
		call("x", fmt.Sprint(lanes))
		n.Close()
	}
	if rest != "0" {
		if rest == "n" { // known at run time
			n.Line("const int x = cols / %d, n = cols %% %d;", lanes, lanes)
			n.Line("if (n == 0) continue;")
			call("x", "n")
		} else {
			call(whole, rest)
		}
	}
	n.Close()
}

// matrixFunction writes the function that computes two by two tiles of the matrix unit, or those of them that there are.
func (t narrowTile) matrixFunction(n *Kernel) {
	first, count := n.blockRange()
	lanes := int64(n.Product.N)
	vector := n.E.V.Type(n.Product.D, int(lanes))
	n.define("tapc_u32_any", "typedef uint32_t tapc_u32_any __attribute__((may_alias));\n")
	n.Line("\n// The sums of up to 32 rows and columns with the matrix unit; a and w are their panels.")
	n.Open("static __attribute__((noinline)) void k%d_amx(%s) {", n.Number, n.parameters(", int rows, int cols"))
	n.Line("const int down = rows > 16, across = cols > 16;")
	if n.Split() {
		n.Line("uint32_t *c = open;")
		n.Open("if (f > 0) {")
		for x, when := range tileLives {
			n.Line("%stapc_tile_load(%d, c + %d);", when, x, 256*x)
		}
		n.Close()
		n.Open("else {")
	} else {
		n.Line("_Alignas(64) uint32_t c[1024];")
	}
	for x := range tileLives {
		n.Line("tapc_tile_zero(%d);", x)
	}
	if n.Split() {
		n.Close()
	}
	n.Open("for (int64_t k = %s, end = %s + %s; k < end; k++) {", first, first, count)
	n.Line("const uint8_t *ak = a + k * %d, *wk = w + k * %d;", panels.BlockBytes, panels.BlockBytes)
	n.Line("for (int x = 0; x < %d; x += 256) TAPC_FETCH(ak, %d + x, 0, 3);", panels.BlockBytes, 4*panels.BlockBytes)
	n.Line("tapc_tile_load(4, ak);")
	n.Line("tapc_tile_load(6, wk);")
	n.Line("%s(0, 4, 6);", t.Function)
	n.Open("if (across) {")
	n.Line("tapc_tile_load(7, wk + %d);", n.right.panel())
	n.Line("%s(1, 4, 7);", t.Function)
	n.Close()
	n.Line("if (!down) continue;")
	n.Line("tapc_tile_load(5, ak + %d);", n.left.panel())
	n.Line("%s(2, 5, 6);", t.Function)
	n.Line("if (across) %s(3, 5, 7);", t.Function)
	n.Close()
	for x, when := range tileLives {
		n.Line("%stapc_tile_store(%d, c + %d);", when, x, 256*x)
	}
	if n.Split() {
		n.Line("if (f + fn < %d) return;", n.left.blocks())
	}
	n.finishTile(t, fmt.Sprintf("*(const %su *)(c + r / 16 * 512 + $x * %d / 16 * 256 + r %% 16 * 16 + $x * %d %% 16)", vector, lanes, lanes),
		"rows", fmt.Sprintf("cols / %d", lanes), "n")
	n.Close()
}

// tileLives are the conditions under which each of the four tiles of sums is there.
var tileLives = []string{"", "if (across) ", "if (down) ", "if (down && across) "}

// vectorFunction writes the function that keeps the sums of some rows and columns in vector registers.
func (t narrowTile) vectorFunction(n *Kernel, rows, cols int64) {
	p := n.Product
	lanes := int64(p.N)
	vectors := (cols + lanes - 1) / lanes
	v := p.E.V.Type(p.VectorType(), p.N)
	first, count := n.blockRange()
	n.Line("\n// The sums of %d rows and %d columns; a and w are their panels.", rows, cols)
	n.Open("static __attribute__((noinline)) %svoid k%d_%s_%dx%d(%s) {", t.Attribute(), p.Number, t.Name, rows, cols, n.parameters(""))
	n.Line("%s s[%d] = {{0}};", v, rows*vectors)
	n.Line("const uint8_t *lane = a + i %% %d * %d;", tile.NarrowPanel, tile.NarrowBlock)
	n.Line("int64_t k = %s;", first)
	n.Open("for (const int64_t end = %s + %s; k < end;) {", first, count)
	for r := range rows {
		n.Line("%s %s;", v, product.List(vectors, func(x int64) string { return fmt.Sprintf("c%d_%d = {0}", r, x) }))
	}
	if run := t.Run(); run > 0 {
		n.Line("const int64_t part = k + %d < end ? k + %d : end;", run, run)
	} else {
		n.Line("const int64_t part = end;")
	}
	n.Open("for (; k < part; k++) {")
	n.Line("const uint8_t *ak = lane + k * %d, *wk = w + k * %d;", panels.BlockBytes, panels.BlockBytes)
	groups := (p.Length + n.n.Group - 1) / n.n.Group
	if groups%tile.NarrowPanel == 0 {
		n.Line("const int groups = %d;", tile.NarrowPanel)
	} else {
		n.Line("const int groups = k + 1 < %d ? %d : %d;", n.left.blocks(), tile.NarrowPanel, groups%tile.NarrowPanel)
	}
	n.Line("#pragma GCC unroll 2")
	n.Open("for (int x = 0; x < groups; x++, ak += 4, wk += %d) {", 4*tile.NarrowPanel)
	bits := p.E.V.Type(scalar.UInt32, p.N)
	for x := range vectors {
		at := x * lanes
		n.Line("const %s w%d = *(const %su *)(wk + %d);", bits, x, bits, at/tile.NarrowPanel*n.right.panel()+at%tile.NarrowPanel*4)
	}
	splat := p.E.V.Splat(vector.Value{Text: "*(const tapc_u32_any *)(ak + $)", Type: scalar.UInt32, Uniform: true}, p.N).Text
	for r := range rows {
		n.Open("{")
		n.Line("const %s a0 = %s;", bits, strings.ReplaceAll(splat, "$", fmt.Sprint(r*tile.NarrowBlock)))
		for x := range vectors {
			n.Line("%s", t.Step(n.E.V, n.Product.N, fmt.Sprintf("c%d_%d", r, x), "a0", fmt.Sprintf("w%d", x)))
		}
		n.Close()
	}
	n.Close(2)
	for r := range rows {
		n.Line("%s", strings.TrimSpace(strings.Join(eachOf(vectors, func(x int64) string { return fmt.Sprintf("s[%d] += c%d_%d;", r*vectors+x, r, x) }), " ")))
	}
	n.Close()
	if n.Split() {
		n.keepSums(v, rows*vectors)
	}
	n.finishTile(t, n.keptSums(t, vectors), fmt.Sprint(rows), fmt.Sprint(cols/lanes), fmt.Sprint(cols%lanes))
	n.Close()
}

// declareColumnSums writes where the sums of the columns' bytes are, if a tile needs them at its end.
func (n *Kernel) declareColumnSums(t narrowTile) {
	if n.corrected() || t.Moves() {
		n.Line("const tapc_u32_any *column_sums = (const tapc_u32_any *)(w + %d);", n.right.blocks()*panels.BlockBytes)
	}
}

// columnSums writes the address of those of the vector x.
func (n *Kernel) columnSums(x string) string {
	lanes := n.Product.N
	return fmt.Sprintf("column_sums + %s * %d %% %d + %s * %d / %d * %d", x, lanes, tile.NarrowPanel, x, lanes, tile.NarrowPanel, n.right.panel()/4)
}

// keptSums writes the sums of vector $x of row r, of which a tile has some in every row.
func (n *Kernel) keptSums(t narrowTile, vectors int64) string {
	sums := fmt.Sprintf("s[r * %d + $x]", vectors)
	if t.Moves() {
		sums = fmt.Sprintf("(%s + (*(const %su *)(%s) << 7))", sums, n.E.V.Type(scalar.UInt32, n.Product.N), n.columnSums("$x"))
	}
	if n.VectorType() != n.Product.D {
		return "(" + n.E.V.Type(n.Product.D, n.Product.N) + ")" + sums
	}
	return sums
}

// keepSums adds the sums of the parts of the fold before this one, and keeps them if it is not the last.
func (n *Kernel) keepSums(vector string, count int64) {
	n.Line("%su *kept = (%su *)open;", vector, vector)
	n.Line("if (f > 0) for (int x = 0; x < %d; x++) s[x] += kept[x];", count)
	n.Open("if (f + fn < %d) {", n.left.blocks())
	n.Line("for (int x = 0; x < %d; x++) kept[x] = s[x];", count)
	n.Line("return;")
	n.Close()
}

// eachOf gives n texts.
func eachOf(n int64, item func(i int64) string) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = item(int64(i))
	}
	return words
}
