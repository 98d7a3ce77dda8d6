package product

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/passes/tile"
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

// foldRange writes the arguments of a panel's function that say which values of the reduction it packs, if it packs some at a time.
func (c columns) foldRange(from, to string) string {
	if !c.p.Partly() {
		return ""
	}
	return fmt.Sprintf(", %s, %s", from, to)
}

// function writes the function that packs one panel of the right operand: the columns from j on.
func (c columns) function() {
	buffer := c.p.K.Operands[c.p.C.Right].Buffer
	c.p.E.Raw(buffer)
	c.Open("\nstatic void %s_panel(void *const *b%s, int64_t j%s, %s *to) {", c.p.Name, c.p.Coordinates("int64_t "),
		c.foldRange("int64_t first", "int64_t last"), c.stored)
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

// PackTask writes the function with which a thread packs some panels of the right operand.
func (p *Product) PackTask() {
	c := columnsOf(p)
	unit.Task(c.Text, "", fmt.Sprintf("%s_pack", c.p.Name), "tapc_part")
	c.Line("const int64_t across = (part->columns + %d) / %d;", c.p.Panel-1, c.p.Panel)
	into := "panel * " + point.Number(c.p.Length*c.p.Panel)
	if c.p.Partly() {
		n := c.p.Target.Copies().Rows
		c.Open("for (int64_t from = 0; from < %d; from += %d) {", c.p.Length, n)
		c.Line("const int64_t to = from + %d < %d ? from + %d : %d;", n, c.p.Length, n, c.p.Length)
		into += fmt.Sprintf(" + from * %d", c.p.Panel)
	}
	c.Open("for (int64_t panel = begin; panel < end; panel++) {")
	c.Line("const int64_t j = part->column + panel %% across * %d;", c.p.Panel)
	groups := c.p.Groups()
	c.Line("int64_t rest = panel / across + part->group;")
	point.PlaceOf(c.Text, groups)
	for _, a := range c.p.Batch[len(groups):] {
		c.Line("const int64_t %s = 0;", a.Variable)
	}
	c.Line("%s_panel(b%s, j%s, (%s *)b[%d] + %s);", c.p.Name, c.p.Coordinates(""), c.foldRange("from", "to"), c.stored, c.p.Slot, into)
	if c.Close(2); c.p.Partly() {
		c.Close()
	}
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

// tile writes where the columns of a tile of products back to back are, from the present run of the reduction on.
func (c columns) tile() string {
	if c.p.Pack.Right == tile.Unpacked {
		return "right + " + point.OffsetText(point.Start(c.p.K, c.view), append(slices.Clone(c.p.Batch), point.Axis{Dim: c.p.C.Col, Variable: "j"}), c.view) +
			c.p.runOffset(c.p.innerStep(c.view))
	}
	panel := fmt.Sprintf("j / %d", c.p.Panel)
	if group := c.p.Group(c.p.C.Right); group != "" {
		if c.p.Pack.Right == tile.UpFront {
			group += " - part->group"
		}
		panel = fmt.Sprintf("((%s) * %d + %s)", group, c.p.PanelsOf(c.p.C.Col.Extent), panel)
	}
	text := fmt.Sprintf("right + %s * %s", panel, point.Number(c.p.Length*c.p.Panel))
	if c.p.Cut.TileCols < c.p.Panel {
		text += fmt.Sprintf(" + j %% %d", c.p.Panel)
	}
	return text + c.p.runOffset(c.p.Panel)
}
