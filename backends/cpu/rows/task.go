package rows

import (
	"slices"

	"tensortapestry.org/tapc/backends/tree"
)

// Tree makes the tree of the whole kernel.
func (r *Kernel) Tree(name string) *tree.Func {
	f := &tree.Func{Name: name}
	c := newCode(r, new(tree.Names), &f.Body)
	f.Operands = c.Operands()
	if part := r.decided.part; part > 0 {
		partialOf(r).of(part).tasks(c)
		return f
	}
	region(c, func(j0 *tree.Index) {
		if !r.Free {
			groups(c, func() { c.cell() })
			return
		}
		readAhead(c)
		switch {
		case c.jam.vectors():
			jammedVectors(c, j0, c.cell)
		case len(r.Splits) > 0:
			parts(c, j0)
		case r.span != nil:
			eachVector(c, j0, func(from, to *tree.Index) { r.span.vector(c, from, to) })
		default:
			eachVector(c, j0, func(from, to *tree.Index) {
				tiledLines(c, func() { groups(c, func() { c.lanesOf(from, to, c.cell) }) })
			})
		}
	})
	return f
}

// Line makes what a row computes, at indices of the outer dimensions. Operands that own gives memories for are read and written there: at a row of
// these. The others are given.
func (r *Kernel) Line(n *tree.Names, at []*tree.Index, row *tree.Index, own func(operand int) *tree.Memory) (operands []*tree.Memory, body []tree.Stmt) {
	c := newCode(r, n, &body)
	for i, m := range c.Operands() {
		block := own(i)
		if block == nil {
			operands = append(operands, m)
			continue
		}
		c.Elements[i] = func() tree.Access {
			return tree.Access{Memory: block, At: []*tree.Index{row, c.at(r.Lane)}[:len(block.Dims)]}
		}
	}
	for i, d := range r.Outer {
		c.move(d, at[i])
	}
	c.cell()
	return operands, body
}

// region makes tasks of all cells, each with the first lane of its tile, nil if that has all lanes of a row. One thread goes through loops in each other. A task of several threads has a
// number, which it divides into where it is; of short rows it has a run, so that few divide.
func region(c *code, cell func(j0 *tree.Index)) {
	if !c.r.threads() {
		c.loop("task", tree.Const(0), tree.Const(1), 1, tree.Thread, func(*tree.Index) { c.cells(0, cell) })
		return
	}
	x := runOf(c.r)
	c.loop("task", tree.Const(0), tree.Const(x.tasks(c.r)), 1, tree.Thread, func(index *tree.Index) {
		j0 := coordinates(c, index, x)
		if x.length == 1 {
			cell(j0)
			return
		}
		d, n := c.r.Outer[x.axis], together(c.r, x.axis)
		from := c.at(d)
		c.loop("g", from, from.Plus(x.length*n).Min(tree.Const(d.Extent)), n, tree.Serial, func(at *tree.Index) {
			c.move(d, at)
			cell(j0)
		})
	})
}

// cells makes the loops over all cells, from one outer axis on.
func (c *code) cells(axis int, cell func(j0 *tree.Index)) {
	r := c.r
	switch {
	case axis < len(r.Outer) && r.steps(axis) == 1:
		c.move(r.Outer[axis], tree.Const(0))
		c.cells(axis+1, cell)
	case axis < len(r.Outer):
		c.loop("g", tree.Const(0), tree.Const(r.Outer[axis].Extent), together(r, axis), tree.Serial, func(at *tree.Index) {
			c.move(r.Outer[axis], at)
			c.cells(axis+1, cell)
		})
	case r.tiles() > 1:
		c.loop("first", tree.Const(0), tree.Const(r.Lane.Extent), r.tile(), tree.Serial, cell)
	default:
		cell(nil)
	}
}

// cell makes what a cell computes.
func (c *code) cell() {
	c.sweep = 0
	c.declareKept()
	c.statements()
}

