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

// shared says whether blocks run on several threads.
func shared(k *schedule.Kernel, c *nest.BackToBack) bool {
	work := c.First.Col.Extent
	for _, l := range c.Free() {
		work = nest.SaturatingProduct(work, k.Loops[l].Extent())
	}
	return nest.SaturatingProduct(work, c.First.InnerReduction()+c.Last.Col.Extent) >= productWork
}

// block is a number of rows that a block can have, and the rows that register tiles of both products have in it, together.
type block struct{ rows, filled int64 }

// blocks gives the numbers of rows that a block can have: as many as stay in the second cache, in blocks of about the same size, of which there
// are enough for threads if these share them, and close numbers.
func (t Target) blocks(c *nest.BackToBack, shared bool) []block {
	p := t.plan(c.Last, t.StagePacking(c.Last))
	first, last := t.plan(c.First, t.StagePacking(c.First)).tile.Rows, p.tile.Rows
	extent := c.First.Row.Extent
	limit := min(mostBlock, max(leastBlock, t.L2/blockShare/c.LineSize()))
	if p.fold < c.Last.InnerReduction() {
		limit = max(1, min(limit, MaxSums/(roundUp(c.Last.Col.Extent, p.tile.Vectors*p.lanes)*int64(c.Last.Sum.Type.Size()))))
	}
	most, others := min(limit, extent), nest.Points(c.First.Batch)
	for shared && most > 2*max(first, last) && nest.SaturatingProduct(others, (extent+most-1)/most) < pieces {
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

// stages cuts contractions back to back into blocks of some rows, and their stages for these.
func (t Target) stages(k *schedule.Kernel, c *nest.BackToBack, rows int64) []schedule.Stage {
	var out []schedule.Stage
	for i, x := range []*nest.Contraction{c.First, c.Last} {
		from := t.StagePacking(x)
		p := t.plan(x, from)
		p.rows, p.tile.Rows = rows, divisor(rows, p.tile.Rows)
		right := p.rightPack(x)
		if right != PerMacroTile { // a task packs the columns of a macro-tile just before it multiplies them
			p.cols = roundUp(x.Col.Extent, p.tile.Vectors*p.lanes)
		}
		if len(x.Reduction) > 0 && i == 0 { // the sums of a line are not held unfinished
			p.fold = x.InnerReduction()
		}
		if i == 1 && c.Middle != nil {
			middle := t.rowsStage(c.Stages[1], c.Middle)
			middle.Threads = false
			out = append(out, middle)
		}
		s := p.stage(c.Stages[2*i], x, right)
		s.Threads = i == 0 && shared(k, c)
		out = append(out, s)
	}
	return out
}
