package product

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/passes/tile"
)

// fetch writes what register tiles ask for that tiles after them read.
type fetch struct{ p *Product }

// addresses lists, behind a prefix for each, from which address on and in which steps a tile fetches, as parameters or arguments: maybe from
// beyond what there is, so they are numbers.
func (f fetch) addresses(prefix string) string {
	switch f.p.Cut.Prefetch {
	case schedule.PrefetchNothing:
		return ""
	case schedule.PrefetchColumns:
		return fmt.Sprintf(", %snext", prefix)
	}
	return fmt.Sprintf(", %snext, %sstep", prefix, prefix)
}

// declare declares them for a tile. The lines of a piece's columns are shared out between tiles: the first fetches the first line of every
// value of the reduction, the second the next; those that find none left fetch what they have.
func (f fetch) declare() {
	p := f.p
	at := fmt.Sprintf("(i - i0) / %d", p.Cut.TileRows)
	declare := func(base, offset, what string) {
		p.Line("const uintptr_t next = (uintptr_t)%s + (uintptr_t)(%s) * sizeof *w; // the next %s", base, offset, what)
	}
	// some tiles, from one on, fetch in steps of some elements
	some := func(ordinal string, step int64) {
		p.Line("const int64_t tile = %s;", at)
		p.Line("const uintptr_t step = %s ? (uintptr_t)%s * sizeof *w : 0;", ordinal, point.Number(step))
	}
	switch p.Cut.Prefetch {
	case schedule.PrefetchRows:
		p.Line("const uintptr_t step = %d;", tile.PanelBytes)
		declare("a", point.Number(p.Cut.TileRows*p.C.Row.Step(p.C.Views[p.C.Left])), "rows")
	case schedule.PrefetchColumns:
		declare("w", fmt.Sprintf("%s + %s * %d", point.Number(p.Cut.TileCols*p.Deep()), at, f.blocks()*f.pace()*p.Panel), "columns")
	case schedule.PrefetchStrip:
		first := p.TilesAcross() - p.Cut.TileCols/p.Panel
		if p.Cut.ColumnsLast && !p.Split() {
			at = fmt.Sprintf("piece %% %d * %d + %s", (p.C.Row.Extent+p.Cut.Rows-1)/p.Cut.Rows*p.Inner, p.TilesDown(), at)
		}
		far := point.Number(p.Cut.TileCols * p.Deep())
		if p.Split() {
			far = fmt.Sprintf("(f + fn < %d ? fn * %d : %s - f * %d)", p.InnerFold(), p.Panel, far, p.Panel)
		}
		some(fmt.Sprintf("tile >= %d", first), p.Panel)
		declare("w", fmt.Sprintf("step ? %s + (tile - %d) * %s : 0", far, first, point.Number(p.Panel*p.Deep())), "columns")
	case schedule.PrefetchMacroTile:
		if p.Cut.Cols > p.Cut.TileCols {
			at += fmt.Sprintf(" + (j - j0) / %d * %d", p.Cut.TileCols, p.TilesDown())
		}
		o, view, line := p.K.Operands[p.C.Right], p.C.Views[p.C.Right], int64(tile.PanelBytes/p.D.Size())
		from := point.OffsetText(point.Start(p.K, view), append(slices.Clone(p.Groups()), point.Axis{Dim: p.C.Col, Variable: "j1"}), view)
		some(fmt.Sprintf("tile < %d", (p.Cut.Cols+line-1)/line), p.C.Reduction[0].Step(view))
		declare(fmt.Sprintf("b[%d]", p.E.Slot(o.Buffer)), fmt.Sprintf("%s + (step ? tile : 0) * %d", from, line), "piece")
	}
}

// step writes what a tile fetches with every value of the reduction, and block with every block of them.
func (f fetch) step() {
	switch p := f.p; p.Cut.Prefetch {
	case schedule.PrefetchRows:
		p.Line("TAPC_FETCH((const char *)next, 0, 0, 3), next += step;")
	case schedule.PrefetchStrip, schedule.PrefetchMacroTile:
		p.Line("TAPC_FETCH((const char *)next, 0, 0, 2), next += step;")
	}
}

func (f fetch) block() {
	p := f.p
	if p.Cut.Prefetch != schedule.PrefetchColumns {
		return
	}
	n, size := f.pace(), int64(p.D.Size())
	for x := int64(0); x < p.Cut.TileCols; x += p.Panel {
		p.Line("for (int x = 0; x < %d; x++) TAPC_FETCH((const char *)next, x * %d + %s, 0, 2);", n, tile.PanelBytes, point.Number(x*p.Deep()*size))
	}
	p.Line("next += %d;", n*tile.PanelBytes)
}

// pace is how many values of the reduction each block of a tile fetches of the next columns, so that the tiles of a piece fetch all.
func (f fetch) pace() int64 {
	n := f.p.TilesDown() * f.blocks()
	return (f.p.Cut.Fold + n - 1) / n
}

// blocks is how many blocks a run of the reduction has.
func (f fetch) blocks() int64 { return (f.p.Cut.Fold + f.p.Cut.Block - 1) / f.p.Cut.Block }
