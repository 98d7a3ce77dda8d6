package tile

import (
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
func PackingOf(c *nest.Contraction) Packing {
	p := Packing{packLeft(c), packRight(c, aloneUses)}
	if p.Left == Unpacked && p.Right != Unpacked && c.Padded == nil && c.Window == nil && large(c) {
		p.Left = PerMacroTile
	}
	return p
}

// packRight chooses whether a right operand is packed whose elements are used so often that a copy pays.
func packRight(c *nest.Contraction, uses int64) Pack {
	switch {
	case c.RightConstant:
		return Prepacked
	case c.Window == nil && c.Col.Step(c.Views[c.Right]) == 1 && (c.Uses() < uses || near(c)):
		return Unpacked
	}
	return UpFront
}

// near says whether the rows of a right operand stay in half of a second cache: tiles read them unpacked as fast as panels, which
// would be copied first.
func near(c *nest.Contraction) bool {
	if len(c.Reduction) != 1 || c.Uses() > nearUses {
		return false
	}
	apart := max(c.Reduction[0].Step(c.Views[c.Right]), 0) * int64(c.Sum.Type.Size())
	return apart > 0 && nest.SaturatingProduct(c.Reduction[0].Extent, apart) <= nearBytes
}

// packLeft chooses whether all of a left operand is packed.
func packLeft(c *nest.Contraction) Pack {
	switch {
	case c.LeftConstant:
		return Prepacked
	case c.Padded == nil && strided(c):
		return UpFront
	}
	return Unpacked
}

// StagePacking chooses how the operands of a contraction back to back with another are packed: the rows of a block stay in the first cache.
func StagePacking(c *nest.Contraction) Packing { return Packing{Unpacked, packRight(c, nest.PackUses)} }

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
	aloneUses   = 192       // of each element of a right operand of a product by itself, from which a copy pays
	nearBytes   = 512 << 10 // of a right operand that stays unpacked
	nearUses    = 256       // of each of its elements, from which a copy pays all the same
	largeBytes  = 2 << 20   // of a left operand, of which not much more than a half is in a second cache
	largeRows   = 256       // and its least rows
	largeFold   = 256       // and columns
	jumpBytes   = 64        // between neighbours of the reduction: each is in a line of its own
	gatherBytes = 256       // of columns from which a copy of the rows pays
	maxGathered = 32 << 20  // bytes of such a copy
)

// strided says whether packing a left operand pays that is strided along the reduction: neighbours are in cache lines of their own, so that rows
// would be fetched, line by line, for every few columns anew.
func strided(c *nest.Contraction) bool {
	size, left := int64(c.Sum.Type.Size()), c.Views[c.Left]
	if len(c.Reduction) == 0 || c.Row.Extent < RowPanel || c.Col.Extent*size < gatherBytes {
		return false
	}
	if apart := c.Reduction[len(c.Reduction)-1].Step(left) * size; -jumpBytes < apart && apart < jumpBytes {
		return false
	}
	return nest.SaturatingProduct(roundUp(c.Row.Extent, RowPanel), size, nest.ManyPoints(c.Reduction), nest.ManyPoints(nest.Followed(c.Batch, left, true))) <= maxGathered
}
