package lowprecision

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// operand is a factor of the products, and where it is.
type operand struct {
	n       *Kernel
	operand int
	along   point.Axis // rows or columns
	layout  panels.Layout
	fixed   bool          // it is packed when the program is built
	place   product.Place // of the panels: of a constant, or in scratch memory
	chunk   int64         // of rows or columns that are packed at once
	side    side
}

// side is what the code calls the two operands and the positions along them.
type side struct {
	form               panels.BlockForm
	name, first, count string
}

// operandOf lays an operand's panels out, of which so many are packed at once, 0 for all.
func (n *Kernel) operandOf(buffers map[ir.NodeID]*schedule.Buffer, ref int, along point.Axis, atOnce int64, s side) operand {
	buffer := buffers[n.p.K.Operands[ref].Buffer]
	l := n.p.Layout(ref, along.Dim, tile.NarrowPanel)
	l.Size = buffer.Type().Size()
	l.Blocked = panels.Blocked{Form: s.form, From: buffer.Type()}
	o := operand{n: n, operand: ref, along: along, layout: l, fixed: nest.Prepackable(buffer), chunk: along.Extent, side: s}
	if atOnce > 0 {
		o.chunk = min(o.chunk, atOnce*tile.NarrowPanel)
	}
	return o
}

// mostAtOnce is how many panels are packed at once at most: those of whole tiles.
func (o *operand) mostAtOnce() int64 {
	const tiles = tile.NarrowCols / tile.NarrowPanel
	return max(1, blocking.MaxPacked/max(1, panels.Extents(o.layout.Groups)*o.panel())/tiles) * tiles
}

// panel is the bytes of one panel.
func (o *operand) panel() int64 { return o.layout.Blocked.PanelBytes(panels.Extents(o.layout.Reduced)) }

// blocks is how many blocks a panel has.
func (o *operand) blocks() int64 { return o.layout.Blocked.Blocks(panels.Extents(o.layout.Reduced)) }

// panelsOf is how many panels some rows or columns take.
func panelsOf(count int64) int64 { return (count + tile.NarrowPanel - 1) / tile.NarrowPanel }

// panelAt writes the address of the panel that a row or column is in.
func (o *operand) panelAt() string {
	group := o.n.p.Group(o.operand)
	panel := fmt.Sprintf("(%s - part->%s) / %d", o.along.Variable, o.side.first, tile.NarrowPanel)
	if group != "" {
		panel = fmt.Sprintf("((%s) * ((part->%s + %d) / %d) + %s)", group, o.side.count, tile.NarrowPanel-1, tile.NarrowPanel, panel)
	}
	return fmt.Sprintf("%s + %s * %s", o.side.name, panel, point.Number(o.panel()))
}

// zeroPoint is what is subtracted from the bytes of the panels, in the signs that they have there: an expression, or nil, plus a number.
type zeroPoint struct {
	e    *scalar.Expr
	plus int
}

// zero gives the zero point of an operand.
func (o *operand) zero() zeroPoint {
	z := zeroPoint{e: o.n.n.RightZero}
	if o.layout.Blocked.Form == panels.Lines {
		z.e = o.n.n.LeftZero
	}
	switch {
	case o.layout.Blocked.Flip() == 0:
	case o.layout.Blocked.Form == panels.Lines:
		z.plus = 128
	default:
		z.plus = -128
	}
	return z
}

// none says whether nothing is subtracted.
func (z zeroPoint) none() bool { return z.e == nil && z.plus == 0 }

// text writes it for the lanes of a point: one number, or a vector.
func (z zeroPoint) text(at *point.Point) string {
	if z.e == nil {
		return fmt.Sprintf("(%s)(%d)", at.V.W.Type(scalar.UInt32), z.plus)
	}
	x, t := at.V.Expr(z.e, at.N, at), at.V.Type(scalar.UInt32, at.N)
	if x.Uniform {
		return fmt.Sprintf("((uint32_t)%s + (uint32_t)(%d))", x.Text, z.plus)
	}
	return fmt.Sprintf("((%s)%s + (uint32_t)(%d))", t, x.Text, z.plus)
}

// summed says whether register tiles need the sums of the bytes of an operand's panels.
func (o *operand) summed() bool {
	moved := false
	for _, t := range o.n.tiles {
		moved = moved || o.layout.Blocked.Form == panels.Across && t.Moves()
	}
	return o.layout.Blocked.IsBytes() && (o.n.corrected() || moved)
}

// neighbours says whether an operand is packed group by group: lanes are neighbours in memory, and the values along K are not.
func (o *operand) neighbours() bool {
	return o.layout.Step == 1 && o.n.p.C.Reduction[0].Step(o.n.p.C.Views[o.operand]) != 1
}

// wide is how many lanes are packed side by side: a panel's, or if they are neighbours in memory, as many as share a cache line.
func (o *operand) wide() int64 {
	if o.neighbours() {
		return int64(64 / (tile.NarrowPanel * o.layout.Size) * tile.NarrowPanel)
	}
	return tile.NarrowPanel
}

