package tile

import (
	"math"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// Pack is whether an operand is copied to panels, in the order in which tiles read it, and when.
type Pack uint8

// The ways to pack.
const (
	Unpacked     Pack = iota // it is read as it is
	Prepacked                // it is constant: when the program is built
	UpFront                  // before anything is multiplied, for all threads
	PerMacroTile             // by the thread that multiplies a macro-tile, run by run of the reduction
)

// String gives the word.
func (p Pack) String() string {
	return [...]string{"unpacked", "prepacked", "packed up front", "packed per macro-tile"}[p]
}

// Packing is how the operands of a contraction are packed. Panels of a left operand have RowPanel rows, or as many as a register tile has
// where macro-tiles are packed. UpFront says of a right operand that it is packed; where no panels serve several macro-tiles, each packs its own.
type Packing struct{ Left, Right Pack }

// PackingOf chooses how the operands of a contraction are packed.
func (t Target) PackingOf(c *nest.Contraction) Packing {
	p := Packing{packLeft(t, c), packRight(c, t.copyUses(c))}
	if p.Left == Unpacked && p.Right != Unpacked && c.Padded == nil && c.Window == nil && large(c) {
		p.Left = PerMacroTile
	}
	return p
}

// StagePacking chooses how the operands of a contraction back to back with another are packed: the rows of a block stay in the first cache.
func (t Target) StagePacking(c *nest.Contraction) Packing {
	return Packing{Unpacked, packRight(c, min(t.copyUses(c), stageUses))}
}

// packRight chooses whether a right operand is packed: one whose columns are neighbours where each element is used more often than some number.
func packRight(c *nest.Contraction, uses int64) Pack {
	switch {
	case c.Constant.Right:
		return Prepacked
	case c.Window == nil && c.Computed == nil && c.Col.Step(c.Views[c.Right]) == 1 && c.Uses() <= uses:
		return Unpacked
	}
	return UpFront
}

// copyUses is how often each element of a right operand whose columns are neighbours may be used for a copy not to pay: what a copy takes is a part of the time that
// falls as they are used more often, and panels gain little over rows. Fewer columns than a panel has end within a vector, which takes longer to read. Rows whole
// pages apart push each other out of the caches, the more where a tile reads no more than a line of each. And rows that are in pages of their own, or are read again
// for each run of a reduction that is cut, are read more slowly the more often; where vectors are half a line and the second cache is small they do not stay there for the next rows,
// and rows half pages apart do not either.
func (t Target) copyUses(c *nest.Contraction) int64 {
	size, paged, halves, long := int64(c.Sum.Type.Size()), false, false, len(c.Reduction) != 1 || c.Reduction[0].Extent > nest.LongReduction
	far := long
	for _, d := range c.Reduction {
		apart := d.Step(c.Views[c.Right]) * size
		paged = paged || apart != 0 && apart%pageBytes == 0
		halves = halves || apart != 0 && apart%(pageBytes/2) == 0
		far = far || apart <= -pageBytes || apart >= pageBytes
	}
	switch {
	case c.Col.Extent*size < schedule.PanelBytes, paged && t.Vector < schedule.PanelBytes:
		return leastUses
	case (halves || long) && t.Vector == schedule.PanelBytes/2 && t.L2 <= smallL2:
		return smallUses
	case paged:
		return pagedUses
	case far:
		return farUses
	}
	return math.MaxInt64
}

// packLeft chooses whether all of a left operand is packed.
func packLeft(t Target, c *nest.Contraction) Pack {
	switch {
	case c.Constant.Left:
		return Prepacked
	case c.Padded == nil && strided(t, c):
		return UpFront
	}
	return Unpacked
}

// large says whether the left operand is so large, and used so often, that packing the rows of each macro-tile pays: rows far apart push each other out of the first cache, and each is in a page of its own.
func large(c *nest.Contraction) bool {
	if len(c.Reduction) != 1 || c.Reduction[0].Step(c.Views[c.Left]) != 1 {
		return false
	}
	bytes := nest.SaturatingProduct(c.Row.Extent, c.Reduction[0].Extent, int64(c.Sum.Type.Size()))
	return c.Row.Extent >= largeRows && c.Col.Extent >= leastPieceCols && c.Reduction[0].Extent >= largeFold && bytes >= largeBytes
}

// Paneled says whether all of the left operand is in panels of RowPanel rows.
func (p Packing) Paneled() bool { return p.Left == Prepacked || p.Left == UpFront }

const (
	leastUses   = 24        // of each element of a right operand, above which a copy pays where it gains most: few columns, or lines in pages of their own
	smallUses   = 64        // where rows are half pages apart, or a reduction is cut, with vectors of half a line
	smallL2     = 512 << 10 // and a second cache of so many bytes at most: with more it was not measured,
	pagedUses   = 384       // where rows are whole pages apart
	stageUses   = 512       // in a product back to back with another
	farUses     = 1024      // where rows are in pages of their own, or a reduction is cut
	largeBytes  = 2 << 20   // of a left operand, of which not much more than a half is in a second cache
	largeRows   = 256       // and its least rows
	largeFold   = 256       // and columns
	jumpBytes   = 64        // between neighbours of the reduction: each is in a line of its own
	jumpCols    = 768       // from which half of that is enough with vectors of half a line
	gatherBytes = 256       // of columns from which a copy of the rows pays
	maxGathered = 32 << 20  // bytes of such a copy
)

// strided says whether packing a left operand pays that is strided along the reduction: neighbours are in cache lines of their own, so that rows
// would be fetched, line by line, for every few columns anew. Where vectors are half a line it pays where lines hold one neighbour or two, too, as of filters of 3 × 3,
// if there are columns enough.
func strided(t Target, c *nest.Contraction) bool {
	size, left := int64(c.Sum.Type.Size()), c.Views[c.Left]
	if len(c.Reduction) == 0 || c.Row.Extent < RowPanel || c.Col.Extent*size < gatherBytes {
		return false
	}
	jump := int64(jumpBytes)
	if t.Vector == schedule.PanelBytes/2 && c.Col.Extent >= jumpCols {
		jump /= 2
	}
	if apart := c.Reduction[len(c.Reduction)-1].Step(left) * size; -jump < apart && apart < jump {
		return false
	}
	return nest.SaturatingProduct(roundUp(c.Row.Extent, RowPanel), size, nest.Points(c.Reduction), nest.Points(nest.Followed(c.Batch, left, true))) <= maxGathered
}
