package product

import (
	"fmt"

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
