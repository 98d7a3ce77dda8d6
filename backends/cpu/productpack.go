package cpu

import (
	"fmt"
	"slices"
)

// packTask writes the function with which a thread packs some panels of the right operand.
func (p *product) packTask() {
	view := p.c.Views[p.c.Right]
	stored, t := p.e.w.Stored(p.d), p.e.v.typ(p.d, p.n)
	p.Line("")
	p.Open("static void k%d_pack(void *ctx, int64_t begin, int64_t end, int worker) {", p.number)
	p.Line("const tapc_part *part = ctx;")
	p.Line("void *const *b = part->b;")
	p.Line("(void)worker;")
	buffer := p.k.Operands[p.c.Right].Buffer
	p.e.raw(buffer)
	p.Line("const %s *right = b[%d]; // %s", stored, p.e.slots[buffer], p.k.Operands[p.c.Right].Name)
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
	p.Line("const %s *from = right + %s;", stored, offsetText(start(p.k, view), append(groups, axis{p.c.Col, "j"}), view))
	p.Line("%s *to = (%s *)b[%d] + panel * %s;", stored, stored, p.slot, number(p.length*p.panel))
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
	p.packPanel(t, at, length, step)
	for range max(0, last) {
		p.Close()
	}
	p.Close()
	p.Close()
}

// groups gives the batch axes that the right operand follows.
func (p *product) groups() []axis {
	view := p.c.Views[p.c.Right]
	return slices.DeleteFunc(slices.Clone(p.batch), func(a axis) bool { return a.Step(view) == 0 })
}

// packPanel writes the loop over the innermost dimension of the fold for one panel.
func (p *product) packPanel(t, at string, length, step int64) {
	cols := p.c.Col.Extent
	whole := cols/p.panel > 0
	rest := cols % p.panel
	body := func(live int64) {
		p.Open("for (int64_t k = 0; k < %d; k++, to += %d) {", length, p.panel)
		p.Line("const %s *row = %s + k * %s;", p.e.w.Stored(p.d), at, number(step))
		p.packRow(t, live)
		p.Close()
	}
	switch {
	case whole && rest > 0:
		p.Open("if (j + %d <= %d) {", p.panel, cols)
		body(p.panel)
		p.Close()
		p.Open("else {")
		body(rest)
		p.Close()
	case whole:
		body(p.panel)
	default:
		body(rest)
	}
}

// packRow copies the live elements of one row of a panel and clears the others.
func (p *product) packRow(t string, live int64) {
	across := p.c.Col.Step(p.c.Views[p.c.Right])
	n := int64(p.n)
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
