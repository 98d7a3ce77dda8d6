package tile

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

const (
	blockShare = 8   // the part of the second cache that the lines of a block may take: what they are multiplied with passes beside them
	leastBlock = 32  // rows of a block, however long lines are: they share what they are multiplied with, which comes from further away
	mostBlock  = 128 // rows of a block, however short
	blockSlack = 4   // the part of its rows by which a block may be larger or smaller for the tiles' sake
)

// bindBackToBack cuts contractions back to back into blocks of rows.
func (t Target) bindBackToBack(k *schedule.Kernel, c *nest.BackToBack) {
	bind := carrier(k, c)
	for _, l := range c.Free() {
		k.Loops[l].Levels = []schedule.Level{{Tile: 1, Bind: bind}}
	}
	if c.Row >= 0 {
		k.Loops[c.Row].Levels = []schedule.Level{{Tile: t.blockRows(c, bind), Bind: bind}, {Tile: 1}}
	}
}

// carrier says what carries blocks out.
func carrier(k *schedule.Kernel, c *nest.BackToBack) schedule.Binding {
	work := c.First.Col.Extent
	for _, l := range c.Free() {
		work = nest.SaturatingProduct(work, k.Loops[l].Extent())
	}
	if nest.SaturatingProduct(work, c.First.InnerReduction()+c.Last.Col.Extent) >= productWork {
		return schedule.Thread
	}
	return schedule.Serial
}

// block is a number of rows that a block can have, and the rows that register tiles of both products have in it, together.
type block struct{ rows, filled int64 }

// blockRows chooses how many rows a block has: the most of those in which register tiles are filled best.
func (t Target) blockRows(c *nest.BackToBack, bind schedule.Binding) int64 {
	blocks := t.blocks(c, bind)
	best := blocks[0]
	for _, x := range blocks {
		if x.filled >= best.filled {
			best = x
		}
	}
	return best.rows
}

// blocks gives the numbers of rows that a block can have: as many as stay in the second cache, in blocks of about the same size, of which there
// are enough for threads if these share them, and close numbers.
func (t Target) blocks(c *nest.BackToBack, bind schedule.Binding) []block {
	first, last := t.plan(c.First, StagePacking(c.First)).tile.Rows, t.plan(c.Last, StagePacking(c.Last)).tile.Rows
	extent := c.First.Row.Extent
	limit := min(mostBlock, max(leastBlock, t.L2/blockShare/c.LineSize()))
	if p := t.plan(c.Last, StagePacking(c.Last)); p.fold < c.Last.InnerReduction() {
		limit = max(1, min(limit, MaxSums/(roundUp(c.Last.Col.Extent, p.tile.Vectors*p.lanes)*int64(c.Last.Sum.Type.Size()))))
	}
	most, others := min(limit, extent), int64(1)
	for _, d := range c.First.Batch {
		others = nest.SaturatingProduct(others, d.Extent)
	}
	for bind == schedule.Thread && most > 2*max(first, last) && nest.SaturatingProduct(others, (extent+most-1)/most) < pieces {
		most = (most + 1) / 2
	}
	count := (extent + most - 1) / most
	rows := (extent + count - 1) / count
	var out []block
	for n := rows - rows/blockSlack; n <= max(rows, min(limit, rows+max(1, rows/blockSlack))); n++ {
		out = append(out, block{n, divisor(n, first) + divisor(n, last)})
	}
	return out
}

// divisor gives the greatest number up to some that divides another.
func divisor(n, most int64) int64 {
	d := min(n, most)
	for n%d != 0 {
		d--
	}
	return d
}

// Cut cuts the stages of contractions back to back for blocks of some rows.
func (t Target) Cut(c *nest.BackToBack, rows int64) {
	for i, x := range map[int]*nest.Contraction{0: c.First, 2: c.Last} {
		k := c.Stages[i]
		clear(k)
		t.bindContraction(k, x, StagePacking(x))
		if l := x.Row.Inner(); l >= 0 {
			tile := k.Loops[l].Levels[1].Tile
			k.Loops[l].Levels[0].Tile, k.Loops[l].Levels[1].Tile = rows, divisor(rows, tile)
		}
		if n := len(x.Reduction); n > 0 && x == c.First { // the sums of a line are not held unfinished
			k.Loops[x.Reduction[n-1].Inner()].Levels[0].Tile = x.InnerReduction()
		}
		levels := k.Loops[x.Col.Inner()].Levels
		levels[0].Tile = roundUp(x.Col.Extent, levels[1].Tile)
	}
	if c.Middle != nil {
		clear(c.Stages[1])
		t.bindRows(c.Stages[1], c.Middle)
	}
	for _, h := range c.Workspaces {
		b := c.Buffer(h)
		b.Bytes = rows * h.Step * int64(b.Type().Size())
	}
}
