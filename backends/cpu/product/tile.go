package product

import (
	"cmp"
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/passes/tile"
)

// registerTile writes the function that computes a tile of some rows and columns: every sum has a variable of its own, and the loop over the
// reduction is written out for all of them.
type registerTile struct {
	*cnest.Text
	p          *Product
	rows, cols int64
	sums       Sums
}

// tileOf gives the writer of a tile.
func tileOf(p *Product, rows, cols int64) *registerTile {
	return &registerTile{p.Text, p, rows, cols, Sums{p.sumType(), rows, (cols + int64(p.N) - 1) / int64(p.N)}}
}

// TileFunction writes the function of a tile of rows by cols.
func (p *Product) TileFunction(rows, cols int64) {
	t, stored := tileOf(p, rows, cols), p.E.W.Stored(p.D)
	p.Line("\n// The sums of %d rows and %d columns; a is the first row of the left operand, w the columns of the right.", rows, cols)
	more := ""
	switch {
	case p.C.Transposed || p.Sums > 0:
		more = fmt.Sprintf(", %s *restrict open", p.element())
	case p.Split():
		more = fmt.Sprintf(", int64_t f, int64_t fn, %s *restrict open", t.sums.Type)
	}
	if p.Cut.Groups > 0 {
		more += fmt.Sprintf(", %s *restrict group", t.sums.Type)
	}
	more += fetch{p}.addresses("uintptr_t ")
	p.Open("static __attribute__((noinline)) void %s_%dx%d(const %s *restrict a, const %s *restrict w, void *const *b%s, int64_t i, int64_t j%s) {",
		p.Name, rows, cols, stored, stored, p.Coordinates("int64_t "), more)
	p.Line("%s s[%d] = {{0}};", t.sums.Type, t.sums.count())
	t.expect()
	if p.Split() {
		t.resume()
	}
	t.reduction()
	if p.Split() {
		t.unfinished()
	}
	switch {
	case p.C.Transposed || p.Sums > 0:
		p.Line("(void)b, %s(void)i, (void)j;", p.Voids())
		p.Line("for (int r = 0; r < %d; r++) for (int x = 0; x < %d; x++) *(%s *)(open + r * %d + x * %d) = s[r * %d + x];", rows, t.sums.Vectors,
			t.sums.Type, cmp.Or(p.Sums, p.OpenCols()), p.N, t.sums.Vectors)
	case p.Cut.Groups > 0:
		p.Line("(void)b, %s(void)i, (void)j;", p.Voids())
		t.each("group[x] = s[x]")
	default:
		t.finish()
	}
	p.Close()
}

// expect asks for the lines that finish reads and writes while the sums are taken: a tile touches a few lines of every row, or of every
// column if its sums are turned, which no processor sees coming.
func (t *registerTile) expect() {
	p, count, length := t.p, t.rows, t.cols
	at, _ := Results(p.Blocking)
	if p.C.Transposed {
		count, length = length, count
	}
	_, apart := p.Neighbours()
	touched := func(operand int) bool {
		return p.K.Operands[operand].Mode == schedule.Write || nest.ReadsBeside(p.K, operand, p.C.Sum)
	}
	for _, i := range blocking.Expected(p.Blocking, p.E.Buffers, touched) {
		o, v := p.K.Operands[i], p.C.Views[i]
		t.Open("%s{", map[bool]string{true: fmt.Sprintf("if (f + fn >= %d) ", p.C.InnerReduction())}[p.Split()])
		t.Line("const %s *q = (const %s *)b[%d] + %s; // %s", p.E.W.Stored(o.Type()), p.E.W.Stored(o.Type()), p.E.Slot(o.Buffer), point.OffsetText(point.Start(p.K, v), at, v), o.Name)
		t.Open("for (int r = 0; r < %d; r++) {", count)
		t.Line("for (int x = 0; x < %d; x += %d) TAPC_FETCH(q, r * %s + x, %d, 3);", length, tile.PanelBytes/o.Type().Size(), point.Number(apart.Step(v)),
			map[bool]int{true: 1}[o.Mode == schedule.Write])
		t.Close(2)
	}
}

