package rows

import (
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/tree"
)

// inside makes the conditions that all cells of a span are inside the borders along its axis and, if that is asked, across it, at any index of the
// reduced loops.
func (s *span) inside(c *code, across bool) (conds []tree.Cond) {
	prefix := map[bool]string{true: "inside", false: "along"}[across]
	if s.last.Extent%s.cells != 0 {
		conds = append(conds, tree.Cond{Var: c.at(s.last).Var(), Limit: tree.Const(s.last.Extent - s.cells + 1)})
	}
	for _, a := range s.near {
		least, _ := s.least(a)
		sum := tree.Const(least)
		for _, x := range s.r.Outer {
			sum = sum.Add(c.at(x).Times(a.Factor(x.Inner())))
		}
		if n, ok := sum.Number(); (!ok || n < 0) && (across || a.Factor(s.last.Inner()) != 0) {
			conds = append(conds, tree.Cond{Var: c.Bound(c.list, prefix, sum).Var(), From: tree.Const(0)})
		}
	}
	return conds
}

// cellsAt makes some neighbouring cells, the first of which is at an index along the axis of spans: first all reductions, so that no result is
// written between their loads. more is known in the reductions.
func (s *span) cellsAt(c *code, first *tree.Index, count int64, more known) {
	var sums []builder.Access
	at := func(u int64, body func()) {
		c.move(s.last, first.Plus(u))
		body()
	}
	fold := func(u int64) (sum builder.Access) {
		c.knowing(more, func() { at(u, func() { sum = c.reduction(s.reduce)[0] }) })
		return sum
	}
	if !s.apart {
		for u := range count {
			sums = append(sums, fold(u))
		}
	} else {
		outermost, inner, found := c.r.Reduction[0], *c.r, *c.r.Rows
		inner.Rows, found.Reduction = &found, found.Reduction[1:]
		w := &sweep{c: c, body: s.reduce.Args[0], reduce: s.reduce, unroll: count}
		acc := w.accumulators()
		w.blocks(outermost.Extent, 1, acc, func(k *tree.Index, acc *tree.Memory) {
			c.move(outermost, k)
			before := c.r
			c.r = &inner
			var parts []builder.Access
			for u := range count {
				parts = append(parts, fold(u))
			}
			for u, part := range parts {
				c.add(joined(s.reduce.Monoid, c.VectorAt(acc, tree.Const(int64(u))), part()))
			}
			c.r = before
		})
		for u := range count {
			sums = append(sums, func() tree.Access { return c.VectorAt(acc, tree.Const(u)) })
		}
	}
	for u := range count {
		at(u, func() {
			c.Sums[s.reduce] = sums[u]
			for i, x := range c.r.k.Statements {
				c.statement(i, x)
			}
		})
	}
}

// vector makes the cells of a span for a vector: together, or one by one.
func (s *span) vector(c *code, from, to *tree.Index) {
	here, last := c.at(s.last), s.last
	cells := func(first *tree.Index, count int64, more known) func() {
		more.lanes = c.known.lanes
		return func() { c.lanesOf(from, to, func() { s.cellsAt(c, first, count, more) }) }
	}
	alone := func() {
		c.loop("cell", here, here.Plus(s.cells).Min(tree.Const(last.Extent)), 1, tree.Serial, func(at *tree.Index) { cells(at, 1, known{})() })
	}
	live, _ := to.Add(from.Times(-1)).Number()
	if live != c.r.n && !c.r.someLanes(int(c.r.n)) {
		alone()
		return
	}
	if own := s.ownCode(); len(own) > 0 {
		then := alone
		for _, at := range slices.Backward(own) {
			next := then
			then = func() {
				c.choose(between(here, 0, at, at+s.cells, last.Extent), cells(tree.Const(at), min(s.cells, last.Extent-at), known{}), next)
			}
		}
		then()
		return
	}
	if !s.hasInterior() {
		alone()
		return
	}
	all := s.mostlyInside()
	c.choose(s.inside(c, all), cells(here, s.cells, known{along: true, across: all}), alone)
}
