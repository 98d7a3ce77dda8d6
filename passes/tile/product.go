package tile

import (
	"tensortapestry.org/tapc/dialects/schedule"
)

const (
	// SumBlock is how many products a float sum adds before it starts a new partial sum, so that its error grows with the
	// block and not with the whole length (N. Higham, "The Accuracy of Floating Point Summation", 1993).
	SumBlock = 64

	maxRows     = 14      // of a register tile: beyond, its code gets long and nothing faster
	maxVectors  = 8       // of a register tile
	cells       = 64      // pieces that a large product is cut into for threads
	productWork = 1 << 16 // multiply-adds from which threads pay, and of the smallest piece
)

// RegisterTile is what a contraction keeps in registers: sums of Rows rows and Vectors vectors of columns.
type RegisterTile struct{ Rows, Vectors int64 }

// registerTile chooses the tile with which a product of rows by cols takes the fewest cycles on a core that does two
// multiply-adds and two loads in a cycle and has results after four.
func (t Target) registerTile(rows, cols, lanes int64) RegisterTile {
	best, least := RegisterTile{1, 1}, int64(1)<<62
	for v := int64(1); v <= maxVectors; v++ {
		for r := int64(1); r <= maxRows && r <= rows; r++ {
			if r*v+v+t.spare() > t.Registers {
				break
			}
			c := tileCycles(rows, cols, r, v, lanes)
			if c < least || c == least && r*v > best.Rows*best.Vectors {
				best, least = RegisterTile{r, v}, c
			}
		}
		if v*lanes >= cols {
			break
		}
	}
	return best
}

// spare is how many registers a step needs beside sums and columns: AVX-512 multiplies by a number in memory.
func (t Target) spare() int64 {
	if t.Vector >= 64 {
		return 0
	}
	return 2
}

// tileCycles is about the time of one step of the fold over all tiles, in half cycles.
func tileCycles(rows, cols, r, v, lanes int64) int64 {
	one := func(r, v int64) int64 {
		if r == 0 || v == 0 {
			return 0
		}
		return max(r*v, r+v, 8)
	}
	vectors := (cols + lanes - 1) / lanes
	m, mt, n, nt := rows/r, rows%r, vectors/v, vectors%v
	return m*n*one(r, v) + m*one(r, nt) + n*one(mt, v) + one(mt, nt)
}

// bindContraction cuts a contraction: register tiles, pieces whose left operand stays in the second cache, threads.
func (t Target) bindContraction(k *schedule.Kernel, c *Contraction) {
	size := c.Sum.Type.Size()
	lanes := t.lanes(size)
	reg := t.registerTile(c.Row.Extent, c.Col.Extent, lanes)
	width := reg.Vectors * lanes
	length, batch := int64(1), int64(1)
	for _, d := range c.Fold {
		length *= d.Extent
	}
	for _, d := range c.Batch {
		batch *= d.Extent
	}
	rows := roundDown(t.L2/2/(length*int64(size)), reg.Rows)
	rows = min(rows, roundUp(c.Row.Extent, reg.Rows))
	cols := roundUp(c.Col.Extent, width)
	work := saturatingProduct(length, c.Row.Extent, c.Col.Extent, batch)
	rows, cols = shrink(rows, cols, reg.Rows, width, length, max(work/cells, productWork))
	bind := schedule.Serial
	if work >= productWork {
		bind = schedule.Thread
	}
	for _, d := range c.Batch {
		for _, l := range d.Loops {
			k.Loops[l].Levels = []schedule.Level{{Tile: 1, Bind: bind}}
		}
	}
	c.Row.bind(k, bind, rows, reg.Rows, 1)
	c.Col.bind(k, bind, cols, width, lanes)
	if n := len(c.Fold); n > 0 && c.Sum.Type.IsFloat() && c.Fold[n-1].Extent > SumBlock*3/2 {
		l := c.Fold[n-1].Inner()
		k.Loops[l].Levels = []schedule.Level{{Tile: SumBlock}, {Tile: 1}}
	}
}

// shrink makes pieces smaller until they do no more than some work: first fewer columns, but some tiles of both, as
// neighbouring tiles share what they read.
func shrink(rows, cols, tileRows, width, length, work int64) (int64, int64) {
	for saturatingProduct(length, rows, cols) > work {
		switch {
		case cols > 4*width:
			cols = roundUp(cols/2, width)
		case rows > 4*tileRows:
			rows = roundUp(rows/2, tileRows)
		case cols > width:
			cols = roundUp(cols/2, width)
		default:
			return rows, cols
		}
	}
	return rows, cols
}

// bind sets the levels of a dimension: pieces, register tiles in them, and the values of a tile, which are rows, or the
// lanes of vectors. Tiles count values of the whole dimension; they stand on its innermost loop.
func (d Dim) bind(k *schedule.Kernel, outer schedule.Binding, piece, tile, lanes int64) {
	for _, l := range d.Loops {
		k.Loops[l].Levels = []schedule.Level{{Tile: 1, Bind: outer}}
	}
	if len(d.Loops) == 0 {
		return
	}
	levels := []schedule.Level{{Tile: piece, Bind: outer}, {Tile: tile}}
	if lanes > 1 {
		levels = append(levels, schedule.Level{Tile: lanes, Bind: schedule.Unrolled}, schedule.Level{Tile: 1, Bind: schedule.Vector})
	} else {
		levels = append(levels, schedule.Level{Tile: 1, Bind: schedule.Unrolled})
	}
	k.Loops[d.Inner()].Levels = levels
}

func roundUp(n, to int64) int64   { return (n + to - 1) / to * to }
func roundDown(n, to int64) int64 { return max(to, n/to*to) }

func saturatingProduct(factors ...int64) int64 {
	n := int64(1)
	for _, f := range factors {
		if f = max(f, 1); n > (1<<40)/f {
			return 1 << 40
		}
		n *= f
	}
	return n
}
