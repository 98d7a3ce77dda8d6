package tile

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// Sizes of the tiles of low-precision contractions.
const (
	NarrowPanel = 16       // rows or columns that are copied side by side
	NarrowRows  = 32       // of a piece, a multiple of these: matrix units take two panels of either operand at a time
	NarrowCols  = 96       // of a piece, a multiple of these: a multiple of the widths of all tiles
	NarrowBlock = 64       // bytes of the reduction that a matrix unit takes at a time
	narrowFold  = 1 << 10  // bytes of the reduction that run at once: those of two panels are a part of the first cache, which a matrix unit reads again for each tile of rows
	narrowSums  = 64 << 10 // unfinished sums of a piece at most
	minNarrow   = 16       // columns, and length of the reduction, of float32 that pays to be made narrow
)

// roundingPays says whether a kernel of float32 that may round its operands gains from it: if they are copied anyway, or when the
// program is built.
func roundingPays(_ *schedule.Kernel, forms nest.Forms) bool {
	n, ok := nest.Of[*nest.LowPrecision](forms)
	return ok && n.Rounds() && n.C.Col.Extent >= minNarrow && n.Length() >= minNarrow && (n.C.Constant.Right || n.C.Uses() >= nest.ManyUses)
}

// lowPrecisionTile is the register tile of sums: as many rows as there are registers for beside the columns of some panels. Groups of two
// numbers are taken apart where there is no instruction for them, which needs registers too.
func (t Target) lowPrecisionTile(group int64) (rows, cols int64) {
	switch {
	case t.Vector < 64:
		return max(1, t.Registers*t.Vector/128), NarrowPanel // half of the registers are sums
	case group == 2:
		return 8, 2 * NarrowPanel
	}
	return 8, 3 * NarrowPanel
}

// lowPrecisionStage cuts a low-precision contraction. Pieces are multiples of the tiles of every instruction that may carry it out.
func (t Target) lowPrecisionStage(n *nest.LowPrecision) schedule.Stage {
	if n.Unpacked {
		return t.unpackedStage(n)
	}
	tileRows, tileCols := t.lowPrecisionTile(n.Group)
	length := n.C.Reduction[0].Extent
	p := productPlan{lanes: t.lanes(4), tile: pricedTile{RegisterTile: RegisterTile{NarrowRows, NarrowCols / t.lanes(4)}}, length: length, batch: nest.Points(n.C.Batch), fold: length, Packing: Packing{Right: UpFront}}
	bytes := 4 / n.Group
	left := t.L2 / 2
	if length*bytes > narrowFold { // beside unfinished sums
		p.fold, left = even(length, narrowFold/bytes, max(SumBlock, NarrowBlock/bytes)), t.L2/4
	}
	p.rows = even(n.C.Row.Extent, left/(p.fold*bytes), NarrowRows)
	p.cols = roundUp(n.C.Col.Extent, NarrowCols)
	p.shrink(n.C, NarrowCols)
	if p.fold < length {
		p.narrow(narrowSums, NarrowCols)
	}
	return p.lowPrecisionStage(n, tileRows, tileCols)
}

// lowPrecisionStage gives what a config says of a low-precision contraction.
func (p *productPlan) lowPrecisionStage(n *nest.LowPrecision, tileRows, tileCols int64) schedule.Stage {
	return schedule.Stage{Algorithm: schedule.LowPrecision, Tiles: p.tiles(n.C, tileRows, tileCols), Threads: p.threads(n.C)}
}

// unpackedTile is the register tile of sums of a contraction whose left operand is unpacked.
func (t Target) unpackedTile(n *nest.LowPrecision) (rows, cols int64) {
	if t.Vector < 64 || n.Group == 2 {
		return t.lowPrecisionTile(n.Group)
	}
	tile := registerTile(t.registerTiles(n.C.Row.Extent, n.C.Col.Extent, t.lanes(4), min(n.Length()/n.Group+1, nest.LongReduction), 0, maxRows, false))
	return tile.Rows, tile.Vectors * t.lanes(4)
}

// unpackedStage cuts a contraction whose left operand is unpacked.
func (t Target) unpackedStage(n *nest.LowPrecision) schedule.Stage {
	tileRows, tileCols := t.unpackedTile(n)
	length, bytes := n.Length(), 4/n.Group
	p := productPlan{lanes: t.lanes(4), tile: pricedTile{RegisterTile: RegisterTile{tileRows, tileCols / t.lanes(4)}}, length: length, batch: nest.Points(n.C.Batch), Packing: Packing{Right: UpFront}}
	p.rows = even(n.C.Row.Extent, t.L2/4/max(1, length*bytes), tileRows)
	p.cols = min(roundUp(n.C.Col.Extent, tileCols), roundDown(t.L2/2/max(1, length*bytes), tileCols))
	if n.C.Transposed {
		p.turned(MaxSums / 4)
	}
	p.shrink(n.C, tileCols)
	p.fold = n.Run()
	return p.lowPrecisionStage(n, tileRows, tileCols)
}
