package cpu

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
)

// tileFunction writes the function that computes a tile of rows by cols: every sum has a variable of its own, and the loop
// over the fold is written out for all of them.
func (p *product) tileFunction(rows, cols int64) {
	vectors := (cols + int64(p.n) - 1) / int64(p.n)
	stored := p.e.W.Stored(p.d)
	p.Line("")
	p.Line("// The sums of %d rows and %d columns; a is the first row of the left operand, w the columns of the right.", rows, cols)
	t := p.e.V.Type(p.vectorType(), p.n)
	more := ""
	switch {
	case p.c.Transposed:
		more = fmt.Sprintf(", %s *restrict open", p.element())
	case p.split():
		more = fmt.Sprintf(", int64_t f, int64_t fn, %s *restrict open", t)
	}
	more += p.nextParameters()
	p.Open("static __attribute__((noinline)) void k%d_%dx%d(const %s *restrict a, const %s *restrict w, void *const *b%s, int64_t i, int64_t j%s) {",
		p.number, rows, cols, stored, stored, p.coordinates("int64_t "), more)
	p.Line("%s s[%d] = {{0}};", t, rows*vectors)
	p.expect(rows, cols)
	if p.split() {
		p.resume(rows, vectors)
	}
	p.folds(rows, cols, vectors)
	if p.split() {
		p.unfinished(rows, vectors)
	}
	if p.c.Transposed {
		p.Line("(void)b, %s(void)i, (void)j;", p.voids())
		p.keepTile(rows, vectors)
	} else {
		p.finishTile(rows, cols, vectors)
	}
	p.Close()
}

// expect asks for the lines that finish reads and writes while the sums are taken: a tile touches a few lines of every row, or of every
// column if its sums are turned, which no processor sees coming.
func (p *product) expect(rows, cols int64) {
	at, count, apart := p.places(), rows, p.c.Row
	along, length := p.c.Col, cols
	if p.c.Transposed {
		count, apart, along, length = cols, p.c.Col, p.c.Row, rows
	}
	for i, o := range p.k.Operands {
		v, write := p.c.Views[i], o.Mode == schedule.Write
		if i == p.c.Left || i == p.c.Right || !write && !p.finishReads(i) || along.Step(v) != 1 || apart.Step(v) == 0 ||
			p.e.Buffers[o.Buffer].Bytes < expectBytes {
			continue
		}
		line := int64(panelBytes / o.Type().Size())
		p.Open("%s{", map[bool]string{true: fmt.Sprintf("if (f + fn >= %d) ", p.innerFold())}[p.split()])
		p.Line("const %s *q = (const %s *)b[%d] + %s; // %s", p.e.W.Stored(o.Type()), p.e.W.Stored(o.Type()), p.e.Slot(o.Buffer), point.OffsetText(point.Start(p.k, v), at, v), o.Name)
		p.Open("for (int r = 0; r < %d; r++) {", count)
		p.Line("for (int x = 0; x < %d; x += %d) TAPC_FETCH(q, r * %s + x, %d, 3);", length, line, point.Number(apart.Step(v)), map[bool]int{true: 1}[write])
		p.Close()
		p.Close()
	}
}

// expectBytes is the size of operands of which a tile's part is in no cache near by.
const expectBytes = 256 << 10

// A sum of float products is a tree over the fold (docs/numerics.md): partial sums of cut.block products, sums of tile.SumBlock of these, and
// the sum of all of those. It does not depend on the parts that run at once: a tile goes on with what it finds in open, its innermost sums
// that are not whole, and behind these in the others.

// within says whether a partial sum takes several parts of the fold.
func (p *product) within() bool { return p.split() && p.cut.fold < p.cut.block }

// several says whether there are so many partial sums that these are summed in groups.
func (p *product) several() bool { return len(p.c.Reduction) == 1 && p.innerFold() > p.cut.span() }

// openArea is how many vectors of unfinished sums of one kind a piece has, and openSums of all.
func (p *product) openArea() int64 { return p.cut.rows * p.cut.cols / int64(p.n) }

