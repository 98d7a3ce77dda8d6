package rows

import "tensortapestry.org/tapc/backends/tree"

// vectors says whether vectors of a row are jammed.
func (j *jam) vectors() bool { return j != nil && j.axis == beside }

// count is how many cells are jammed: one if none are.
func (j *jam) count() int64 {
	if j == nil {
		return 1
	}
	return j.cells
}

// each makes something for each of the cells that are jammed, from the first on, in a block of its own.
func (j *jam) each(c *code, body func(cell int64)) {
	if j == nil {
		body(0)
		return
	}
	if j.vectors() {
		for cell := range j.cells {
			from := c.group.Plus(cell * c.r.n)
			to := from.Plus(c.r.n)
			if _, ok := from.Number(); ok {
				to = to.Min(tree.Const(c.r.Lane.Extent))
			}
			c.lanesOf(from, to, func() { body(cell) })
		}
		return
	}
	axis := c.r.Outer[j.axis]
	for cell := range j.cells {
		c.add(c.inside(func() {
			c.move(axis, c.at(axis).Plus(cell))
			body(cell)
		})...)
	}
}

// rest is how many cells are left behind whole groups of those that are jammed.
func (j *jam) rest(r *Kernel) int64 {
	if j == nil {
		return 0
	}
	return r.Outer[j.axis].Extent % j.cells
}

// tiledLines makes something for each of the cells of a tile, one after the other.
func tiledLines(c *code, body func()) {
	j := c.r.decided.jam
	if j == nil || !j.tiled {
		body()
		return
	}
	axis := c.r.Outer[j.axis]
	first := c.at(axis)
	c.loop("line", first, first.Plus(j.cells).Min(tree.Const(axis.Extent)), 1, tree.Serial, func(at *tree.Index) {
		c.move(axis, at)
		body()
	})
}

// groups makes something for a group of jammed cells, and for what is left behind those.
func groups(c *code, body func()) {
	all, rest := c.jam, c.jam.rest(c.r)
	if rest == 0 {
		body()
		return
	}
	d := c.r.Outer[all.axis]
	c.choose([]tree.Cond{{Var: c.at(d).Var(), Limit: tree.Const(d.Extent - all.cells + 1)}}, body, func() {
		c.jam = &jam{axis: all.axis, cells: rest}
		body()
		c.jam = all
	})
}

// wholeOf gives between which lanes of a tile there are whole vectors, or whole groups of them, of which a row has so many lanes,
// and the condition that what the row has behind them is in the tile.
func wholeOf(c *code, j0 *tree.Index, whole int64) (from, to *tree.Index, last []tree.Cond) {
	from, to = tree.Const(0), tree.Const(whole)
	if j0 != nil {
		from, to = j0, c.Bound(c.list, "end", j0.Plus(c.r.tile()).Min(to))
		last = []tree.Cond{{Var: j0.Var(), From: tree.Const(c.r.Lane.Extent - c.r.tile())}}
	}
	return from, to, last
}

// jammedVectors makes the loop over the groups of jammed vectors of a tile, and those that are left behind them at the
// end of a row, of which the last may have fewer live lanes.
func jammedVectors(c *code, j0 *tree.Index, body func()) {
	all, group, extent := c.jam, c.jam.cells*c.r.n, c.r.Lane.Extent
	whole := extent / group * group
	from, to, last := wholeOf(c, j0, whole)
	if whole > 0 {
		c.loop("j", from, to, group, tree.Serial, func(at *tree.Index) {
			c.group = at
			body()
		})
	}
	if whole < extent {
		c.choose(last, func() {
			c.group, c.jam = tree.Const(whole), &jam{axis: beside, cells: (extent - whole + c.r.n - 1) / c.r.n}
			body()
			c.jam = all
		}, nil)
	}
}