// A sum of float products is a tree over the reduction (docs/numerics.md): partial sums of cut.block products, sums of tile.SumBlock of these, and
// the sum of all of those. It does not depend on the parts that run at once: a tile goes on with what it finds in open, its innermost sums
// that are not whole, and behind these in the others.

// each writes an operation on all sums of a tile.
func (t *registerTile) each(operation string) {
	t.Line("for (int x = 0; x < %d; x++) %s;", t.sums.count(), operation)
}

// resume writes how a tile goes on with the sums of the parts of the reduction before this one.
func (t *registerTile) resume() {
	p, behind := t.p, int64(0)
	if p.Within() && p.C.InnerReduction() > p.Cut.Block {
		behind += p.OpenArea()
		t.Line("%s *sums = open + %d;", t.sums.Type, behind)
	}
	if p.Several() && p.Cut.Groups == 0 {
		behind += p.OpenArea()
		t.Line("%s *totals = open + %d;", t.sums.Type, behind)
	}
	if p.Within() {
		return // the products themselves go on
	}
	if p.Several() {
		t.Open("if (f %% %d != 0) {", p.Cut.Span())
	} else {
		t.Open("if (f > 0) {")
	}
	t.each("s[x] = open[x]")
	t.Close()
}

// unfinished keeps the sums of a tile if this is not the last part of the reduction.
func (t *registerTile) unfinished() {
	p := t.p
	last, kept := fmt.Sprintf("f + fn == %d", p.C.InnerReduction()), "open"
	keep := func(to string) {
		t.each(to + "[x] = s[x]")
		t.Line("return;")
		t.Close()
	}
	if p.Within() {
		t.Open("if (f + fn < %d && (f + fn) %% %d != 0) {", p.C.InnerReduction(), p.Cut.Block)
		keep("open")
		if p.C.InnerReduction() <= p.Cut.Block {
			return
		}
		kept = "sums"
		if p.Several() {
			t.Open("if (f %% %d >= %d) {", p.Cut.Span(), p.Cut.Block)
		} else {
			t.Open("if (f >= %d) {", p.Cut.Block)
		}
		t.each("s[x] = sums[x] + s[x]")
		t.Close()
	}
	if !p.Several() {
		t.Open("if (!(%s)) {", last)
		keep(kept)
		return
	}
	t.Open("if (!(%s) && (f + fn) %% %d != 0) {", last, p.Cut.Span())
	keep(kept)
	if p.Cut.Groups > 0 {
		return
	}
	t.Open("if (f >= %d) {", p.Cut.Span())
	t.each("s[x] = totals[x] + s[x]")
	t.Close()
	t.Open("if (!(%s)) {", last)
	keep("totals")
}

// reduction writes the loops of the sum: of the outer reduced dimensions, and in them blocks of the innermost that each have a partial sum.
func (t *registerTile) reduction() {
	p, outer, innermost := t.p, t.p.outerReduction(), int64(1)
	if n := len(p.C.Reduction); n > 0 {
		innermost = p.C.Reduction[n-1].Extent
	}
	at := reducedLoops(t.Text, outer, p.C.Views[p.C.Left], p.C.Views[p.C.Right])
	names := [2]string{"a", "w"}
	if len(outer) > 0 && !p.Pack.Paneled() {
		names[0] = "ak"
		t.Line("const %s *ak = a%s;", p.E.W.Stored(p.D), at[0])
	}
	if len(outer) > 0 && p.Pack.Right == tile.Unpacked {
		names[1] = "wk"
		t.Line("const %s *wk = w%s;", p.E.W.Stored(p.D), at[1])
	}
	blocks := (p.Cut.Fold + p.Cut.Block - 1) / p.Cut.Block * (p.Length / innermost)
	if p.Split() && !p.Within() {
		blocks++ // those of the parts before
	}
	t.blocks(blocks > 1, names)
	t.Close(len(outer))
}