func (p *product) openSums() int64 {
	kinds := int64(1)
	if p.within() && p.innerFold() > p.cut.block {
		kinds++
	}
	if p.several() {
		kinds++
	}
	return kinds * p.openArea()
}

// each writes an operation on all sums of a tile.
func (p *product) each(rows, vectors int64, operation string) {
	p.Line("for (int x = 0; x < %d; x++) %s;", rows*vectors, operation)
}

// resume writes how a tile goes on with the sums of the parts of the fold before this one.
func (p *product) resume(rows, vectors int64) {
	t := p.e.V.Type(p.vectorType(), p.n)
	behind := int64(0)
	if p.within() && p.innerFold() > p.cut.block {
		behind += p.openArea()
		p.Line("%s *sums = open + %d;", t, behind)
	}
	if p.several() {
		behind += p.openArea()
		p.Line("%s *totals = open + %d;", t, behind)
	}
	if p.within() {
		return // the products themselves go on
	}
	if p.several() {
		p.Open("if (f %% %d != 0) {", p.cut.span())
	} else {
		p.Open("if (f > 0) {")
	}
	p.each(rows, vectors, "s[x] = open[x]")
	p.Close()
}

// unfinished keeps the sums of a tile if this is not the last part of the fold.
func (p *product) unfinished(rows, vectors int64) {
	last, kept := fmt.Sprintf("f + fn == %d", p.innerFold()), "open"
	keep := func(to string) {
		p.each(rows, vectors, to+"[x] = s[x]")
		p.Line("return;")
		p.Close()
	}
	if p.within() {
		p.Open("if (f + fn < %d && (f + fn) %% %d != 0) {", p.innerFold(), p.cut.block)
		keep("open")
		if p.innerFold() <= p.cut.block {
			return
		}
		kept = "sums"
		if p.several() {
			p.Open("if (f %% %d >= %d) {", p.cut.span(), p.cut.block)
		} else {
			p.Open("if (f >= %d) {", p.cut.block)
		}
		p.each(rows, vectors, "s[x] = sums[x] + s[x]")
		p.Close()
	}
	if !p.several() {
		p.Open("if (!(%s)) {", last)
		keep(kept)
		return
	}
	p.Open("if (!(%s) && (f + fn) %% %d != 0) {", last, p.cut.span())
	keep(kept)
	p.Open("if (f >= %d) {", p.cut.span())
	p.each(rows, vectors, "s[x] = totals[x] + s[x]")
	p.Close()
	p.Open("if (!(%s)) {", last)
	keep("totals")
}

// openTile writes where the unfinished sums of a tile stand: those of the tiles of some columns one behind the other.
func (p *product) openTile() string {
	rows, cols := p.cut.tileRows, p.cut.tileCols
	each := rows * cols / int64(p.n)
	if p.cut.cols <= cols {
		return fmt.Sprintf("open + (i - i0) / %d * %d", rows, each)
	}
	return fmt.Sprintf("open + ((j - j0) / %d * %d + (i - i0) / %d) * %d", cols, p.cut.rows/rows, rows, each)
}

// vector.Type is the type that sums are computed in: integers wrap as unsigned numbers do.
func (p *product) vectorType() scalar.DType {
	if p.d.IsInt() {
		return vector.UnsignedOf(p.d)
	}
	return p.d
}

// folds writes the loops of the sum.
func (p *product) folds(rows, cols, vectors int64) {
	fold := p.c.Reduction
	left, right := p.c.Views[p.c.Left], p.c.Views[p.c.Right]
	blocks := int64(1)
	length := int64(1)
	if len(fold) > 0 {
		length = p.cut.fold
		blocks = (length + p.cut.block - 1) / p.cut.block * (p.length / fold[len(fold)-1].Extent)
		if p.split() && !p.within() {
			blocks++ // those of the parts before
		}
	}
	depth := 0
	a, w := "a", "w"
	for x, d := range fold[:max(0, len(fold)-1)] {
		depth++
		p.Open("for (int64_t f%d = 0; f%d < %d; f%d++) {", x, x, d.Extent, x)
		a += fmt.Sprintf(" + f%d * %s", x, point.Number(d.Step(left)))
		if p.form == direct {
			w += fmt.Sprintf(" + f%d * %s", x, point.Number(d.Step(right)))
		}
	}
	if depth > 0 {
		if !p.pack.Paneled() {
			p.Line("const %s *ak = %s;", p.e.W.Stored(p.d), a)
		}
		if p.form == direct {
			p.Line("const %s *wk = %s;", p.e.W.Stored(p.d), w)
		}
	}
	names := [2]string{"a", "w"}
	if depth > 0 {
		if !p.pack.Paneled() {
			names[0] = "ak"
		}
		if p.form == direct {
			names[1] = "wk"
		}
	}
	p.blocks(rows, cols, vectors, length, blocks, names)
	for range depth {
		p.Close()
	}
}

