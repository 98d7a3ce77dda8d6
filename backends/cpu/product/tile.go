package product

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/passes/tile"
)

// TileFunction writes the function that computes a tile of rows by cols: every sum has a variable of its own, and the loop
// over the reduction is written out for all of them.
func (p *Product) TileFunction(rows, cols int64) {
	vectors := (cols + int64(p.N) - 1) / int64(p.N)
	stored := p.E.W.Stored(p.D)
	p.Line("\n// The sums of %d rows and %d columns; a is the first row of the left operand, w the columns of the right.", rows, cols)
	t := p.E.V.Type(p.VectorType(), p.N)
	more := ""
	switch {
	case p.C.Transposed:
		more = fmt.Sprintf(", %s *restrict open", p.element())
	case p.Split():
		more = fmt.Sprintf(", int64_t f, int64_t fn, %s *restrict open", t)
	}
	if p.Cut.Groups > 0 {
		more += fmt.Sprintf(", %s *restrict group", t)
	}
	more += p.nextAddress("uintptr_t ")
	p.Open("static __attribute__((noinline)) void %s_%dx%d(const %s *restrict a, const %s *restrict w, void *const *b%s, int64_t i, int64_t j%s) {",
		p.Name, rows, cols, stored, stored, p.Coordinates("int64_t "), more)
	p.Line("%s s[%d] = {{0}};", t, rows*vectors)
	p.expect(rows, cols)
	if p.Split() {
		p.resume(rows, vectors)
	}
	p.folds(rows, cols, vectors)
	if p.Split() {
		p.unfinished(rows, vectors)
	}
	switch {
	case p.C.Transposed:
		p.Line("(void)b, %s(void)i, (void)j;", p.Voids())
		p.keepTile(rows, vectors)
	case p.Cut.Groups > 0:
		p.Line("(void)b, %s(void)i, (void)j;", p.Voids())
		p.each(rows, vectors, "group[x] = s[x]")
	default:
		p.finishTile(rows, cols, vectors)
	}
	p.Close()
}

// expect asks for the lines that finish reads and writes while the sums are taken: a tile touches a few lines of every row, or of every
// column if its sums are turned, which no processor sees coming.
func (p *Product) expect(rows, cols int64) {
	at, count, apart := p.Places(), rows, p.C.Row
	along, length := p.C.Col, cols
	if p.C.Transposed {
		count, apart, along, length = cols, p.C.Col, p.C.Row, rows
	}
	for i, o := range p.K.Operands {
		v, write := p.C.Views[i], o.Mode == schedule.Write
		if i == p.C.Left || i == p.C.Right || !write && !readsBeside(p.K, i, p.aside()...) || along.Step(v) != 1 || apart.Step(v) == 0 ||
			p.E.Buffers[o.Buffer].Bytes < expectBytes {
			continue
		}
		line := int64(tile.PanelBytes / o.Type().Size())
		p.Open("%s{", map[bool]string{true: fmt.Sprintf("if (f + fn >= %d) ", p.InnerFold())}[p.Split()])
		p.Line("const %s *q = (const %s *)b[%d] + %s; // %s", p.E.W.Stored(o.Type()), p.E.W.Stored(o.Type()), p.E.Slot(o.Buffer), point.OffsetText(point.Start(p.K, v), at, v), o.Name)
		p.Open("for (int r = 0; r < %d; r++) {", count)
		p.Line("for (int x = 0; x < %d; x += %d) TAPC_FETCH(q, r * %s + x, %d, 3);", length, line, point.Number(apart.Step(v)), map[bool]int{true: 1}[write])
		p.Close(2)
	}
}

// expectBytes is the size of operands of which a tile's part is in no cache near by.
const expectBytes = 256 << 10

// A sum of float products is a tree over the reduction (docs/numerics.md): partial sums of cut.block products, sums of tile.SumBlock of these, and
// the sum of all of those. It does not depend on the parts that run at once: a tile goes on with what it finds in open, its innermost sums
// that are not whole, and behind these in the others.

