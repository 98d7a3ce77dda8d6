package product

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// columns packs the columns of the right operand into panels.
type columns struct {
	*cnest.Text
	p      *Product
	view   nest.View
	stored string // the C type of elements
}

// columnsOf gives the writer of that of a product.
func columnsOf(p *Product) columns {
	return columns{p.Text, p, p.C.Views[p.C.Right], p.E.W.Stored(p.D)}
}

// function writes the function that packs one panel of the right operand: the columns from j on.
func (c columns) function() {
	buffer := c.p.K.Operands[c.p.C.Right].Buffer
	c.p.E.Raw(buffer)
	some := ""
	if c.p.Partly() { // values of the reduction at a time
		some = ", int64_t first, int64_t last"
	}
	c.Open("\nstatic void %s_panel(void *const *b%s, int64_t j%s, %s *to) {", c.p.Name, c.p.Coordinates("int64_t "), some, c.stored)
	c.Line("const %s *right = b[%d]; // %s", c.stored, c.p.E.Slot(buffer), c.p.K.Operands[c.p.C.Right].Name)
	c.Line("%s(void)j;", c.p.Voids())
	c.Line("const %s *from = right + %s;", c.stored, point.OffsetText(point.Start(c.p.K, c.view), append(c.p.Groups(), point.Axis{Dim: c.p.C.Col, Variable: "j"}), c.view))
	outer, length := c.p.outerReduction(), int64(1)
	if n := len(c.p.C.Reduction); n > 0 {
		length = c.p.C.Reduction[n-1].Extent
	}
	at := "from" + reducedLoops(c.Text, outer, c.view)[0]
	AtEdge(c.Text, "j", c.p.Panel, c.p.C.Col.Extent, func(columns int64) { c.panel(at, columns, length) })
	c.Close(len(outer) + 1)
}

// panel writes the loop over the innermost dimension of the reduction for one panel with some live columns.
func (c columns) panel(at string, live, length int64) {
	across, step := c.p.C.Col.Step(c.view), c.p.innerStep(c.view)
	from, end := "0", fmt.Sprint(length)
	if c.p.Partly() {
		from, end = "first", "last"
	}
	if step == 1 && across != 1 && live == c.p.Panel && length >= int64(c.p.N) { // a block at a time, transposed
		n := int64(c.p.N)
		c.Line("int64_t turned = %s;", from)
		c.Open("for (; turned + %d <= %s; turned += %d, to += %d) {", n, end, n, n*c.p.Panel)
		for x := int64(0); x < c.p.Panel; x += n {
			c.Line("%s;", c.p.E.V.Of(c.p.D, c.p.N).Transpose(c.p.N, fmt.Sprintf("%s + turned + %s", at, point.Number(x*across)), point.Number(across), fmt.Sprintf("to + %d", x), fmt.Sprint(c.p.Panel)))
		}
		c.Close()
		if length%n == 0 && c.p.Target.Copies().Rows%n == 0 {
			return
		}
		from = "turned"
	}
	c.Open("for (int64_t k = %s; k < %s; k++, to += %d) {", from, end, c.p.Panel)
	c.Line("const %s *row = %s + k * %s;", c.stored, at, point.Number(step))
	if ahead := c.p.Target.Copies().Ahead; c.p.Partly() && across == 1 && step > ahead {
		c.Line("TAPC_FETCH(row, %s, 0, 3);", point.Number(ahead*step))
	}
	c.row(live)
	c.Close()
}

// row copies the live elements of one row of a panel and clears the others.
func (c columns) row(live int64) {
	across := c.p.C.Col.Step(c.view)
	n, t := int64(c.p.N), c.p.E.V.Type(c.p.D, c.p.N)
	for x := int64(0); x < c.p.Panel; x += n {
		here := max(0, min(n, live-x))
		from := fmt.Sprintf("row + %s", point.Number(x*across))
		switch {
		case here == 0:
			c.Line("*(%s *)(to + %d) = (%s){0};", t, x, t)
		case across == 1:
			c.Line("*(%s *)(to + %d) = %s;", t, x, c.p.E.V.Of(c.p.D, c.p.N).Load(from, fmt.Sprint(here)))
		default:
			c.Line("*(%s *)(to + %d) = %s;", t, x, c.p.E.V.Of(c.p.D, c.p.N).Gather(from, point.Number(across), fmt.Sprint(here)))
		}
	}
}
