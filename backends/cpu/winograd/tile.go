package winograd

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/ir/scalar"
)

// grid names the elements of a square of variables.
func grid(letter string, row, column int64) string { return fmt.Sprintf("%s%d%d", letter, row, column) }

// square writes a transformation of a square of elements from both sides: of variables from.. the variables to.., which has rows by
// rows of them, by way of its columns.
func (w *Kernel) square(matrix [][]float64, from, to string) {
	t := w.p.E.V.Type(scalar.Float32, w.p.N)
	around, rows := int64(len(matrix[0])), int64(len(matrix))
	declare := func(lines []string) {
		w.Line("const %s %s;", t, product.List(int64(len(lines)), func(i int64) string { return lines[i] }))
	}
	names := func(name func(i int64) string) []string {
		out := make([]string, around)
		for i := range around {
			out[i] = name(i)
		}
		return out
	}
	for c := range around {
		declare(panels.Transform(matrix, names(func(i int64) string { return grid(from, i, c) }), fmt.Sprintf("part%d_", c),
			func(r int) string { return grid("half", int64(r), c) }))
	}
	for r := range rows {
		declare(panels.Transform(matrix, names(func(i int64) string { return grid("half", r, i) }), fmt.Sprintf("side%d_", r),
			func(c int) string { return grid(to, r, int64(c)) }))
	}
}

// pointFunction writes the function that transforms some channels of a tile's elements.
func (w *Kernel) pointFunction() {
	v, around := w.p.E.V, w.w.Size+2
	t := v.Type(scalar.Float32, w.p.N)
	w.Line("\n// The points of a tile, in some channels; its elements are down and across apart.")
	w.Open("TAPC_FN void %s_point(const float *from, int64_t down, int64_t across, float *restrict to, int n) {", w.p.Name)
	w.Line("(void)n;")
	for r := range around {
		for c := range around {
			w.Line("const %s %s = %s;", t, grid("d", r, c), v.Of(scalar.Float32, w.p.N).Load(fmt.Sprintf("from + %d * down + %d * across", r, c), "n"))
		}
	}
	w.square(panels.WinogradForms[w.w.Size].Image, "d", "u")
	for r := range around {
		for c := range around {
			w.Line("*(%s *)(to + %d) = %s;", t, (r*around+c)*w.memory.point, grid("u", r, c))
		}
	}
	w.Close()
}

// patchFunction writes the function that copies a part of the image, its channels innermost, with zeros around.
func (w *Kernel) patchFunction() {
	view := w.w.Views[w.w.Image]
	down, across, channel := w.w.Down.Step(view), w.w.Across.Step(view), w.w.In.Step(view)
	line, in, n := w.memory.line, w.w.In.Extent, int64(w.p.N)
	w.Line("\n// Some rows and columns of an image, its channels innermost, with zeros around.")
	w.Open("static void %s_patch(const float *image, int64_t row, int64_t rows, int64_t column, int64_t columns, float *restrict to) {", w.p.Name)
	w.Line("const int64_t first = column > 0 ? column : 0, end = column + columns < %d ? column + columns : %d;", w.w.Across.Bound, w.w.Across.Bound)
	w.Open("for (int64_t r = row; r < row + rows; r++, to += columns * %d) {", line)
	w.Open("if (r < 0 || r >= %d || first >= end) {", w.w.Down.Bound)
	w.Line("__builtin_memset(to, 0, (uint64_t)(columns * %d) * sizeof *to);", line)
	w.Line("continue;")
	w.Close()
	w.Line("const float *from = image + r * %s;", point.Number(down))
	w.Line("float *const inside = to + (first - column) * %d;", line)
	w.Line("__builtin_memset(to, 0, (uint64_t)((first - column) * %d) * sizeof *to);", line)
	w.Line("__builtin_memset(to + (end - column) * %d, 0, (uint64_t)((column + columns - end) * %d) * sizeof *to);", line, line)
	if !w.transposed {
		w.Line("for (int64_t x = first; x < end; x++) __builtin_memcpy(inside + (x - first) * %d, from + x * %s, %d * sizeof *to);", line, point.Number(across), in)
		w.Close(2)
		return
	}
	w.Line("int64_t c = 0;")
	single := func() {
		w.Line("inside[(x - first) * %d + c] = from[x * %s + c * %s];", line, point.Number(across), point.Number(channel))
	}
	if across == 1 {
		turn := func() string {
			return w.p.E.V.Of(scalar.Float32, w.p.N).Transpose(w.p.N, fmt.Sprintf("from + x + c * %s", point.Number(channel)), point.Number(channel),
				fmt.Sprintf("inside + (x - first) * %d + c", line), point.Number(line))
		}
		w.Open("if (end - first >= %d) {", n)
		w.Open("for (; c + %d <= %d; c += %d) {", n, in, n)
		w.Line("int64_t x = first;")
		w.Line("for (; x + %d <= end; x += %d) %s;", n, n, turn())
		w.Open("if (x < end) {")
		w.Line("x = end - %d; // some again", n)
		w.Line("%s;", turn())
		w.Close(3)
	}
	w.Open("for (; c < %d; c++) {", in)
	w.Open("for (int64_t x = first; x < end; x++) {")
	single()
	w.Close(4)
}

