package rows

import "tensortapestry.org/tapc/backends/tree"

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
