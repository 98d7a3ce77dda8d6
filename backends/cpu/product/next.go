package product

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/passes/tile"
)

// coming is what a tile fetches while it multiplies: what tiles after it need and no cache near by has. It does so little by little, as
// what it loads itself would have to wait behind many lines at once.
type coming uint8

const (
	nothing     coming = iota
	rowsNext           // the rows of the next tile, which stand where they always do
	columnsNext        // the panels of the next columns
	stripNext          // the same, a line with every value of the fold in the last tiles that use the present ones
	pieceNext          // the columns of the next piece, which its thread then puts in panels
)

// leastTiles is how many tiles have to share the next columns.
const leastTiles = 16

// fewStrips is how many times a piece's rows are used at most for their being fetched to matter.
const fewStrips = 4

// whatComes chooses what tiles fetch.
func (p *Product) whatComes() coming {
	last := len(p.C.Reduction) - 1
	if last < 0 || p.C.Window != nil || p.Cut.Groups > 0 {
		return nothing
	}
	far := func(operand int) bool { return p.E.Buffers[p.K.Operands[operand].Buffer].Bytes >= p.E.Target.L2/2 }
	columns := (p.Pack.Right == tile.Prepacked || p.Pack.Right == tile.UpFront) && far(p.C.Right) && p.strips() > 1 && p.Cut.TileCols%p.Panel == 0
	simple := last == 0 && p.C.Padded == nil
	switch {
	case !simple:
	case columns && p.tilesAcross() < leastTiles:
		if p.Pack.Right == tile.Prepacked && p.tilesAcross() >= max(2, p.Cut.TileCols/p.Panel) && (!p.ColumnsLast() || p.Cut.Cols == p.Cut.TileCols) {
			return stripNext
		}
	case p.TilesDown() < 2:
	case columns && !p.ColumnsLast() && p.Cut.Block < p.Cut.Fold:
		return columnsNext
	case p.Pack.Right == tile.PerMacroTile && !p.Blockwise() && p.C.Col.Step(p.C.Views[p.C.Right]) == 1 && far(p.C.Right) && p.C.Col.Extent > p.Cut.Cols && p.roomForNext():
		return pieceNext
	case p.Pack.Right != tile.Unpacked && p.LeftWidth() == 0 && far(p.C.Left) && p.C.Row.Extent > p.Cut.TileRows && p.strips() <= fewStrips && !p.Split() && p.neighbours():
		return rowsNext
	}
	return nothing
}

// strips is how many columns of tiles there are.
func (p *Product) strips() int64 { return (p.C.Col.Extent + p.Cut.TileCols - 1) / p.Cut.TileCols }

// neighbours says whether the rows of the left operand stand one behind the other.
func (p *Product) neighbours() bool {
	left, fold := p.C.Views[p.C.Left], p.C.Reduction[len(p.C.Reduction)-1]
	return fold.Step(left) == 1 && p.C.Row.Step(left) == fold.Extent
}

// tilesAcross is how many tiles use a strip of columns, or a part of it if the fold is split, one behind the other.
func (p *Product) tilesAcross() int64 {
	if !p.ColumnsLast() || p.Split() {
		return p.TilesDown()
	}
	down := (p.C.Row.Extent + p.Cut.Rows - 1) / p.Cut.Rows
	rest := p.C.Row.Extent - (down-1)*p.Cut.Rows
	return (down*p.Inner-1)*p.TilesDown() + (rest+p.Cut.TileRows-1)/p.Cut.TileRows
}

// roomForNext says whether the second cache has room for the next piece's columns beside what the present one takes.
func (p *Product) roomForNext() bool {
	return 2*p.Share()+p.Cut.Rows*p.Length*int64(p.D.Size()) <= p.E.Target.L2*3/4
}

// nextAddress lists, behind a prefix for each, from which address on and in which steps a tile fetches, as parameters or arguments: maybe from
// beyond what there is, so they are numbers.
func (p *Product) nextAddress(prefix string) string {
	switch p.comes {
	case nothing:
		return ""
	case columnsNext:
		return fmt.Sprintf(", %snext", prefix)
	}
	return fmt.Sprintf(", %snext, %sstep", prefix, prefix)
}