// blocks writes the innermost dimension of the reduction, in blocks that each have a partial sum; several says that there are more than one.
func (t *registerTile) blocks(several bool, names [2]string) {
	p, length := t.p, t.p.Cut.Fold
	count := fmt.Sprint(length)
	fixed := !p.Split() || p.C.InnerReduction()%length == 0
	if !fixed {
		count = "fn"
	}
	cutUp, inGroups := p.Cut.Block < length, !p.Split() && p.Several()
	if inGroups {
		t.Line("%s totals[%d] = {{0}};", t.sums.Type, t.sums.count())
	}
	if cutUp {
		t.Open("for (int64_t k0 = 0; k0 < %s; k0 += %d) {", count, p.Cut.Block)
		if fixed && length%p.Cut.Block == 0 {
			count = fmt.Sprint(p.Cut.Block)
		} else {
			t.Line("const int64_t kn = %s - k0 < %d ? %s - k0 : %d;", count, p.Cut.Block, count, p.Cut.Block)
			count = "kn"
		}
	}
	fetch{p}.block()
	t.sums.Declare(t.Text)
	if p.Within() {
		t.Open("if (f %% %d != 0) {", p.Cut.Block)
		for r := range t.rows {
			t.Line("%s;", List(t.sums.Vectors, func(x int64) string { return fmt.Sprintf("c%d_%d = open[%d]", r, x, r*t.sums.Vectors+x) }))
		}
		t.Close()
	}
	t.multiply(count, names)
	if several {
		t.sums.Add(t.Text)
	} else {
		t.sums.Keep(t.Text)
	}
	if inGroups {
		t.Line("if ((k0 + %d) %% %d == 0) for (int x = 0; x < %d; x++) totals[x] += s[x], s[x] = (%s){0};", p.Cut.Block, p.Cut.Span(), t.sums.count(), t.sums.Type)
	}
	if cutUp {
		t.Close()
	}
	if inGroups {
		t.each("s[x] = totals[x] + s[x]")
	}
}

// multiply writes the loop that adds products to the sums in registers.
func (t *registerTile) multiply(count string, names [2]string) {
	p, a, w, vectors := t.p, names[0], names[1], t.sums.Vectors
	left, right := p.C.Views[p.C.Left], p.C.Views[p.C.Right]
	step, leftStep, rowStep := p.Panel, p.LeftWidth(), int64(1)
	if leftStep == 0 {
		leftStep, rowStep = p.InnerStep(left), p.C.Row.Step(left)
	}
	unaligned := ""
	if p.Pack.Right == tile.Unpacked {
		unaligned = "u"
		if len(p.C.Reduction) > 0 {
			step = p.InnerStep(right)
		}
	}
	micro, _ := micro.Of(p.D)
	if n := micro.Unrolled(t.sums.count()); n > 0 {
		t.Line("#pragma GCC unroll %d", n)
	}
	t.Open("for (int64_t k = 0; k < %s; k++) {", count)
	t.Line("const %s %s;", t.sums.Type, List(vectors, func(x int64) string {
		at := t.columns(x, w)
		if rest := t.cols % int64(p.N); p.Pack.Right == tile.Unpacked && x == vectors-1 && rest != 0 {
			return fmt.Sprintf("w%d = %s", x, p.cast(p.E.V.Of(p.D, p.N).Load(at, fmt.Sprint(rest))))
		}
		return fmt.Sprintf("w%d = *(const %s%s *)(%s)", x, t.sums.Type, unaligned, at)
	}))
	if d := p.Ahead(); d > 0 {
		for x := int64(0); x < vectors; x += max(1, p.Panel/int64(p.N)) {
			t.Line("TAPC_FETCH(%s, %d, 0, 3);", t.columns(x, w), d*step)
		}
	}
	fetch{p}.step()
	for r := range t.rows {
		t.Line("const %s a%d = (%s)%s[%s];", p.element(), r, p.element(), a, point.Number(r*rowStep))
		words := make([]string, vectors)
		for x := range vectors {
			words[x] = micro.Step(p.E.V, p.N, fmt.Sprintf("c%d_%d", r, x), fmt.Sprintf("a%d", r), fmt.Sprintf("w%d", x))
		}
		t.Line("%s", strings.Join(words, " "))
	}
	t.Line("%s += %s, %s += %s;", a, point.Number(leftStep), w, point.Number(step))
	t.Close()
}

