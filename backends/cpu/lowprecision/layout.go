package lowprecision

import (
	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// Kernel is a low-precision product; see nest.LowPrecision. Both operands are in panels of groups of four bytes, which
// panels.Blocked describes: packed when the program is built if they are constant, else before the product is computed. Or the left one is read
// in place: register tiles get the address of their first row, and step along the reduction in runs of neighbouring bytes, with each of which
// the right operand's panels begin a new block.
//
// The sums of a register tile are computed by one of several functions, for the instructions that a processor may have; which it has is
// asked when the kernel runs.
type Kernel struct {
	*cnest.Text
	p           *product.Product // its cut, its epilogue and its workspaces
	n           *nest.LowPrecision
	tiles       []registerTile
	called      []*tree.Func // that leaves call
	left, right operand
}

// registerTile is a row of the table of micro-kernels, and the size of the tiles of sums that it computes.
type registerTile struct {
	micro.Kernel
	rows, cols int64
}

// operand is a factor of the products, and where it is.
type operand struct {
	n       *Kernel
	operand int
	along   nest.Dim // rows or columns
	layout  panels.Layout
	fixed   bool  // it is packed when the program is built
	slot    int   // in the kernel's table then
	chunk   int64 // of rows or columns that are packed at once
	side    side
}

// side is what the code calls the two operands and the positions along them.
type side struct {
	form        panels.BlockForm
	name, count string
	sums        string // the template that adds up the bytes of lanes
	variable    string // along it
}

// template is what packs blocks of the operand.
func (o *operand) template() string { return "tapc_" + o.side.count }

// New lays out the operands of a low-precision product, which is cut as blocking.ReadLowPrecision says.
func New(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.LowPrecision, d blocking.Decided) *Kernel {
	wide, sum, _ := vector.Widened(k, found.C.Sum)
	c := *found.C
	c.Sum = sum
	n := &Kernel{n: found, p: &product.Product{Blocking: &blocking.Blocking{Target: t, K: wide, C: &c, D: sum.Type,
		N: t.Lanes(4), Cut: d.Cut, Sizes: blocking.Sizes{Length: found.Length(), Outer: 1, Inner: 1, Batch: c.Batch}}}}
	n.left = n.operandOf(buffers, c.Left, c.Row, d.Rounds.Left, side{panels.Lines, "left", "rows", "tapc_line_sums", "i"})
	n.right = n.operandOf(buffers, c.Right, c.Col, d.Rounds.Right, side{panels.Across, "right", "columns", "tapc_across_sums", "j"})
	if found.Unpacked {
		n.right.layout.Blocked.Run = found.Run()
	}
	n.tiles, n.called = n.registerTiles(), product.Functions(n.p.Blocking)
	if s := nest.SeldomOf(wide); s != nil {
		n.called = product.Seldom(n.p.Blocking, nest.Views(wide, buffers), s)
	}
	if n.corrected() {
		n.called = append(n.called, n.correct())
	}
	return n
}

// registerTiles gives those that a kernel has functions for, the best first.
func (n *Kernel) registerTiles() []registerTile {
	var out []registerTile
	for _, m := range micro.For(n.p.Target, n.n.Group) {
		rows, cols := m.Tile(n.p.Target, n.p.Cut.TileRows, n.p.Cut.TileCols, n.n.Unpacked)
		out = append(out, registerTile{m, rows, cols})
	}
	return out
}

// packed gives the operands that are read in panels.
func (n *Kernel) packed() []*operand {
	if n.n.Unpacked {
		return []*operand{&n.right}
	}
	return []*operand{&n.left, &n.right}
}

// corrected says whether sums of the panels' bytes are not yet those of the operands'.
func (n *Kernel) corrected() bool { return !n.left.zero().none() || !n.right.zero().none() }

// parted says whether the reduction runs in parts. Where rows are read in place, a part is a run of neighbours, in the tile's own function.
func (n *Kernel) parted() bool { return n.p.Split() && !n.n.Unpacked }

// operandOf lays an operand's panels out, of which so many are packed at once, 0 for all.
func (n *Kernel) operandOf(buffers map[ir.NodeID]*schedule.Buffer, ref int, along nest.Dim, atOnce int64, s side) operand {
	buffer := buffers[n.p.K.Operands[ref].Buffer]
	l := n.p.Layout(ref, along, tile.NarrowPanel)
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

// kept is the type of elements as the instructions take them.
func kept(l panels.Blocked) scalar.DType {
	if l.IsBytes() {
		return scalar.UInt8
	}
	return scalar.UInt16
}
