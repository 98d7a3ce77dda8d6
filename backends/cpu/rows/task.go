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
	region(c, r.threads(), tasks(r), func(index *tree.Index) {
		j0 := coordinates(c, index)
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

// region makes tasks, which threads carry out or one.
func region(c *code, threads bool, tasks int64, task func(index *tree.Index)) {
	if threads {
		c.loop("task", tree.Const(0), tree.Const(tasks), 1, tree.Thread, task)
		return
	}
	c.loop("task", tree.Const(0), tree.Const(1), 1, tree.Thread, func(*tree.Index) {
		c.loop("index", tree.Const(0), tree.Const(tasks), 1, tree.Serial, task)
	})
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

// coordinates binds the cells of a task, which has a number, and gives the first lane, nil if a task has all lanes of a row.
func coordinates(c *code, index *tree.Index) (j0 *tree.Index) {
	rest := index
	if tiles := c.r.tiles(); tiles > 1 {
		at := rest.Mod(tiles)
		if len(c.r.Outer) == 0 {
			at = rest
		}
		j0, rest = c.Bound(c.list, "first", at.Times(c.r.tile())), rest.Div(tiles)
	}
	for i, d := range slices.Backward(c.r.Outer) {
		at, steps := rest, c.r.steps(i)
		switch {
		case steps == 1:
			c.move(d, tree.Const(0))
			continue
		case i > 0:
			at = rest.Mod(steps)
		}
		c.move(d, c.Bound(c.list, "g", at.Times(together(c.r, i))))
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
