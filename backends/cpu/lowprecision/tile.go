package lowprecision

import (
	"cmp"
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// define adds a text to the definitions before the kernels.
func (n *Kernel) define(name, text string) { n.p.E.V.Define(name, func() string { return text }) }

// once adds a file of micro-kernels to the definitions before the kernels.
func once(v *vector.Printer, file string) {
	v.Define(file, func() string { return micro.Text(file) })
}

// Tiles defines what computes register tiles by a row of the table of micro-kernels, whose sums are vectors of some numbers of a type, and gives the names of its functions.
func Tiles(v *vector.Printer, m micro.Kernel, sum scalar.DType, lanes int) func(function string) string {
	product.DefineNumbers(v)
	m.Define(v, lanes)
	if m.Form == micro.MatrixUnit {
		once(v, "tilerows.c")
		return v.Of(sum, lanes).File(files, "matrix.c", "_"+m.Function, "TAPC_TAKE(c, a, w) "+m.Function+"(c, a, w)")
	}
	once(v, "some.c")
	v.Define("tapc_u32_at", func() string { return "typedef uint32_t tapc_u32_at __attribute__((may_alias, aligned(1)));\n" })
	groups := v.Type(scalar.UInt32, lanes)
	return v.Of(sum, lanes).File(files, "tile.c", "_"+m.Name, "TAPC_KNOWN "+cmp.Or(m.Known(), "1"), "TAPC_ROW_FN "+m.Attribute()+"TAPC_FN", fmt.Sprintf("TAPC_RUN %d", m.Run()),
		"TAPC_VECTOR_AT "+v.Type(sum, lanes)+"u", "TAPC_GROUPS "+groups, "TAPC_GROUPS_AT "+groups+"u", "TAPC_SPLAT(x) "+v.Splat(vector.Value{Text: "x", Type: scalar.UInt32, Uniform: true}, lanes).Text,
		"TAPC_TAKE(c, a, w) "+m.Step(v, lanes, "c", "a", "w"))
}

// functions writes those of all tiles, in all sizes.
func (n *Kernel) functions() {
	for _, t := range n.tiles {
		call := Tiles(n.p.E.V, t.Kernel, n.p.VectorType(), n.p.N)
		n.guarded(t, func() {
			if t.Form == micro.MatrixUnit {
				t.matrixFunction(n, call)
				return
			}
			product.EachSize(t.rows, n.p.C.Row.Extent, func(rows int64) {
				product.EachSize(t.cols, n.p.C.Col.Extent, func(cols int64) { t.vectorFunction(n, call, rows, cols) })
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
func (t registerTile) matrixFunction(n *Kernel, call func(function string) string) {
	n.open("up to 32 rows and columns with the matrix unit", "", "amx", ", int rows, int cols")
	n.Line("const int down = rows > 16, across = cols > 16;")
	numbers := n.numbers(16 * n.bytesOf(n.p.C.Row))
	if !n.n.Unpacked {
		numbers = n.numbers(n.left.panel())
	}
	n.Line("%s", product.Sums{}.Numbers(numbers...))
	if n.parted() {
		n.Line("uint32_t *c = open;")
	} else {
		n.Line("_Alignas(64) uint32_t c[1024];")
	}
	first, count := n.part()
	n.Line("%s(%s, c, down, across);", call("tapc_matrix_begin"), first)
	if n.n.Unpacked {
		at := n.runs()
		n.Line("%s(t, a%s, w%s, rows, down, across);", call("tapc_matrix_run"), at[0], at[1])
		n.Close(len(n.p.C.Reduction) - 1)
	} else {
		n.Line("%s(t, a, w, %s, %s, down, across);", call("tapc_matrix_panels"), first, count)
	}
	n.Line("%s(c, down, across);", call("tapc_matrix_end"))
	if n.parted() {
		n.Line("if (f + fn < %d) return;", n.left.blocks())
	}
	lanes := n.p.N
	n.finishTile(t, func(x string) string {
		return fmt.Sprintf("*(const %su *)(c + r / 16 * 512 + %s * %d / 16 * 256 + r %% 16 * 16 + %s * %d %% 16)", n.p.E.V.Type(n.p.D, lanes), x, lanes, x, lanes)
	}, "rows", fmt.Sprintf("cols / %d", lanes), "n")
	n.Close()
}

// part is the first of the blocks that are multiplied at once, and how many these are.
func (n *Kernel) part() (first, count string) {
	if n.parted() {
		return "f", "fn"
	}
	return "0", fmt.Sprint(n.left.blocks())
}

// numbers are those of a register tile beside its rows and vectors; half is how far its second sixteen rows are behind its first.
func (n *Kernel) numbers(half int64) []product.Number {
	common := []product.Number{{Name: "panel", Value: n.right.panel()}, {Name: "half", Value: half}}
	if n.n.Unpacked {
		run := n.n.Run() * n.left.layout.Blocked.Size()
		return append(common, product.Number{Name: "row", Value: n.bytesOf(n.p.C.Row)}, product.Number{Name: "whole", Value: run / 4}, product.Number{Name: "some", Value: run % 4})
	}
	groups := (n.p.Length + n.n.Group - 1) / n.n.Group
	return append(common, product.Number{Name: "row", Value: tile.NarrowBlock}, product.Number{Name: "whole", Value: (groups-1)%tile.NarrowPanel + 1}, product.Number{Name: "blocks", Value: n.left.blocks()})
}

// vectorFunction writes the function that keeps the sums of some rows and columns in vector registers.
func (t registerTile) vectorFunction(n *Kernel, call func(function string) string, rows, cols int64) {
	lanes := int64(n.p.N)
	sums := product.Sums{Type: n.p.E.V.Type(n.p.VectorType(), n.p.N), Rows: rows, Vectors: (cols + lanes - 1) / lanes}
	n.open(fmt.Sprintf("%d rows and %d columns", rows, cols), t.Attribute(), fmt.Sprintf("%s_%dx%d", t.Name, rows, cols), "")
	n.Line("%s", sums.Numbers(n.numbers(0)...))
	n.Line("%s %s, %s = {{0}};", sums.Type, sums.Array("c"), sums.Array("s"))
	first, count := n.part()
	if n.n.Unpacked {
		n.Line("%s(t, c);", call("tapc_groups_begin"))
		at := n.runs()
		n.Line("%s(t, a%s, w%s, c, s);", call("tapc_run"), at[0], at[1])
		n.Close(len(n.p.C.Reduction) - 1)
		if t.Run() == 0 {
			n.Line("%s(t, c, s);", call("tapc_groups_end"))
		}
	} else {
		n.Line("%s(t, a + i %% %d * %d, w, %s, %s, c, s);", call("tapc_panels"), tile.NarrowPanel, tile.NarrowBlock, first, count)
	}
	if n.parted() {
		n.Line("if (!%s(t, f, fn, open, s)) return;", call("tapc_groups_whole"))
	}
	n.finishTile(t, func(x string) string { return t.result(n, sums, x) }, fmt.Sprint(rows), fmt.Sprint(cols/lanes), fmt.Sprint(cols%lanes))
	n.Close()
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