// pack writes the packing of an operand by all threads.
func (o *operand) pack() {
	o.n.p.Parallel(fmt.Sprintf("%s * ((part.%s + %d) / %d)", point.Number(panels.Extents(o.layout.Groups)), o.side.count, o.wide()-1, o.wide()), "pack_"+o.side.name,
		unit.Each(float64(o.wide()/tile.NarrowPanel*o.panel())/unit.PackRate, 1))
}

// packTask writes the function with which a thread packs some panels of an operand.
func (o *operand) packTask() {
	n, p, l, wide := o.n, o.n.p, o.layout, o.wide()
	buffer := p.K.Operands[o.operand]
	p.E.Raw(buffer.Buffer)
	unit.Task(n.Text, fmt.Sprintf("%s in panels of %d %s.", buffer.Name, tile.NarrowPanel, o.side.count), fmt.Sprintf("%s_pack_%s", p.Name, o.side.name), "tapc_narrow_part")
	n.Line("const %s *all = b[%d];", p.E.W.Stored(buffer.Type()), p.E.Slot(buffer.Buffer))
	n.Line("const int64_t across = (part->%s + %d) / %d, panels = (part->%s + %d) / %d, last = part->%s + part->%s;", o.side.count, wide-1, wide,
		o.side.count, tile.NarrowPanel-1, tile.NarrowPanel, o.side.first, o.side.count)
	per := int64(tile.NarrowBlock) / l.Blocked.Size()
	blocks := func() {
		n.Open("for (int64_t k = 0; k < %d; k += %d) {", p.Length, per)
		n.Line("const int count = %d - k < %d ? (int)(%d - k) : %d;", p.Length, per, p.Length, per)
	}
	if o.neighbours() { // what is near in memory comes one after the other
		blocks()
	}
	o.lanes()
	if !o.neighbours() {
		blocks()
	}
	n.Line("uint8_t *to = first + k / %d * %d;", per, panels.BlockBytes)
	n.Open("for (int lane = 0; lane < lanes; lane += %d, to += %d) {", tile.NarrowPanel, o.panel())
	n.Line("const int live = lanes - lane < %d ? lanes - lane : %d;", tile.NarrowPanel, tile.NarrowPanel)
	o.packBlock(point.Number(l.Step), point.Number(p.C.Reduction[0].Step(p.C.Views[o.operand])))
	n.Close(3)
	if o.summed() {
		n.defineFile("sums.c")
		sums := map[panels.BlockForm]string{panels.Lines: "tapc_line_sums", panels.Across: "tapc_across_sums"}[l.Blocked.Form]
		o.lanes()
		n.Line("(void)from;")
		n.Line("for (int lane = 0; lane < lanes; lane += %d) %s(first + lane / %d * %d, %d);", tile.NarrowPanel, sums, tile.NarrowPanel, o.panel(), o.blocks())
		n.Close()
	}
	n.Close()
}

// lanes opens a loop over the lanes that are packed side by side: first is their first panel, from its first element, and lanes how many
// there are.
func (o *operand) lanes() {
	n, p, view, wide, v := o.n, o.n.p, o.n.p.C.Views[o.operand], o.wide(), o.along.Variable
	n.Open("for (int64_t index = begin; index < end; index++) {")
	n.Line("const int64_t %s = part->%s + index %% across * %d;", v, o.side.first, wide)
	n.Line("int64_t rest = index / across;")
	n.Line("uint8_t *first = (uint8_t *)b[%d] + %d + (rest * panels + index %% across * %d) * %d;", o.place.Slot, o.place.At, wide/tile.NarrowPanel, o.panel())
	groups := point.Follows(p.Batch, view)
	point.PlaceOf(n.Text, groups)
	n.Line("const int lanes = last - %s < %d ? (int)(last - %s) : %d;", v, wide, v, wide)
	n.Line("const %s *from = all + %s;", p.E.W.Stored(p.K.Operands[o.operand].Type()), point.OffsetText(point.Start(p.K, view), append(groups, o.along), view))
}

// packBlock writes the packing of one block, of lanes that are step apart, and values along K stepK: lane by lane or group by group, and
// transposed if panels have it the other way.
func (o *operand) packBlock(step, stepK string) {
	c := o.converter()
	form, pack := panels.Lines, c.lines
	if o.neighbours() {
		form, pack = panels.Across, c.across
	}
	call := func(to string) string {
		return fmt.Sprintf("%s(from + k * %s + lane * %s, %s, %s, live, count, %s);", pack(), stepK, step, step, stepK, to)
	}
	if form == o.layout.Blocked.Form {
		o.n.Line("%s", call("to"))
	} else {
		o.n.Line("{ _Alignas(64) uint8_t turned[%d]; %s %s(turned, to); }", panels.BlockBytes, call("turned"), c.transposed())
	}
}

// converter gives the writer of the functions that convert its elements.
func (o *operand) converter() *converter {
	return &converter{o.n.p.E.V, o.n.p.N, o.layout.Blocked}
}
