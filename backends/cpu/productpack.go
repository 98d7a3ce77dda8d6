package cpu

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/point"
)

// packRows is how many values of the fold are packed at once into all panels that a thread fills: as many lines of memory, which
// panels next to each other share, stay in the first cache.
const packRows = 64

// packAhead is how many values of the fold before their turn rows are fetched that are packed.
const packAhead = 16

// partly says whether panels can be packed for some values of the fold at a time: it has one dimension.
func (p *product) partly() bool { return p.c.Window == nil && len(p.c.Reduction) == 1 }

// foldRange writes the arguments of a panel's function that say which values of the fold it packs, if it packs some at a time.
func (p *product) foldRange(from, to string) string {
	if !p.partly() {
		return ""
	}
	return fmt.Sprintf(", %s, %s", from, to)
}

// panelFunction writes the function that packs one panel of the right operand: the columns from j on.
func (p *product) panelFunction() {
	view := p.c.Views[p.c.Right]
	stored := p.e.W.Stored(p.d)
	buffer := p.k.Operands[p.c.Right].Buffer
	p.e.Raw(buffer)
	p.Line("")
	p.Open("static void k%d_panel(void *const *b%s, int64_t j%s, %s *to) {", p.number, p.coordinates("int64_t "),
		p.foldRange("int64_t first", "int64_t last"), stored)
	p.Line("const %s *right = b[%d]; // %s", stored, p.e.Slot(buffer), p.k.Operands[p.c.Right].Name)
	p.Line("%s(void)j;", p.voids())
	p.Line("const %s *from = right + %s;", stored, point.OffsetText(point.Start(p.k, view), append(p.groups(), point.Axis{Dim: p.c.Col, Variable: "j"}), view))
	at := "from"
	last := len(p.c.Reduction) - 1
	for x, d := range p.c.Reduction {
		if x == last {
			break
		}
		p.Open("for (int64_t f%d = 0; f%d < %d; f%d++) {", x, x, d.Extent, x)
		at += fmt.Sprintf(" + f%d * %s", x, point.Number(d.Step(view)))
	}
	length, step := int64(1), int64(0)
	if last >= 0 {
		length, step = p.c.Reduction[last].Extent, p.c.Reduction[last].Step(view)
	}
	cols := p.c.Col.Extent
	rest := cols % p.panel
	switch {
	case cols/p.panel > 0 && rest > 0:
		p.Open("if (j + %d <= %d) {", p.panel, cols)
		p.packPanel(at, p.panel, length, step)
		p.Close()
		p.Open("else {")
		p.packPanel(at, rest, length, step)
		p.Close()
	case rest > 0:
		p.packPanel(at, rest, length, step)
	default:
		p.packPanel(at, p.panel, length, step)
	}
	for range max(0, last) {
		p.Close()
	}
	p.Close()
}

// packTask writes the function with which a thread packs some panels.
func (p *product) packTask() {
	stored := p.e.W.Stored(p.d)
	p.Line("")
	p.Open("static void k%d_pack(void *ctx, int64_t begin, int64_t end, int worker) {", p.number)
	p.Line("const tapc_part *part = ctx;")
	p.Line("void *const *b = part->b;")
	p.Line("(void)worker;")
	p.Line("const int64_t across = (part->columns + %d) / %d;", p.panel-1, p.panel)
	into := "panel * " + point.Number(p.length*p.panel)
	if p.partly() {
		p.Open("for (int64_t from = 0; from < %d; from += %d) {", p.length, packRows)
		p.Line("const int64_t to = from + %d < %d ? from + %d : %d;", packRows, p.length, packRows, p.length)
		into += fmt.Sprintf(" + from * %d", p.panel)
	}
	p.Open("for (int64_t panel = begin; panel < end; panel++) {")
	p.Line("const int64_t j = part->column + panel %% across * %d;", p.panel)
	groups := p.groups()
	p.Line("int64_t rest = panel / across + part->group;")
	point.PlaceOf(p.Text, groups)
	for _, a := range p.batch[len(groups):] {
		p.Line("const int64_t %s = 0;", a.Variable)
	}
	p.Line("k%d_panel(b%s, j%s, (%s *)b[%d] + %s);", p.number, p.coordinates(""), p.foldRange("from", "to"), stored, p.slot, into)
	p.Close()
	if p.partly() {
		p.Close()
	}
	p.Close()
}

// groups gives the batch axes that the right operand follows.
func (p *product) groups() []point.Axis {
	view := p.c.Views[p.c.Right]
	return slices.DeleteFunc(slices.Clone(p.batch), func(a point.Axis) bool { return a.Step(view) == 0 })
}

// packPanel writes the loop over the innermost dimension of the fold for one panel with some live columns.
func (p *product) packPanel(at string, live, length, step int64) {
	across := p.c.Col.Step(p.c.Views[p.c.Right])
	from, end := "0", fmt.Sprint(length)
	if p.partly() {
		from, end = "first", "last"
	}
	if step == 1 && across != 1 && live == p.panel && length >= int64(p.n) { // a block turned on its diagonal at a time
		n := int64(p.n)
		p.Line("int64_t turned = %s;", from)
		p.Open("for (; turned + %d <= %s; turned += %d, to += %d) {", n, end, n, n*p.panel)
		for x := int64(0); x < p.panel; x += n {
			p.Line("%s;", p.e.V.Of(p.d, p.n).Transpose(p.n, fmt.Sprintf("%s + turned + %s", at, point.Number(x*across)), point.Number(across), fmt.Sprintf("to + %d", x), fmt.Sprint(p.panel)))
		}
		p.Close()
		if length%n == 0 && packRows%n == 0 {
			return
		}
		from = "turned"
	}
	p.Open("for (int64_t k = %s; k < %s; k++, to += %d) {", from, end, p.panel)
	p.Line("const %s *row = %s + k * %s;", p.e.W.Stored(p.d), at, point.Number(step))
	if p.partly() && across == 1 && step > packAhead {
		p.Line("TAPC_FETCH(row, %s, 0, 3);", point.Number(packAhead*step))
	}
	p.packRow(live)
	p.Close()
}

// packRow copies the live elements of one row of a panel and clears the others.
func (p *product) packRow(live int64) {
	across := p.c.Col.Step(p.c.Views[p.c.Right])
	n, t := int64(p.n), p.e.V.Type(p.d, p.n)
	for x := int64(0); x < p.panel; x += n {
		here := max(0, min(n, live-x))
		from := fmt.Sprintf("row + %s", point.Number(x*across))
		switch {
		case here == 0:
			p.Line("*(%s *)(to + %d) = (%s){0};", t, x, t)
		case across == 1:
			p.Line("*(%s *)(to + %d) = %s;", t, x, p.e.V.Of(p.d, p.n).Load(from, fmt.Sprint(here)))
		default:
			p.Line("*(%s *)(to + %d) = %s;", t, x, p.e.V.Of(p.d, p.n).Gather(from, point.Number(across), fmt.Sprint(here)))
		}
	}
}
