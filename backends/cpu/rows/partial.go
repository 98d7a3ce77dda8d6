package rows

import (
	"slices"

	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// partialOf is how the one reduction of a kernel with few tasks is split among threads: the outermost dimension that is reduced is cut
// where blocks of the sum's tree begin, threads put the accumulators of each block in scratch memory, and a cell begins with
// joining them. The tree, so every bit of a sum, is the one that a single thread follows.
type partial struct {
	r       *Kernel
	reduce  *scalar.Expr
	extent  int64 // of the dimension that is cut
	step    int64 // of its innermost loop
	size    int64 // of a block, in values
	top     int64 // of the largest blocks of the tree, or of any if it has none
	least   int64 // of the smallest blocks that a thread may have
	unroll  int64 // accumulators of a block,
	vectors int64 // for each of so many vectors of results of a row
}

const partialBytes = 4 << 20 // of accumulators at most

// partialOf finds how a kernel's reduction can be split among threads; nil if it cannot.
func partialOf(r *Kernel) *partial {
	reduce := onlyReduction(r)
	if reduce == nil || r.few || len(r.kept)+len(r.Splits)+len(r.ahead) > 0 || r.span != nil {
		return nil
	}
	p := &partial{r: r, reduce: reduce, unroll: 1, vectors: 1, step: 1}
	over := r.over(reduce.Over)
	if r.Free {
		p.vectors = (r.Lane.Extent + r.n - 1) / r.n
	} else {
		over = over[:len(over)-1]
		p.unroll = accumulatorsOf(r, reduce.Args[0], false)
	}
	if len(over) > 0 {
		p.extent = over[0].Extent
	} else {
		p.step = r.n * p.unroll
		p.extent = r.Lane.Extent / p.step * p.step
	}
	p.top, p.least = p.step, p.step
	if w := (&code{r: r}).sweepOf(reduce.Args[0], reduce); w.blocked() {
		for p.top*nest.SumBlock < p.extent {
			p.top *= nest.SumBlock
		}
		if !w.nested(over) {
			p.least *= nest.SumBlock
		}
	} else {
		p.top = p.extent - 1
	}
	return p
}

// of cuts the reduction into blocks of a size.
func (p *partial) of(size int64) *partial {
	p.size = size
	return p
}

// sizes lists those that blocks can have: where blocks of the sum's tree begin, of which the accumulators are not too many.
func (p *partial) sizes() (out []int64) {
	for p.size = p.least; p.size < p.extent && p.size <= p.top; p.size *= nest.SumBlock {
		if p.bytes() <= partialBytes {
			out = append(out, p.size)
		}
	}
	return out
}

// count is how many blocks there are.
func (p *partial) count() int64 { return (p.extent + p.size - 1) / p.size }

// bytes is the size of all accumulators.
func (p *partial) bytes() int64 {
	n := p.vectors * p.unroll * p.r.n * int64(p.reduce.Type.Wide().Size())
	for _, a := range p.r.Outer {
		n = min(n, 1<<40/a.Extent) * a.Extent
	}
	return min(n, 1<<40/p.count()) * p.count()
}

// tasks makes the tree of the whole kernel: tasks of blocks, and then tasks of cells.
func (p *partial) tasks(c *code) {
	r := p.r
	shape := append(extentsOf(r.Outer), p.vectors, p.count(), p.unroll)
	sums := c.vectorsOf("sums", tree.Workspace, p.reduce.Type, 0, shape...)
	c.add(&tree.Declare{Memory: sums})
	at := func(t, u *tree.Index) tree.Access {
		a := []*tree.Index{}
		for _, d := range r.Outer {
			a = append(a, c.at(d))
		}
		vector := tree.Const(0)
		if r.Free {
			vector = c.Vector.From.Div(r.n)
		}
		return c.VectorAt(sums, append(a, vector, t, u)...)
	}
	c.loop("task", tree.Const(0), tree.Const(tasks(r)*p.count()), 1, tree.Thread, func(index *tree.Index) {
		t := c.Bound(c.list, "t", index.Mod(p.count()))
		j0 := coordinates(c, index.Div(p.count()), run{length: 1})
		block := func() { groups(c, func() { p.block(c, t, at) }) }
		switch {
		case !r.Free:
			block()
			return
		case c.jam.vectors():
			jammedVectors(c, j0, func() { p.block(c, t, at) })
			return
		}
		eachVector(c, j0, func(from, to *tree.Index) { groups(c, func() { c.lanesOf(from, to, func() { p.block(c, t, at) }) }) })
	})
	one := *r
	one.decided.jam = nil
	c.r, c.jam = &one, nil
	region(c, func(j0 *tree.Index) {
		if !r.Free {
			p.cell(c, at)
			return
		}
		eachVector(c, j0, func(from, to *tree.Index) { c.lanesOf(from, to, func() { p.cell(c, at) }) })
	})
}

// block makes one block of a cell, or of those that are jammed: number t.
func (p *partial) block(c *code, t *tree.Index, sums func(t, u *tree.Index) tree.Access) {
	w := c.sweepOf(p.reduce.Args[0], p.reduce)
	over := w.beside(c.r.over(p.reduce.Over))
	acc := w.accumulators()
	from := t.Times(p.size)
	to := from.Plus(p.size)
	if p.extent%p.size != 0 {
		to = c.Bound(c.list, "end", to.Min(tree.Const(p.extent)))
	}
	size := p.step
	if w.blocked() {
		size = max(p.step, p.size/nest.SumBlock)
	}
	w.block(from, to, size, p.step, acc, func(at *tree.Index, acc *tree.Memory) {
		if len(over) == 0 {
			w.several(at, p.unroll, acc)
			return
		}
		c.move(over[0], at)
		if p.size > 1 && w.nested(over) {
			w.partial(acc, func(part *tree.Memory) { w.loops(over[1:], part) })
			return
		}
		w.loops(over[1:], acc)
	})
	c.jam.each(c, func(cell int64) {
		w.c.vectors(p.unroll, func(u *tree.Index) {
			c.add(&tree.Map{Dst: sums(t, u), Computed: tree.Loaded(c.VectorAt(acc, u.Plus(cell*w.unroll)))})
		})
	})
}

// cell makes one cell, which joins what blocks give and goes on.
func (p *partial) cell(c *code, sums func(t, u *tree.Index) tree.Access) {
	c.sweep = 0
	w := c.sweepOf(p.reduce.Args[0], p.reduce)
	over := w.beside(c.r.over(p.reduce.Over))
	acc := w.accumulators()
	size := int64(1)
	if w.blocked() {
		size = max(1, p.top/p.size)
	}
	w.block(tree.Const(0), tree.Const(p.count()), size, 1, acc, func(t *tree.Index, acc *tree.Memory) {
		w.c.vectors(p.unroll, func(u *tree.Index) {
			m := joined(p.reduce.Monoid, c.VectorAt(acc, u), sums(t, u))
			if m := m.Value; m.Op == scalar.Min || m.Op == scalar.Max {
				slices.Reverse(m.Args) // as values are taken in: which of two zeros or NaN stays is the same
			}
			c.add(m)
		})
	})
	if len(over) == 0 { // lanes were cut
		w.behind(acc)
	}
	w.end(acc)
	for i, s := range c.r.k.Statements {
		c.statement(i, s)
	}
}
