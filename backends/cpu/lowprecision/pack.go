package lowprecision

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/passes/tile"
)

// packFunction writes the functions that pack a block of some lanes, side by side, and that add up their bytes.
func (o *operand) packFunction() {
	n, p, l, v := o.n, o.n.p, o.layout, o.along.Variable
	buffer, view := p.K.Operands[o.operand], p.C.Views[o.operand]
	p.E.Raw(buffer.Buffer)
	n.Line("\n// Some %s of %s in panels of %d: a block of each, of values of the reduction from k on.", o.side.count, buffer.Name, tile.NarrowPanel)
	n.Open("static void %s_%s(void *const *b%s, int64_t %s, int64_t lanes, int64_t k, uint8_t *to) {", p.Name, o.side.count, p.Coordinates("int64_t "), v)
	n.Line("%s(void)%s;", p.Voids(), v)
	stored, per := p.E.W.Stored(buffer.Type()), int64(tile.NarrowBlock)/l.Blocked.Size()
	n.Line("const %s *from = (const %s *)b[%d] + %s;", stored, stored, p.E.Slot(buffer.Buffer), point.OffsetText(point.Start(p.K, view), append(point.Follows(p.Batch, view), o.along), view))
	n.Line("const int count = %d - k < %d ? (int)(%d - k) : %d;", p.Length, per, p.Length, per)
	n.Open("for (int64_t lane = 0; lane < lanes; lane += %d, to += %d) {", tile.NarrowPanel, o.panel())
	n.Line("const int live = lanes - lane < %d ? (int)(lanes - lane) : %d;", tile.NarrowPanel, tile.NarrowPanel)
	o.packBlock(point.Number(l.Step), point.Number(p.C.Reduction[0].Step(view)))
	n.Close(2)
	if o.summed() {
		n.defineFile("sums.c")
		sums := map[panels.BlockForm]string{panels.Lines: "tapc_line_sums", panels.Across: "tapc_across_sums"}[l.Blocked.Form]
		n.Open("static void %s_sum_%s(uint8_t *first, int64_t lanes) {", p.Name, o.side.count)
		n.Line("for (; lanes > 0; lanes -= %d, first += %d) %s(first, %d);", tile.NarrowPanel, o.panel(), sums, o.blocks())
		n.Close()
	}
}

// packBlock writes the packing of one block, of lanes that are step apart, and values along K stepK: lane by lane or group by group, and
// transposed if panels have it the other way.
func (o *operand) packBlock(step, stepK string) {
	c := o.converter()
	form, pack := panels.Lines, c.Lines
	if o.neighbours() {
		form, pack = panels.Across, c.Across
	}
	call := func(to string) string {
		return fmt.Sprintf("%s(from + k * %s + lane * %s, %s, %s, live, count, %s);", pack(), stepK, step, step, stepK, to)
	}
	if form == o.layout.Blocked.Form {
		o.n.Line("%s", call("to"))
	} else {
		o.n.Line("{ _Alignas(64) uint8_t transposed[%d]; %s %s(transposed, to); }", panels.BlockBytes, call("transposed"), c.Transposed())
	}
}

// converter gives the writer of the functions that convert its elements.
func (o *operand) converter() *Converter {
	return &Converter{o.n.p.E.V, o.n.p.N, o.layout.Blocked}
}