// blocks writes the innermost dimension of the fold, in blocks that each have a partial sum.
func (p *product) blocks(rows, cols, vectors, length, blocks int64, names [2]string) {
	count := fmt.Sprint(length)
	fixed := !p.split() || p.innerFold()%length == 0
	if !fixed {
		count = "fn"
	}
	cutUp, inGroups := p.cut.block < length, !p.split() && p.several()
	if inGroups {
		p.Line("%s totals[%d] = {{0}};", p.e.V.Type(p.vectorType(), p.n), rows*vectors)
	}
	if cutUp {
		p.Open("for (int64_t k0 = 0; k0 < %s; k0 += %d) {", count, p.cut.block)
		if fixed && length%p.cut.block == 0 {
			count = fmt.Sprint(p.cut.block)
		} else {
			p.Line("const int64_t kn = %s - k0 < %d ? %s - k0 : %d;", count, p.cut.block, count, p.cut.block)
			count = "kn"
		}
	}
	p.fetchBlock()
	t := p.e.V.Type(p.vectorType(), p.n)
	for r := range rows {
		p.Line("%s %s;", t, list(vectors, func(x int64) string { return fmt.Sprintf("c%d_%d = {0}", r, x) }))
	}
	if p.within() {
		p.Open("if (f %% %d != 0) {", p.cut.block)
		for r := range rows {
			p.Line("%s;", list(vectors, func(x int64) string { return fmt.Sprintf("c%d_%d = open[%d]", r, x, r*vectors+x) }))
		}
		p.Close()
	}
	p.multiply(rows, cols, vectors, count, names)
	p.keep(rows, vectors, blocks > 1)
	if inGroups {
		p.Line("if ((k0 + %d) %% %d == 0) for (int x = 0; x < %d; x++) totals[x] += s[x], s[x] = (%s){0};", p.cut.block, p.cut.span(), rows*vectors,
			p.e.V.Type(p.vectorType(), p.n))
	}
	if cutUp {
		p.Close()
	}
	if inGroups {
		p.each(rows, vectors, "s[x] = totals[x] + s[x]")
	}
}

func list(n int64, item func(i int64) string) string {
	words := make([]string, n)
	for i := range words {
		words[i] = item(int64(i))
	}
	return strings.Join(words, ", ")
}

