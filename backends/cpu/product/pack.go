package product

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
)

// packRows is how many values of the reduction are packed at once into all panels that a thread fills: as many lines of memory, which
// panels next to each other share, stay in the first cache.
const packRows = 64

// packAhead is how many values of the reduction before their turn rows are fetched that are packed.
const packAhead = 16

// foldRange writes the arguments of a panel's function that say which values of the reduction it packs, if it packs some at a time.
func (p *Product) foldRange(from, to string) string {
	if !p.Partly() {
		return ""
	}
	return fmt.Sprintf(", %s, %s", from, to)
}

// panelFunction writes the function that packs one panel of the right operand: the columns from j on.
func (p *Product) panelFunction() {
	view := p.C.Views[p.C.Right]
	stored := p.E.W.Stored(p.D)
	buffer := p.K.Operands[p.C.Right].Buffer
	p.E.Raw(buffer)
	p.Open("\nstatic void %s_panel(void *const *b%s, int64_t j%s, %s *to) {", p.Name, p.Coordinates("int64_t "),
		p.foldRange("int64_t first", "int64_t last"), stored)
	p.Line("const %s *right = b[%d]; // %s", stored, p.E.Slot(buffer), p.K.Operands[p.C.Right].Name)
	p.Line("%s(void)j;", p.Voids())
	p.Line("const %s *from = right + %s;", stored, point.OffsetText(point.Start(p.K, view), append(p.Groups(), point.Axis{Dim: p.C.Col, Variable: "j"}), view))
	at := "from"
	last := len(p.C.Reduction) - 1
	for x, d := range p.C.Reduction {
		if x == last {
			break
		}
		p.Open("for (int64_t f%d = 0; f%d < %d; f%d++) {", x, x, d.Extent, x)
		at += fmt.Sprintf(" + f%d * %s", x, point.Number(d.Step(view)))
	}
	length, step := int64(1), int64(0)
	if last >= 0 {
		length, step = p.C.Reduction[last].Extent, p.C.Reduction[last].Step(view)
	}
	AtEdge(p.Text, "j", p.Panel, p.C.Col.Extent, func(columns int64) { p.packPanel(at, columns, length, step) })
	p.Close(max(0, last))
	p.Close()
}

// packTask writes the function with which a thread packs some panels.
func (p *Product) packTask() {
	stored := p.E.W.Stored(p.D)
	unit.Task(p.Text, "", fmt.Sprintf("%s_pack", p.Name), "tapc_part")
	p.Line("const int64_t across = (part->columns + %d) / %d;", p.Panel-1, p.Panel)
	into := "panel * " + point.Number(p.Length*p.Panel)
	if p.Partly() {
		p.Open("for (int64_t from = 0; from < %d; from += %d) {", p.Length, packRows)
		p.Line("const int64_t to = from + %d < %d ? from + %d : %d;", packRows, p.Length, packRows, p.Length)
		into += fmt.Sprintf(" + from * %d", p.Panel)
	}
	p.Open("for (int64_t panel = begin; panel < end; panel++) {")
	p.Line("const int64_t j = part->column + panel %% across * %d;", p.Panel)
	groups := p.Groups()
	p.Line("int64_t rest = panel / across + part->group;")
	point.PlaceOf(p.Text, groups)
	for _, a := range p.Batch[len(groups):] {
		p.Line("const int64_t %s = 0;", a.Variable)
	}
	p.Line("%s_panel(b%s, j%s, (%s *)b[%d] + %s);", p.Name, p.Coordinates(""), p.foldRange("from", "to"), stored, p.Slot, into)
	p.Close()
	if p.Partly() {
		p.Close()
	}
	p.Close()
}

// packPanel writes the loop over the innermost dimension of the reduction for one panel with some live columns.
func (p *Product) packPanel(at string, live, length, step int64) {
	across := p.C.Col.Step(p.C.Views[p.C.Right])
	from, end := "0", fmt.Sprint(length)
	if p.Partly() {
		from, end = "first", "last"
	}
	if step == 1 && across != 1 && live == p.Panel && length >= int64(p.N) { // a block at a time, transposed
		n := int64(p.N)
		p.Line("int64_t turned = %s;", from)
		p.Open("for (; turned + %d <= %s; turned += %d, to += %d) {", n, end, n, n*p.Panel)
		for x := int64(0); x < p.Panel; x += n {
			p.Line("%s;", p.E.V.Of(p.D, p.N).Transpose(p.N, fmt.Sprintf("%s + turned + %s", at, point.Number(x*across)), point.Number(across), fmt.Sprintf("to + %d", x), fmt.Sprint(p.Panel)))
		}
		p.Close()
		if length%n == 0 && packRows%n == 0 {
			return
		}
		from = "turned"
	}
	p.Open("for (int64_t k = %s; k < %s; k++, to += %d) {", from, end, p.Panel)
	p.Line("const %s *row = %s + k * %s;", p.E.W.Stored(p.D), at, point.Number(step))
	if p.Partly() && across == 1 && step > packAhead {
		p.Line("TAPC_FETCH(row, %s, 0, 3);", point.Number(packAhead*step))
	}
	p.packRow(live)
	p.Close()
}

// packRow copies the live elements of one row of a panel and clears the others.
func (p *Product) packRow(live int64) {
	across := p.C.Col.Step(p.C.Views[p.C.Right])
	n, t := int64(p.N), p.E.V.Type(p.D, p.N)
	for x := int64(0); x < p.Panel; x += n {
		here := max(0, min(n, live-x))
		from := fmt.Sprintf("row + %s", point.Number(x*across))
		switch {
		case here == 0:
			p.Line("*(%s *)(to + %d) = (%s){0};", t, x, t)
		case across == 1:
			p.Line("*(%s *)(to + %d) = %s;", t, x, p.E.V.Of(p.D, p.N).Load(from, fmt.Sprint(here)))
		default:
			p.Line("*(%s *)(to + %d) = %s;", t, x, p.E.V.Of(p.D, p.N).Gather(from, point.Number(across), fmt.Sprint(here)))
		}
	}
}
