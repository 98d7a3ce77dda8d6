package product

import (
	"cmp"
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// Sums are the sums of a register tile: of every row some vectors of a C type.
type Sums struct {
	Type          string
	Rows, Vectors int64
}

// Array is how an array of them is declared: sizes are constants where kernels of several sizes have one function (backends/cpu/template).
func (s Sums) Array(name string) string { return fmt.Sprintf("%s[%d * %d]", name, s.Rows, s.Vectors) }

// Number is a number of a register tile, by the name of its member in C.
type Number struct {
	Name  string
	Value int64
}

// DefineNumbers defines the type of the numbers of a register tile.
func DefineNumbers(v *vector.Printer) { once(v, "numbers.c") }

// Numbers declares the numbers t of a tile of sums. Those that are 0 are left out, so that functions differ in text where they differ in what is done.
func (s Sums) Numbers(numbers ...Number) string {
	var words []string
	for _, n := range append([]Number{{"rows", s.Rows}, {"vectors", s.Vectors}}, numbers...) {
		if n.Value != 0 {
			words = append(words, fmt.Sprintf(".%s = %s", n.Name, tree.Const(n.Value)))
		}
	}
	return "const struct tapc_tile t = {" + strings.Join(words, ", ") + "};"
}

// registerTile writes the function that computes a tile of some rows and columns by the functions of tile.c.
type registerTile struct {
	*Product
	rows, cols int64
	sums       Sums
	call       func(function string) string
}

func tileOf(p *Product, rows, cols int64) *registerTile {
	return &registerTile{p, rows, cols, Sums{p.sumType(), rows, (cols + int64(p.N) - 1) / int64(p.N)}, Tiles(p.E.V, p.D, p.VectorType(), p.N)}
}

// Tiles defines the functions of tile.c for factors of a type, whose sums are vectors of n numbers of another, and gives their names.
func Tiles(v *vector.Printer, d, sum scalar.DType, n int) func(function string) string {
	m, _ := micro.Of(d)
	DefineNumbers(v)
	variant := "" // factors with a sign and without one have sums of one type, but pointers of their own
	if d.IsInt() && !d.IsSigned() {
		variant = "_unsigned"
	}
	return v.Of(sum, n).File(files, "tile.c", variant, "TAPC_STORED "+v.W.Stored(d), "TAPC_LOOSE "+v.Type(sum, n)+"u", "TAPC_LOAD(p, n) "+v.Of(d, n).Load("p", "n"), "TAPC_TAKE(c, a, w) "+m.Step(v, n, "c", "a", "w"))
}

// TileFunction writes the function of a tile of rows by cols.
func (p *Product) TileFunction(rows, cols int64) {
	t, stored, open := tileOf(p, rows, cols), p.E.W.Stored(p.D), p.C.Transposed || p.Sums > 0
	more, next, f, values, kept := "", "&(uintptr_t){0}, 0", "0", fmt.Sprint(p.Cut.Fold), "0"
	switch {
	case open:
		more = fmt.Sprintf(", %s *restrict open", p.element())
	case p.Split():
		more, f, kept = fmt.Sprintf(", int64_t f, int64_t fn, %s *restrict open", t.sums.Type), "f", "open"
		if p.C.InnerReduction()%p.Cut.Fold != 0 {
			values = "fn"
		}
	}
	if p.Cut.Groups > 0 {
		more += fmt.Sprintf(", %s *restrict group", t.sums.Type)
	}
	if a := addresses(p); a != "" {
		more, next = more+a, "&next, "+map[bool]string{true: "step", false: "0"}[strings.HasSuffix(a, "step")]
	}
	p.Line("\n// The sums of %d rows and %d columns; a is the first row of the left operand, w the columns of the right.", rows, cols)
	p.Open("static __attribute__((noinline)) void %s_%dx%d(const %s *restrict a, const %s *restrict w, void *const *b%s, int64_t i, int64_t j%s) {",
		p.Name, rows, cols, stored, stored, p.Coordinates("int64_t "), more)
	p.Line("%s", t.numbers())
	p.Line("%s %s, %s, %s;", t.sums.Type, t.sums.Array("s"), t.sums.Array("c"), t.sums.Array("totals"))
	p.Line("(void)b, %s%s(void)i, (void)j;", map[bool]string{true: "(void)fn, "}[p.Split() && !open], p.Voids())
	t.expect()
	p.Line("%s(t, %s, %s, s);", t.call("tapc_sums_begin"), f, kept)
	at := p.outerLoops()
	p.Line("%s(t, a%s, w%s, %s, %s, %s, %s, c, totals, s);", t.call("tapc_sums_add"), at[0], at[1], f, values, next, kept)
	p.Close(len(p.outerReduction()))
	if p.Split() {
		p.Line("if (!%s(t, f, %s, open, s)) return;", t.call("tapc_sums_end"), values)
	}
	switch {
	case open:
		p.Line("%s(t, s, open, %d);", t.call("tapc_sums_put"), cmp.Or(p.Sums, p.OpenCols()))
	case p.Cut.Groups > 0:
		p.Line("__builtin_memcpy(group, s, sizeof s);")
	default:
		t.finish()
	}
	p.Close()
}

// numbers declares those of the tile.
func (t *registerTile) numbers() string {
	p, left, right := t.Product, t.C.Views[t.C.Left], t.C.Views[t.C.Right]
	step, row, width, apart, span := p.Panel, int64(1), p.LeftWidth(), p.Panel*p.Deep(), p.C.InnerReduction()
	if width == 0 {
		width, row = p.InnerStep(left), p.C.Row.Step(left)
	}
	aligned, rest := int64(1), int64(0)
	if p.Pack.Right == tile.Unpacked {
		aligned, rest, apart = 0, t.cols%int64(p.N), p.Panel
		if len(p.C.Reduction) > 0 {
			step = p.InnerStep(right)
		}
	}
	m, _ := micro.Of(p.D)
	if p.Several() {
		span = p.Cut.Span()
	}
	numbers := []Number{{"steps", m.Unrolled(t.sums.Rows * t.sums.Vectors)}, {"row", row}, {"left", width}, {"step", step}, {"panel", p.Panel}, {"apart", apart}, {"aligned", aligned}, {"rest", rest}, {"ahead", p.Ahead()},
		{"length", p.C.InnerReduction()}, {"fold", p.Cut.Fold}, {"block", p.Cut.Block}, {"span", span}, {"groups", p.Cut.Groups}}
	if runs := p.Length / p.C.InnerReduction(); runs > 1 {
		numbers = append(numbers, Number{"runs", runs})
		if cost.Resident(t.sums.Rows, t.sums.Vectors, p.Target.Registers) {
			numbers = append(numbers, Number{"resident", 1})
		}
	}
	if p.Split() || p.Cut.Groups > 0 {
		numbers = append(numbers, Number{"area", p.OpenArea()})
	}
	switch p.Cut.Prefetch {
	case schedule.PrefetchRows:
		numbers = append(numbers, Number{"next_left", 1})
	case schedule.PrefetchStrip, schedule.PrefetchMacroTile:
		numbers = append(numbers, Number{"next_right", 1})
	case schedule.PrefetchColumns:
		numbers = append(numbers, Number{"lines", pace(p.Blocking)}, Number{"columns", (p.Cut.TileCols + p.Panel - 1) / p.Panel})
	}
	return t.sums.Numbers(numbers...)
}

// outerLoops opens loops over the reduced dimensions but the innermost, and gives how far on the factors are in them.
func (p *Product) outerLoops() [2]string {
	return OuterLoops(p.Text, p.C.Reduction, func(d nest.Dim, inside int64) [2]int64 {
		steps := [2]int64{d.Step(p.C.Views[p.C.Left]), d.Step(p.C.Views[p.C.Right])}
		if p.Pack.Paneled() {
			steps[0] = inside * tile.RowPanel
		}
		if p.Pack.Right != tile.Unpacked {
			steps[1] = inside * p.Panel
		}
		return steps
	})
}

// OuterLoops opens loops over the dimensions of a reduction but the innermost, and gives how far on the factors are in them, which a function says for one of
// a dimension, inside of which there are some values.
func OuterLoops(t *cnest.Text, reduction []nest.Dim, steps func(d nest.Dim, inside int64) [2]int64) (at [2]string) {
	for x, d := range reduction[:max(0, len(reduction)-1)] {
		t.Open("for (int64_t f%d = 0; f%d < %d; f%d++) {", x, x, d.Extent, x)
		for i, s := range steps(d, nest.Points(reduction[x+1:])) {
			at[i] += fmt.Sprintf(" + f%d * %s", x, tree.Const(s))
		}
	}
	return at
}

// expect asks for the lines that finish reads and writes while the sums are taken: a tile touches a few lines of every row, or of every
// column if its sums are turned, which no processor sees coming.
func (t *registerTile) expect() {
	p, count, length := t.Product, t.rows, t.cols
	dims, _ := Results(p.Blocking)
	at := Begin("", p.K, p.C.Views, dims, 0, "i", "j")
	if p.C.Transposed {
		count, length = length, count
	}
	_, apart := p.Neighbours()
	touched := func(operand int) bool {
		return p.K.Operands[operand].Mode == schedule.Write || nest.ReadsBeside(p.K, operand, p.C.Sum)
	}
	last := map[bool]string{true: fmt.Sprintf("if (f + fn >= %d) ", p.C.InnerReduction())}[p.Split()]
	for _, i := range blocking.Expected(p.Blocking, p.E.Buffers, touched) {
		o, v := p.K.Operands[i], p.C.Views[i]
		once(p.E.V, "expect.c")
		function, size := "tapc_expect_read", int64(o.Type().Size())
		if o.Mode == schedule.Write {
			function = "tapc_expect_written"
		}
		t.Line("%s%s((const %s *)b[%d] + %s, %d, %s, %d); // %s", last, function, p.E.W.Stored(o.Type()), p.E.Slot(o.Buffer), at.Load(i).Address(), count,
			tree.Const(apart.Step(v)*size), length*size, o.Name)
	}
}

// fewOperations is up to how many operations statements have of which each vector of sums gets code of its own.
const fewOperations = 8

// kept says whether sums stay in registers until they are finished: they are one partial sum, and what is done with them is little. They then are not stored and read again, which of a short
// reduction takes as long as a few of its steps.
func (t *registerTile) kept() bool {
	operations := 0
	for _, s := range t.K.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			operations++
			return e.Op != scalar.Reduce
		})
	}
	return operations <= fewOperations && !t.Split() && t.Length <= t.Cut.Block
}

// finish calls finish for every vector of sums.
func (t *registerTile) finish() {
	p, signed := t.Product, ""
	if p.VectorType() != p.D {
		signed = "(" + p.E.V.Type(p.D, p.N) + ")"
	}
	call := func(vector, count string) {
		t.Line("%s_finish(b%s, i + r, j + %s * %d, %ss[r * %d + %s], %s);", p.Name, p.Coordinates(""), vector, p.N, signed, t.sums.Vectors, vector, count)
	}
	whole, rest := t.cols/int64(p.N), t.cols%int64(p.N)
	unroll := func() {
		if t.kept() {
			t.Line("TAPC_UNROLL")
		}
	}
	unroll()
	t.Open("for (int r = 0; r < %d; r++) {", t.rows)
	if whole > 0 {
		unroll()
		t.Open("for (int x = 0; x < %d; x++) {", whole)
		call("x", fmt.Sprint(p.N))
		t.Close()
	}
	if rest > 0 {
		call(fmt.Sprint(whole), fmt.Sprint(rest))
	}
	t.Close()
}