// columns writes the address of vector x of the columns.
func (t *registerTile) columns(x int64, w string) string {
	at := x * int64(t.p.N)
	if t.p.Pack.Right != tile.Unpacked {
		at = at/t.p.Panel*t.p.Panel*t.p.Deep() + at%t.p.Panel
	}
	if at == 0 {
		return w
	}
	return fmt.Sprintf("%s + %s", w, point.Number(at))
}

// finish calls finish for every vector of sums.
func (t *registerTile) finish() {
	p, signed := t.p, ""
	if p.VectorType() != p.D {
		signed = "(" + p.E.V.Type(p.D, p.N) + ")"
	}
	call := func(vector, count string) {
		t.Line("%s_finish(b%s, i + r, j + %s * %d, %ss[r * %d + %s], %s);", p.Name, p.Coordinates(""), vector, p.N, signed, t.sums.Vectors, vector, count)
	}
	whole, rest := t.cols/int64(p.N), t.cols%int64(p.N)
	t.Open("for (int r = 0; r < %d; r++) {", t.rows)
	if whole > 0 {
		t.Open("for (int x = 0; x < %d; x++) {", whole)
		call("x", fmt.Sprint(p.N))
		t.Close()
	}
	if rest > 0 {
		call(fmt.Sprint(whole), fmt.Sprint(rest))
	}
	t.Close()
}

// Sums are the sums of a register tile: of every row some vectors of a C type, each in a variable while products are added, and between in an array s.
type Sums struct {
	Type          string
	Rows, Vectors int64
}

// count is how many vectors there are.
func (s Sums) count() int64 { return s.Rows * s.Vectors }

// Declare declares the variables.
func (s Sums) Declare(t *cnest.Text) {
	for r := range s.Rows {
		t.Line("%s %s;", s.Type, List(s.Vectors, func(x int64) string { return fmt.Sprintf("c%d_%d = {0}", r, x) }))
	}
}

// Keep writes the variables to the array.
func (s Sums) Keep(t *cnest.Text) { s.all(t, "s[%[3]d] = c%[1]d_%[2]d;") }

// Add adds the variables to the array. All of it is read before any is written: there are more sums than registers, and compilers would read one, write one and
// read the next, which takes processors up to a tenth longer in all.
func (s Sums) Add(t *cnest.Text) {
	t.Line("TAPC_BARRIER(s);")
	s.all(t, "c%[1]d_%[2]d += s[%[3]d];")
	t.Line("TAPC_BARRIER(s);")
	s.Keep(t)
}

// all writes a statement for each vector, of its row, its number there and its number in the array.
func (s Sums) all(t *cnest.Text, statement string) {
	for r := range s.Rows {
		words := make([]string, s.Vectors)
		for x := range words {
			words[x] = fmt.Sprintf(statement, r, x, r*s.Vectors+int64(x))
		}
		t.Line("%s", strings.Join(words, " "))
	}
}

// List writes some items with commas between them.
func List(n int64, item func(i int64) string) string {
	words := make([]string, n)
	for i := range words {
		words[i] = item(int64(i))
	}
	return strings.Join(words, ", ")
}
