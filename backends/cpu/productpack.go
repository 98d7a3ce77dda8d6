package cpu

import (
	"fmt"
	"slices"
)

// panelFunction writes the function that packs one panel of the right operand: the columns from j on.
func (p *product) panelFunction() {
	view := p.c.Views[p.c.Right]
	stored := p.e.w.Stored(p.d)
	buffer := p.k.Operands[p.c.Right].Buffer
	p.e.raw(buffer)
	p.Line("")
	p.Open("static void k%d_panel(void *const *b%s, int64_t j, %s *to) {", p.number, p.coordinates("int64_t "), stored)
	p.Line("const %s *right = b[%d]; // %s", stored, p.e.slot(buffer), p.k.Operands[p.c.Right].Name)
	p.Line("%s(void)j;", p.voids())
	p.Line("const %s *from = right + %s;", stored, offsetText(start(p.k, view), append(p.groups(), axis{p.c.Col, "j"}), view))
	at := "from"
	last := len(p.c.Fold) - 1
	for x, d := range p.c.Fold {
		if x == last {
			break
		}
		p.Open("for (int64_t f%d = 0; f%d < %d; f%d++) {", x, x, d.Extent, x)
		at += fmt.Sprintf(" + f%d * %s", x, number(d.Step(view)))
	}
	length, step := int64(1), int64(0)
	if last >= 0 {
		length, step = p.c.Fold[last].Extent, p.c.Fold[last].Step(view)
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
	stored := p.e.w.Stored(p.d)
	p.Line("")
	p.Open("static void k%d_pack(void *ctx, int64_t begin, int64_t end, int worker) {", p.number)
	p.Line("const tapc_part *part = ctx;")
	p.Line("void *const *b = part->b;")
	p.Line("(void)worker;")
	p.Line("const int64_t across = (part->columns + %d) / %d;", p.panel-1, p.panel)
	p.Open("for (int64_t panel = begin; panel < end; panel++) {")
	p.Line("const int64_t j = part->column + panel %% across * %d;", p.panel)
	groups := p.groups()
	if len(groups) > 0 {
		p.Line("int64_t rest = panel / across + part->group;")
	}
	for i := len(groups) - 1; i >= 0; i-- {
		a := groups[i]
		if i == 0 {
			p.Line("const int64_t %s = rest;", a.variable)
		} else {
			p.Line("const int64_t %s = rest %% %d;", a.variable, a.Extent)
			p.Line("rest /= %d;", a.Extent)
		}
	}
	for _, a := range p.batch[len(groups):] {
		p.Line("const int64_t %s = 0;", a.variable)
	}
	p.Line("k%d_panel(b%s, j, (%s *)b[%d] + panel * %s);", p.number, p.coordinates(""), stored, p.slot, number(p.length*p.panel))
	p.Close()
	p.Close()
}

// groups gives the batch axes that the right operand follows.
func (p *product) groups() []axis {
	view := p.c.Views[p.c.Right]
	return slices.DeleteFunc(slices.Clone(p.batch), func(a axis) bool { return a.Step(view) == 0 })
}

// packPanel writes the loop over the innermost dimension of the fold for one panel with some live columns.
func (p *product) packPanel(at string, live, length, step int64) {
	across := p.c.Col.Step(p.c.Views[p.c.Right])
	from := "0"
	if step == 1 && across != 1 && live == p.panel && length >= int64(p.n) { // a block turned on its diagonal at a time
		n := int64(p.n)
		p.Open("for (int64_t k = 0; k + %d <= %d; k += %d, to += %d) {", n, length, n, n*p.panel)
		for x := int64(0); x < p.panel; x += n {
			p.Line("%s;", p.e.v.turn(p.d, p.n, fmt.Sprintf("%s + k + %s", at, number(x*across)), number(across), fmt.Sprintf("to + %d", x), fmt.Sprint(p.panel)))
		}
		p.Close()
		if length%n == 0 {
			return
		}
		from = fmt.Sprint(length / n * n)
	}
	p.Open("for (int64_t k = %s; k < %d; k++, to += %d) {", from, length, p.panel)
	p.Line("const %s *row = %s + k * %s;", p.e.w.Stored(p.d), at, number(step))
	p.packRow(live)
	p.Close()
}

// packRow copies the live elements of one row of a panel and clears the others.
func (p *product) packRow(live int64) {
	across := p.c.Col.Step(p.c.Views[p.c.Right])
	n, t := int64(p.n), p.e.v.typ(p.d, p.n)
	for x := int64(0); x < p.panel; x += n {
		here := max(0, min(n, live-x))
		from := fmt.Sprintf("row + %s", number(x*across))
		switch {
		case here == 0:
			p.Line("*(%s *)(to + %d) = (%s){0};", t, x, t)
		case across == 1:
			p.Line("*(%s *)(to + %d) = %s;", t, x, p.e.v.load(p.d, p.n, from, fmt.Sprint(here)))
		default:
			p.Line("*(%s *)(to + %d) = %s;", t, x, p.e.v.gather(p.d, p.n, from, number(across), fmt.Sprint(here)))
		}
	}
}