// multiply writes the loop that adds products to the sums in registers.
func (p *product) multiply(rows, cols, vectors int64, count string, names [2]string) {
	a, w := names[0], names[1]
	left, right := p.c.Views[p.c.Left], p.c.Views[p.c.Right]
	element, vector := p.element(), p.e.V.Type(p.vectorType(), p.n)
	step := p.panel
	leftStep, rowStep := int64(0), p.c.Row.Step(left)
	if width := p.leftWidth(); width > 0 {
		leftStep, rowStep = width, 1
	}
	if n := len(p.c.Reduction); n > 0 {
		if p.leftWidth() == 0 {
			leftStep = p.c.Reduction[n-1].Step(left)
		}
		if p.form == direct {
			step = p.c.Reduction[n-1].Step(right)
		}
	}
	if rows*vectors <= 32 {
		p.Line("#pragma GCC unroll %d", max(1, min(4, 32/(rows*vectors))))
	}
	p.Open("for (int64_t k = 0; k < %s; k++) {", count)
	p.Line("const %s %s;", vector, list(vectors, func(x int64) string {
		at := p.columnOffset(x, w)
		if p.form == direct && x == vectors-1 && cols%int64(p.n) != 0 {
			return fmt.Sprintf("w%d = %s", x, p.cast(p.e.V.Of(p.d, p.n).Load(at, fmt.Sprint(cols%int64(p.n)))))
		}
		unaligned := ""
		if p.form == direct {
			unaligned = "u"
		}
		return fmt.Sprintf("w%d = *(const %s%s *)(%s)", x, vector, unaligned, at)
	}))
	if d := p.distance(); d > 0 {
		for x := int64(0); x < vectors; x += max(1, p.panel/int64(p.n)) {
			p.Line("TAPC_FETCH(%s, %d, 0, 3);", p.columnOffset(x, w), d*step)
		}
	}
	p.fetchStep()
	micro, _ := microkernelOf(p.d)
	for r := range rows {
		p.Line("const %s a%d = (%s)%s[%s];", element, r, element, a, point.Number(r*rowStep))
		var b strings.Builder
		for x := range vectors {
			if x > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(micro.step(fmt.Sprintf("c%d_%d", r, x), fmt.Sprintf("a%d", r), fmt.Sprintf("w%d", x)))
		}
		p.Line("%s", b.String())
	}
	p.Line("%s += %s, %s += %s;", a, point.Number(leftStep), w, point.Number(step))
	p.Close()
}

// element is the C type of one number in the computation.
func (p *product) element() string { return p.e.W.Type(p.vectorType()) }

// cast makes a vector of the operand's type one of the type that sums are computed in.
func (p *product) cast(vector string) string {
	if p.vectorType() == p.d {
		return vector
	}
	return fmt.Sprintf("(%s)%s", p.e.V.Type(p.vectorType(), p.n), vector)
}

// distance is how many steps of the fold before their use columns in panels are fetched: from the second cache, or from memory.
func (p *product) distance() int64 {
	switch {
	case p.form == direct:
		return 0
	case p.streams():
		return 16
	default:
		return 8
	}
}

// streams says whether the right operand is used so few times that reading it takes the time.
func (p *product) streams() bool {
	return p.form != direct && p.c.Row.Extent <= 2*p.cut.tileRows && p.length*p.c.Col.Extent*int64(p.d.Size()) > 1<<19
}

// columnOffset writes the address of vector x of the columns.
func (p *product) columnOffset(x int64, w string) string {
	at := x * int64(p.n)
	if p.form != direct {
		at = at/p.panel*p.panel*p.deep() + at%p.panel
	}
	if at == 0 {
		return w
	}
	return fmt.Sprintf("%s + %s", w, point.Number(at))
}

// keep adds the sums of a block to those of the blocks before it.
func (p *product) keep(rows, vectors int64, several bool) {
	each := func(operator string) {
		for r := range rows {
			var b strings.Builder
			for x := range vectors {
				if x > 0 {
					b.WriteByte(' ')
				}
				fmt.Fprintf(&b, "s[%d] %s c%d_%d;", r*vectors+x, operator, r, x)
			}
			p.Line("%s", b.String())
		}
	}
	if !several {
		each("=")
		return
	}
	each("+=")
}

// finishTile calls finish for every vector of sums.
func (p *product) finishTile(rows, cols, vectors int64) {
	signed := ""
	if p.vectorType() != p.d {
		signed = "(" + p.e.V.Type(p.d, p.n) + ")"
	}
	call := func(vector, count string) {
		p.Line("k%d_finish(b%s, i + r, j + %s * %d, %ss[r * %d + %s], %s);", p.number, p.coordinates(""), vector, p.n, signed, vectors, vector, count)
	}
	whole, rest := cols/int64(p.n), cols%int64(p.n)
	p.Open("for (int r = 0; r < %d; r++) {", rows)
	if whole > 0 {
		p.Open("for (int x = 0; x < %d; x++) {", whole)
		call("x", fmt.Sprint(p.n))
		p.Close()
	}
	if rest > 0 {
		call(fmt.Sprint(whole), fmt.Sprint(rest))
	}
	p.Close()
}
