package blocking

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/passes/tile"
)

// Cut holds what a config says of rows and columns, and of the loops over them.
type Cut struct {
	Rows, Cols         int64 // of a piece: what a thread computes at a time
	TileRows, TileCols int64 // of a register tile
	Fold, Block        int64 // values of the innermost dimension of the fold at once, and in a partial sum, which may be longer
	Thread             bool
	Groups             int64 // of partial sums, each a task of its own, and what these give is added after all; 0 if one task has all
	ColumnsLast        bool  // a thread goes over the rows and the batch for some columns before it goes on to the next
	RowsFirst          bool  // the rows of a macro-tile go by outermost
	Prefetch           schedule.Prefetch
	Ahead              int64 // values of the reduction before their use that columns are asked for; 0 is schedule.UsualAhead for packed ones
}

// Span is how many values of the reduction have one partial sum of partial sums.
func (c Cut) Span() int64 { return c.Block * tile.SumBlock }

// ends says whether the parts of a fold that run at once end where partial sums end or, if they are shorter, whole parts make one.
func (c Cut) ends(extent int64) bool {
	fit := func(part, of int64) bool { return of >= extent || of%part == 0 }
	return c.Fold >= extent || (c.Fold%c.Block == 0 || c.Fold < c.Block && fit(c.Fold, c.Block)) && fit(c.Fold, c.Span())
}
