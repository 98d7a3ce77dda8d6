package blocking

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/passes/tile"
)

// Cut holds what the schedule says of rows and columns.
type Cut struct {
	Rows, Cols         int64 // of a piece: what a thread computes at a time
	TileRows, TileCols int64 // of a register tile
	Fold, Block        int64 // values of the innermost dimension of the fold at once, and in a partial sum, which may be longer
	Thread             bool
	Groups             int64 // of partial sums, each a task of its own, and what these give is added after all; 0 if one task has all
}

// ReadCut reads the levels of a contraction, if they are of the form that passes/tile gives them.
func ReadCut(k *schedule.Kernel, c *nest.Contraction, lanes int64) (Cut, bool) {
	x := Cut{Rows: 1, TileRows: 1, Fold: 1, Block: 1}
	if l := c.Row.Inner(); l >= 0 {
		levels := k.Loops[l].Levels
		if len(levels) != 3 || levels[2].Bind != schedule.Unrolled || levels[0].Tile%levels[1].Tile != 0 {
			return x, false
		}
		x.Rows, x.TileRows = levels[0].Tile, levels[1].Tile
		x.Thread = levels[0].Bind == schedule.Thread
	}
	levels := k.Loops[c.Col.Inner()].Levels
	if len(levels) != 4 || levels[3].Bind != schedule.Vector || levels[2].Tile != lanes || levels[1].Tile%lanes != 0 ||
		levels[0].Tile%levels[1].Tile != 0 {
		return x, false
	}
	x.Cols, x.TileCols = levels[0].Tile, levels[1].Tile
	x.Thread = x.Thread || levels[0].Bind == schedule.Thread
	if x.TileRows > 64 || x.TileCols > 32*lanes {
		return x, false
	}
	if n := len(c.Reduction); n > 0 {
		levels, extent := k.Loops[c.Reduction[n-1].Inner()].Levels, c.Reduction[n-1].Extent
		if len(levels) != 3 || len(c.Reduction) > 1 && levels[0].Tile < extent {
			return x, false
		}
		x.Fold, x.Block = min(extent, levels[0].Tile), min(extent, levels[1].Tile)
		if c.Sum.Type.IsFloat() && k.Sums > 0 {
			x.Block = min(extent, k.Sums)
		}
		return x, x.ends(extent)
	}
	return x, true
}

// Span is how many values of the reduction have one partial sum of partial sums.
func (c Cut) Span() int64 { return c.Block * tile.SumBlock }

// ends says whether the parts of a fold that run at once end where partial sums end or, if they are shorter, whole parts make one.
func (c Cut) ends(extent int64) bool {
	fit := func(part, of int64) bool { return of >= extent || of%part == 0 }
	return c.Fold >= extent || (c.Fold%c.Block == 0 || c.Fold < c.Block && fit(c.Fold, c.Block)) && fit(c.Fold, c.Span())
}