// next declares them for a tile. The lines of a piece's columns are shared out between tiles: the first fetches the first line of every
// value of the reduction, the second the next; those that find none left fetch what they have.
func (p *Product) next() {
	at := fmt.Sprintf("(i - i0) / %d", p.Cut.TileRows)
	declare := func(base, offset, what string) {
		p.Line("const uintptr_t next = (uintptr_t)%s + (uintptr_t)(%s) * sizeof *w; // the next %s", base, offset, what)
	}
	// some tiles, from one on, fetch in steps of some elements
	some := func(ordinal string, step int64) {
		p.Line("const int64_t tile = %s;", at)
		p.Line("const uintptr_t step = %s ? (uintptr_t)%s * sizeof *w : 0;", ordinal, point.Number(step))
	}
	switch p.comes {
	case rowsNext:
		p.Line("const uintptr_t step = %d;", tile.PanelBytes)
		declare("a", point.Number(p.Cut.TileRows*p.C.Row.Step(p.C.Views[p.C.Left])), "rows")
	case columnsNext:
		declare("w", fmt.Sprintf("%s + %s * %d", point.Number(p.Cut.TileCols*p.Deep()), at, p.blocksOf()*p.pace()*p.Panel), "columns")
	case stripNext:
		first := p.tilesAcross() - p.Cut.TileCols/p.Panel
		if p.ColumnsLast() && !p.Split() {
			at = fmt.Sprintf("piece %% %d * %d + %s", (p.C.Row.Extent+p.Cut.Rows-1)/p.Cut.Rows*p.Inner, p.TilesDown(), at)
		}
		far := point.Number(p.Cut.TileCols * p.Deep())
		if p.Split() {
			far = fmt.Sprintf("(f + fn < %d ? fn * %d : %s - f * %d)", p.InnerFold(), p.Panel, far, p.Panel)
		}
		some(fmt.Sprintf("tile >= %d", first), p.Panel)
		declare("w", fmt.Sprintf("step ? %s + (tile - %d) * %s : 0", far, first, point.Number(p.Panel*p.Deep())), "columns")
	case pieceNext:
		if p.Cut.Cols > p.Cut.TileCols {
			at += fmt.Sprintf(" + (j - j0) / %d * %d", p.Cut.TileCols, p.TilesDown())
		}
		o, view, line := p.K.Operands[p.C.Right], p.C.Views[p.C.Right], int64(tile.PanelBytes/p.D.Size())
		from := point.OffsetText(point.Start(p.K, view), append(slices.Clone(p.Groups()), point.Axis{Dim: p.C.Col, Variable: "j1"}), view)
		some(fmt.Sprintf("tile < %d", (p.Cut.Cols+line-1)/line), p.C.Reduction[0].Step(view))
		declare(fmt.Sprintf("b[%d]", p.E.Slot(o.Buffer)), fmt.Sprintf("%s + (step ? tile : 0) * %d", from, line), "piece")
	}
}

// fetchStep writes what a tile fetches with every value of the reduction, and fetchBlock with every block of them.
func (p *Product) fetchStep() {
	switch p.comes {
	case rowsNext:
		p.Line("TAPC_FETCH((const char *)next, 0, 0, 3), next += step;")
	case stripNext, pieceNext:
		p.Line("TAPC_FETCH((const char *)next, 0, 0, 2), next += step;")
	}
}

func (p *Product) fetchBlock() {
	if p.comes != columnsNext {
		return
	}
	n, size := p.pace(), int64(p.D.Size())
	for x := int64(0); x < p.Cut.TileCols; x += p.Panel {
		p.Line("for (int x = 0; x < %d; x++) TAPC_FETCH((const char *)next, x * %d + %s, 0, 2);", n, tile.PanelBytes, point.Number(x*p.Deep()*size))
	}
	p.Line("next += %d;", n*tile.PanelBytes)
}

// pace is how many values of the reduction each block of a tile fetches of the next columns, so that the tiles of a piece fetch all.
func (p *Product) pace() int64 {
	n := p.TilesDown() * p.blocksOf()
	return (p.Cut.Fold + n - 1) / n
}

// blocksOf is how many blocks a run of the reduction has.
func (p *Product) blocksOf() int64 { return (p.Cut.Fold + p.Cut.Block - 1) / p.Cut.Block }