// imageFunction writes the function that transforms the elements of a piece's tiles.
func (w *Kernel) imageFunction() {
	o, view := w.kernel.Operands[w.w.Image], w.w.Views[w.w.Image]
	d, a, size, line := w.w.Down, w.w.Across, w.w.Size, w.memory.line
	around := size + 2
	down, across := d.Step(view), a.Step(view)
	w.p.E.Raw(o.Buffer)
	w.Line("\n// The points of the tiles of some results.")
	w.Open("static void %s_image(void *const *b%s, int64_t y0, int64_t y1, int64_t x0, int64_t x1, float *restrict patch, float *restrict to) {", w.p.Name, point.Coordinates(w.batch, "int64_t "))
	w.Line("const float *image = (const float *)b[%d] + %s; // %s, from its first row and column on", w.p.E.Slot(o.Buffer),
		point.OffsetText(point.Start(w.kernel, view)-d.First*down-a.First*across, w.batch, view), o.Name)
	w.Line("%s(void)patch;", point.Voids(w.batch))
	if w.transposed {
		w.Line("const int64_t high = (y1 - y0 + %d) / %d * %d + 2, wide = (x1 - x0 + %d) / %d * %d + 2;", size-1, size, size, size-1, size, size)
		w.Line("%s_patch(image, y0 + %s, high, x0 + %s, wide, patch);", w.p.Name, point.Number(d.First), point.Number(a.First))
	}
	w.Open("for (int64_t y = y0; y < y1; y += %d) {", size)
	w.Open("for (int64_t x = x0; x < x1; x += %d, to += %d) {", size, line)
	if w.transposed {
		w.Line("const float *from = patch + ((y - y0) * wide + x - x0) * %d;", line)
		w.Line("const int64_t down = wide * %d, across = %d;", line, line)
	} else {
		w.Line("const int64_t row = y + %s, column = x + %s;", point.Number(d.First), point.Number(a.First))
		w.Line("const float *from = patch;")
		w.Line("int64_t down = %d, across = %d;", around*line, line)
		w.Line("if (row < 0 || row + %d > %d || column < 0 || column + %d > %d) %s_patch(image, row, %d, column, %d, patch);", around, d.Bound, around, a.Bound,
			w.p.Name, around, around)
		w.Line("else from = image + row * %s + column * %s, down = %s, across = %s;", point.Number(down), point.Number(across), point.Number(down), point.Number(across))
	}
	n := int64(w.p.N)
	if whole := w.w.In.Extent / n * n; whole > 0 {
		w.Line("for (int64_t c = 0; c < %d; c += %d) %s_point(from + c, down, across, to + c, %d);", whole, n, w.p.Name, n)
	}
	if rest := w.w.In.Extent % n; rest > 0 {
		w.Line("%s_point(from + %d, down, across, to + %d, %d);", w.p.Name, w.w.In.Extent-rest, w.w.In.Extent-rest, rest)
	}
	w.Close(3)
}

// keepSums writes the function that a register tile calls with each vector of its sums.
func (w *Kernel) keepSums() {
	t := w.p.E.V.Type(scalar.Float32, w.p.N)
	w.Open("\nTAPC_FN void %s_finish(void *const *b, int64_t i, int64_t j, %s sum, int n) {", w.p.Name, t)
	w.Line("(void)n;")
	w.Line("*(%s *)((float *)b[0] + i * %d + j) = sum;", t, w.memory.sumLine)
	w.Close()
}

// resultFunction writes the function that transforms some channels of a tile's sums back.
func (w *Kernel) resultFunction() {
	t, size, around := w.p.E.V.Type(scalar.Float32, w.p.N), w.w.Size, w.w.Size+2
	w.Line("\n// The results of a tile, in some channels; results in a column are down apart.")
	w.Open("TAPC_FN void %s_result(const float *from, float *restrict to, int64_t down) {", w.p.Name)
	for r := range around {
		for c := range around {
			w.Line("const %s %s = *(const %s *)(from + %d);", t, grid("s", r, c), t, (r*around+c)*w.memory.sumPoint)
		}
	}
	w.square(panels.WinogradForms[size].Result, "s", "y")
	for r := range size {
		for c := range size {
			w.Line("*(%s *)(to + %d * down + %d) = %s;", t, r, c*int64(w.p.N), grid("y", r, c))
		}
	}
	w.Close()
}