// each writes an operation on all sums of a tile.
func (p *Product) each(rows, vectors int64, operation string) {
	p.Line("for (int x = 0; x < %d; x++) %s;", rows*vectors, operation)
}

// resume writes how a tile goes on with the sums of the parts of the reduction before this one.
func (p *Product) resume(rows, vectors int64) {
	t := p.E.V.Type(p.VectorType(), p.N)
	behind := int64(0)
	if p.Within() && p.InnerFold() > p.Cut.Block {
		behind += p.OpenArea()
		p.Line("%s *sums = open + %d;", t, behind)
	}
	if p.Several() && p.Cut.Groups == 0 {
		behind += p.OpenArea()
		p.Line("%s *totals = open + %d;", t, behind)
	}
	if p.Within() {
		return // the products themselves go on
	}
	if p.Several() {
		p.Open("if (f %% %d != 0) {", p.Cut.Span())
	} else {
		p.Open("if (f > 0) {")
	}
	p.each(rows, vectors, "s[x] = open[x]")
	p.Close()
}

// unfinished keeps the sums of a tile if this is not the last part of the reduction.
func (p *Product) unfinished(rows, vectors int64) {
	last, kept := fmt.Sprintf("f + fn == %d", p.InnerFold()), "open"
	keep := func(to string) {
		p.each(rows, vectors, to+"[x] = s[x]")
		p.Line("return;")
		p.Close()
	}
	if p.Within() {
		p.Open("if (f + fn < %d && (f + fn) %% %d != 0) {", p.InnerFold(), p.Cut.Block)
		keep("open")
		if p.InnerFold() <= p.Cut.Block {
			return
		}
		kept = "sums"
		if p.Several() {
			p.Open("if (f %% %d >= %d) {", p.Cut.Span(), p.Cut.Block)
		} else {
			p.Open("if (f >= %d) {", p.Cut.Block)
		}
		p.each(rows, vectors, "s[x] = sums[x] + s[x]")
		p.Close()
	}
	if !p.Several() {
		p.Open("if (!(%s)) {", last)
		keep(kept)
		return
	}
	p.Open("if (!(%s) && (f + fn) %% %d != 0) {", last, p.Cut.Span())
	keep(kept)
	if p.Cut.Groups > 0 {
		return
	}
	p.Open("if (f >= %d) {", p.Cut.Span())
	p.each(rows, vectors, "s[x] = totals[x] + s[x]")
	p.Close()
	p.Open("if (!(%s)) {", last)
	keep("totals")
}

// openTile writes where the sums of a tile are in those of a macro-tile: those of the tiles of some columns one behind the other.
func (p *Product) openTile(open string) string {
	rows, cols := p.Cut.TileRows, p.Cut.TileCols
	each := rows * cols / int64(p.N)
	if p.Cut.Cols <= cols {
		return fmt.Sprintf("%s + (i - i0) / %d * %d", open, rows, each)
	}
	return fmt.Sprintf("%s + ((j - j0) / %d * %d + (i - i0) / %d) * %d", open, cols, p.Cut.Rows/rows, rows, each)
}

// folds writes the loops of the sum.
func (p *Product) folds(rows, cols, vectors int64) {
	fold := p.C.Reduction
	left, right := p.C.Views[p.C.Left], p.C.Views[p.C.Right]
	blocks := int64(1)
	length := int64(1)
	if len(fold) > 0 {
		length = p.Cut.Fold
		blocks = (length + p.Cut.Block - 1) / p.Cut.Block * (p.Length / fold[len(fold)-1].Extent)
		if p.Split() && !p.Within() {
			blocks++ // those of the parts before
		}
	}
	depth := 0
	a, w := "a", "w"
	for x, d := range fold[:max(0, len(fold)-1)] {
		depth++
		p.Open("for (int64_t f%d = 0; f%d < %d; f%d++) {", x, x, d.Extent, x)
		a += fmt.Sprintf(" + f%d * %s", x, point.Number(d.Step(left)))
		if p.Pack.Right == tile.Unpacked {
			w += fmt.Sprintf(" + f%d * %s", x, point.Number(d.Step(right)))
		}
	}
	names := [2]string{"a", "w"}
	if depth > 0 && !p.Pack.Paneled() {
		names[0] = "ak"
		p.Line("const %s *ak = %s;", p.E.W.Stored(p.D), a)
	}
	if depth > 0 && p.Pack.Right == tile.Unpacked {
		names[1] = "wk"
		p.Line("const %s *wk = %s;", p.E.W.Stored(p.D), w)
	}
	p.blocks(rows, cols, vectors, length, blocks, names)
	p.Close(depth)
}