// readAhead reads what is hoisted.
func readAhead(c *code) {
	for _, i := range c.r.used() {
		if !c.r.ahead[i] {
			continue
		}
		dims := c.r.following(i)
		m := tree.NewMemory(c.Fresh("ahead"), c.r.k.Operands[i].Type(), tree.Registers, 0, extentsOf(dims)...)
		element := func() tree.Access {
			a := tree.Access{Memory: m}
			for _, d := range dims {
				a.At = append(a.At, c.at(d))
			}
			return a
		}
		c.add(&tree.Declare{Memory: m})
		c.add(c.inside(func() {
			c.along(dims, func() { c.add(&tree.Map{Dst: element(), Computed: tree.Loaded(c.Elements[i]())}) })
		})...)
		c.Elements[i] = element
	}
}

// coordinates binds the cells of a task, which has a number, to the first of a run, and gives the first lane, nil if a task has all lanes of a row.
func coordinates(c *code, index *tree.Index, x run) (j0 *tree.Index) {
	rest := index
	if tiles := c.r.tiles(); tiles > 1 {
		at := rest.Mod(tiles)
		if len(c.r.Outer) == 0 {
			at = rest
		}
		j0, rest = c.Bound(c.list, "first", at.Times(c.r.tile())), rest.Div(tiles)
	}
	for i, d := range slices.Backward(c.r.Outer) {
		at, steps, n := rest, c.r.steps(i), together(c.r, i)
		if i == x.axis {
			steps, n = (steps+x.length-1)/x.length, n*x.length
		}
		switch {
		case steps == 1:
			c.move(d, tree.Const(0))
			continue
		case i > 0:
			at = rest.Mod(steps)
		}
		c.move(d, c.Bound(c.list, "g", at.Times(n)))
		rest = rest.Div(steps)
	}
	return j0
}

// parts makes the loops over the vectors of each part of a row that code of its own is for, as far as they are in a tile.
func parts(c *code, j0 *tree.Index) {
	from := int64(0)
	for _, to := range append(slices.Clone(c.r.Splits), c.r.Lane.Extent) {
		first, last := tree.Const(from), tree.Const(to)
		if j0 != nil {
			first = c.Bound(c.list, "from", j0.Times(-1).Min(tree.Const(-from)).Times(-1)) // the greater
			last = c.Bound(c.list, "to", j0.Plus(c.r.tile()).Min(last))
		}
		n, whole := tree.Const(c.r.n), j0 == nil && (to-from)%c.r.n == 0
		c.knowing(known{part: &[2]int64{from, to}}, func() {
			c.loop("part", first, last, c.r.n, tree.Serial, func(at *tree.Index) {
				all := func() { c.lanesOf(at, at.Add(n), c.cell) }
				if whole {
					all()
					return
				}
				c.choose([]tree.Cond{{Var: at.Var(), Limit: last.Plus(1 - c.r.n)}}, all, func() { c.lanesOf(at, at.Add(n).Min(last), c.cell) })
			})
		})
		from = to
	}
}

// eachVector makes the loop over the vectors of a tile, the last of which may have fewer live lanes. Those at which all guards hold are known.
func eachVector(c *code, j0 *tree.Index, vector func(from, to *tree.Index)) {
	n, extent := c.r.n, c.r.Lane.Extent
	whole := extent / n * n
	from, to, last := wholeOf(c, j0, whole)
	if whole > 0 {
		c.loop("j", from, to, n, tree.Serial, func(at *tree.Index) {
			border := func() { vector(at, at.Plus(n)) }
			b := c.r.interior
			if !b.guarded || b.to-b.from < n {
				border()
				return
			}
			inside := func() { c.knowing(known{lanes: true}, border) }
			c.choose(between(at, 0, b.from, b.to-n+1, whole-n+1), inside, border)
		})
	}
	if whole < extent {
		c.choose(last, func() { vector(tree.Const(whole), tree.Const(extent)) }, nil)
	}
}