// resultsMemory is the argument or the parameter of the memory in which rows of results are put together, if they are.
func (w *Kernel) resultsMemory(text string) string {
	if !w.rows {
		return ""
	}
	return ", " + text
}

// epilogue writes the function of the kernel's statements on a vector of sums: of neighbouring channels, or of a row.
func (w *Kernel) epilogue() {
	at := &point.Point{V: w.p.E.V, K: w.kernel, Views: w.w.Views, Axes: w.places(), N: w.p.N, Count: "n", Locals: map[int]vector.Value{},
		Sums: map[*scalar.Expr]vector.Value{w.w.Sum: {Text: "sum", Type: scalar.Float32}}}
	at.Along = len(at.Axes) - 1
	if w.rows {
		at.Along--
	}
	product.Epilogue(w.Text, w.p.E, at, w.p.Name+"_epilogue", w.w.Sum)
	at.Statements(w.Text, 0, len(w.kernel.Statements))
	w.Close()
}

// places gives the axes of the kernel's results.
func (w *Kernel) places() []point.Axis {
	return append(append([]point.Axis{}, w.batch...), point.Axis{Dim: w.w.Down.Dim, Variable: "y"}, point.Axis{Dim: w.w.Across.Dim, Variable: "x"}, point.Axis{Dim: w.w.Out, Variable: "o"})
}

// resultsFunction writes the function that makes results of a piece's sums and carries out the statements on them.
func (w *Kernel) resultsFunction() {
	t, size, n := w.p.E.V.Type(scalar.Float32, w.p.N), w.w.Size, int64(w.p.N)
	w.Line("\n// The results of a piece.")
	w.Open("static void %s_results(void *const *b%s, int64_t y0, int64_t y1, int64_t x0, int64_t x1, int64_t o0, int64_t o1, const float *sums%s) {", w.p.Name,
		point.Coordinates(w.batch, "int64_t "), w.resultsMemory("float *restrict rows"))
	call := func(y, x, o, vector string, count int64) {
		w.Line("%s_epilogue(b%s, %s, %s, %s, %s, %d);", w.p.Name, point.Coordinates(w.batch, ""), y, x, o, vector, count)
	}
	if w.rows {
		w.Line("const int64_t across = (x1 - x0 + %d) / %d;", size-1, size)
		w.Open("for (int64_t o = o0; o < o1; o += %d) {", n)
		w.Open("for (int64_t y = y0; y < y1; y += %d) {", size)
		w.Line("const float *from = sums + (y - y0) / %d * across * %d + o - o0;", size, w.memory.sumLine)
		w.Line("for (int64_t x = 0; x < across; x++) %s_result(from + x * %d, rows + x * %d, %d);", w.p.Name, w.memory.sumLine, size*n, w.memory.resultLine*n)
		w.Open("for (int64_t r = 0; r < %d && y + r < y1; r++) {", size)
		w.Open("for (int64_t x = x0; x < x1; x += %d) {", n)
		w.Line("%s turned[%d];", t, n)
		w.Line("%s;", w.p.E.V.Of(scalar.Float32, w.p.N).Transpose(w.p.N, fmt.Sprintf("rows + (r * %d + x - x0) * %d", w.memory.resultLine, n), fmt.Sprint(n), "(float *)turned", fmt.Sprint(n)))
		w.Open("for (int l = 0; l < %d && o + l < o1; l++) {", n)
		product.AtEdge(w.Text, "x", n, w.w.Across.Extent, func(count int64) { call("y + r", "x", "o + l", "turned[l]", count) })
		w.Close(3)
	} else {
		w.Open("for (int64_t y = y0; y < y1; y += %d) {", size)
		w.Open("for (int64_t x = x0; x < x1; x += %d, sums += %d) {", size, w.memory.sumLine)
		w.Open("for (int64_t o = o0; o < o1; o += %d) {", n)
		w.Line("%s r[%d];", t, size*size)
		w.Line("%s_result(sums + o - o0, (float *)r, %d);", w.p.Name, size*n)
		w.Open("for (int i = 0; i < %d && y + i < y1; i++) {", size)
		w.Open("for (int j = 0; j < %d && x + j < x1; j++) {", size)
		product.AtEdge(w.Text, "o", n, w.w.Out.Extent, func(count int64) { call("y + i", "x + j", "o", fmt.Sprintf("r[i * %d + j]", size), count) })
		w.Close(3)
	}
	w.Close(3)
}