// blocks writes the innermost dimension of the reduction, in blocks that each have a partial sum.
func (p *Product) blocks(rows, cols, vectors, length, blocks int64, names [2]string) {
	count := fmt.Sprint(length)
	fixed := !p.Split() || p.InnerFold()%length == 0
	if !fixed {
		count = "fn"
	}
	cutUp, inGroups := p.Cut.Block < length, !p.Split() && p.Several()
	if inGroups {
		p.Line("%s totals[%d] = {{0}};", p.E.V.Type(p.VectorType(), p.N), rows*vectors)
	}
	if cutUp {
		p.Open("for (int64_t k0 = 0; k0 < %s; k0 += %d) {", count, p.Cut.Block)
		if fixed && length%p.Cut.Block == 0 {
			count = fmt.Sprint(p.Cut.Block)
		} else {
			p.Line("const int64_t kn = %s - k0 < %d ? %s - k0 : %d;", count, p.Cut.Block, count, p.Cut.Block)
			count = "kn"
		}
	}
	p.fetchBlock()
	p.Accumulators(rows, vectors)
	if p.Within() {
		p.Open("if (f %% %d != 0) {", p.Cut.Block)
		for r := range rows {
			p.Line("%s;", List(vectors, func(x int64) string { return fmt.Sprintf("c%d_%d = open[%d]", r, x, r*vectors+x) }))
		}
		p.Close()
	}
	p.multiply(rows, cols, vectors, count, names)
	p.Keep(rows, vectors, map[bool]string{true: "+=", false: "="}[blocks > 1])
	if inGroups {
		p.Line("if ((k0 + %d) %% %d == 0) for (int x = 0; x < %d; x++) totals[x] += s[x], s[x] = (%s){0};", p.Cut.Block, p.Cut.Span(), rows*vectors,
			p.E.V.Type(p.VectorType(), p.N))
	}
	if cutUp {
		p.Close()
	}
	if inGroups {
		p.each(rows, vectors, "s[x] = totals[x] + s[x]")
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

// multiply writes the loop that adds products to the sums in registers.
func (p *Product) multiply(rows, cols, vectors int64, count string, names [2]string) {
	a, w := names[0], names[1]
	left, right := p.C.Views[p.C.Left], p.C.Views[p.C.Right]
	element, vector := p.element(), p.E.V.Type(p.VectorType(), p.N)
	step := p.Panel
	leftStep, rowStep := int64(0), p.C.Row.Step(left)
	if width := p.LeftWidth(); width > 0 {
		leftStep, rowStep = width, 1
	}
	if n := len(p.C.Reduction); n > 0 {
		if p.LeftWidth() == 0 {
			leftStep = p.C.Reduction[n-1].Step(left)
		}
		if p.Pack.Right == tile.Unpacked {
			step = p.C.Reduction[n-1].Step(right)
		}
	}
	if rows*vectors <= 32 {
		p.Line("#pragma GCC unroll %d", max(1, min(4, 32/(rows*vectors))))
	}
	p.Open("for (int64_t k = 0; k < %s; k++) {", count)
	p.Line("const %s %s;", vector, List(vectors, func(x int64) string {
		at := p.columnOffset(x, w)
		if p.Pack.Right == tile.Unpacked && x == vectors-1 && cols%int64(p.N) != 0 {
			return fmt.Sprintf("w%d = %s", x, p.cast(p.E.V.Of(p.D, p.N).Load(at, fmt.Sprint(cols%int64(p.N)))))
		}
		unaligned := ""
		if p.Pack.Right == tile.Unpacked {
			unaligned = "u"
		}
		return fmt.Sprintf("w%d = *(const %s%s *)(%s)", x, vector, unaligned, at)
	}))
	if d := p.Ahead(); d > 0 {
		for x := int64(0); x < vectors; x += max(1, p.Panel/int64(p.N)) {
			p.Line("TAPC_FETCH(%s, %d, 0, 3);", p.columnOffset(x, w), d*step)
		}
	}
	p.fetchStep()
	micro, _ := micro.Of(p.D)
	for r := range rows {
		p.Line("const %s a%d = (%s)%s[%s];", element, r, element, a, point.Number(r*rowStep))
		var b strings.Builder
		for x := range vectors {
			if x > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(micro.Step(p.E.V, p.N, fmt.Sprintf("c%d_%d", r, x), fmt.Sprintf("a%d", r), fmt.Sprintf("w%d", x)))
		}
		p.Line("%s", b.String())
	}
	p.Line("%s += %s, %s += %s;", a, point.Number(leftStep), w, point.Number(step))
	p.Close()
}

// element is the C type of one number in the computation.
func (p *Product) element() string { return p.E.W.Type(p.VectorType()) }

// cast makes a vector of the operand's type one of the type that sums are computed in.
func (p *Product) cast(vector string) string {
	if p.VectorType() == p.D {
		return vector
	}
	return fmt.Sprintf("(%s)%s", p.E.V.Type(p.VectorType(), p.N), vector)
}

// columnOffset writes the address of vector x of the columns.
func (p *Product) columnOffset(x int64, w string) string {
	at := x * int64(p.N)
	if p.Pack.Right != tile.Unpacked {
		at = at/p.Panel*p.Panel*p.Deep() + at%p.Panel
	}
	if at == 0 {
		return w
	}
	return fmt.Sprintf("%s + %s", w, point.Number(at))
}

// Accumulators declares the sums in registers of a tile of some rows and vectors of columns.
func (p *Product) Accumulators(rows, vectors int64) {
	for r := range rows {
		p.Line("%s %s;", p.E.V.Type(p.VectorType(), p.N), List(vectors, func(x int64) string { return fmt.Sprintf("c%d_%d = {0}", r, x) }))
	}
}

// Keep writes an assignment of the sums in registers to those in the array s, as an operator says.
func (p *Product) Keep(rows, vectors int64, operator string) {
	for r := range rows {
		words := make([]string, vectors)
		for x := range vectors {
			words[x] = fmt.Sprintf("s[%d] %s c%d_%d;", r*vectors+x, operator, r, x)
		}
		p.Line("%s", strings.Join(words, " "))
	}
}

// finishTile calls finish for every vector of sums.
func (p *Product) finishTile(rows, cols, vectors int64) {
	signed := ""
	if p.VectorType() != p.D {
		signed = "(" + p.E.V.Type(p.D, p.N) + ")"
	}
	call := func(vector, count string) {
		p.Line("%s_finish(b%s, i + r, j + %s * %d, %ss[r * %d + %s], %s);", p.Name, p.Coordinates(""), vector, p.N, signed, vectors, vector, count)
	}
	whole, rest := cols/int64(p.N), cols%int64(p.N)
	p.Open("for (int r = 0; r < %d; r++) {", rows)
	if whole > 0 {
		p.Open("for (int x = 0; x < %d; x++) {", whole)
		call("x", fmt.Sprint(p.N))
		p.Close()
	}
	if rest > 0 {
		call(fmt.Sprint(whole), fmt.Sprint(rest))
	}
	p.Close()
}
