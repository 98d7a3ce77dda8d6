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
	bind, work := schedule.Serial, c.First.Col.Extent
	for _, l := range c.Free() {
		work = nest.SaturatingProduct(work, k.Loops[l].Extent())
	}
	if nest.SaturatingProduct(work, c.First.InnerReduction()+c.Last.Col.Extent) >= productWork {
		bind = schedule.Thread
	}
	for _, l := range c.Free() {
		k.Loops[l].Levels = []schedule.Level{{Tile: 1, Bind: bind}}
	}
	if c.Row >= 0 {
		k.Loops[c.Row].Levels = []schedule.Level{{Tile: t.blockRows(c, bind), Bind: bind}, {Tile: 1}}
	}
}

// blockRows chooses how many rows a block has: as many as stay in the second cache, in blocks of about the same size, of which there
// are enough for threads if these share them. Among close numbers it takes one that the register tiles of both products divide well.
func (t Target) blockRows(c *nest.BackToBack, bind schedule.Binding) int64 {
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
	blocks := (extent + most - 1) / most
	rows := (extent + blocks - 1) / blocks
	best, score := rows, int64(0)
	for n := rows - rows/blockSlack; n <= max(rows, min(limit, rows+max(1, rows/blockSlack))); n++ {
		if s := divisor(n, first) + divisor(n, last); s >= score {
			best, score = n, s
		}
	}
	return best
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
