package rows

import (
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// sweep makes one pass over a row: a reduction, or the values of a statement that is stored.
//
// A reduction has several accumulators, of which each takes every so many vectors, in an order that does not depend on threads.
// Float sums are taken in blocks, and blocks of blocks, so that errors grow with the logarithm of the length (N. Higham, "The
// Accuracy of Floating Point Summation", 1993).
type sweep struct {
	c      *code
	body   *scalar.Expr
	reduce *scalar.Expr // whose body it is, or nil
	store  int          // the operand that takes the values, if nothing is reduced
	about  string       // the statement whose values are stored
	unroll int64        // accumulators that a cell has
}

// sweepOf prepares the sweep of a value.
func (c *code) sweepOf(body, reduce *scalar.Expr) *sweep {
	w := &sweep{c: c, body: body, reduce: reduce, unroll: 1}
	switch {
	case c.r.few && reduce != nil:
		w.unroll = c.r.Reduction[0].Extent
	case !c.r.Free:
		w.unroll = accumulatorsOf(c.r, body, reduce == nil)
	}
	return w
}

// accumulatorsOf is how many accumulators a sweep along the lanes has.
func accumulatorsOf(r *Kernel, body *scalar.Expr, stored bool) int64 {
	most := int64(8)
	if costly(body) || stored {
		most = 2
	}
	return max(1, min(most, r.Lane.Extent/r.n))
}

// reduction makes a reduction, and gives the values of all cells that are jammed.
func (c *code) reduction(e *scalar.Expr) []builder.Access {
	w := c.sweepOf(e.Args[0], e)
	acc := w.accumulators()
	w.loops(w.beside(c.r.over(e.Over)), acc)
	return w.end(acc)
}

// beside gives those of some axes that lanes do not follow.
func (w *sweep) beside(over []nest.Dim) []nest.Dim {
	if w.c.r.Free {
		return over
	}
	return over[:len(over)-1]
}

// end makes the results of accumulators.
func (w *sweep) end(acc *tree.Memory) (results []builder.Access) {
	w.c.sweep++
	for cell := range w.c.jam.count() {
		results = append(results, w.result(acc, cell))
	}
	w.c.Sums[w.reduce] = results[0]
	return results
}

// accumulators declares accumulators with the identity as their value: for each of the cells that are jammed one behind the other.
func (w *sweep) accumulators() *tree.Memory {
	m := w.c.vectorsOf("a", tree.Registers, w.body.Type, builder.Mask(w.c.r.k, w.body), w.count())
	w.c.add(&tree.Declare{Memory: m})
	w.c.vectors(w.count(), func(u *tree.Index) {
		identity := scalar.Identity(w.reduce.Monoid, w.reduce.Type)
		w.c.add(&tree.Map{Dst: w.c.VectorAt(m, u), Computed: tree.Computed{Value: scalar.NewConst(identity)}})
	})
	return m
}

// count is how many accumulators there are.
func (w *sweep) count() int64 { return w.unroll * w.c.jam.count() }

// loops makes the loops along the axes outside of the lanes.
func (w *sweep) loops(over []nest.Dim, acc *tree.Memory) {
	if len(over) == 0 {
		w.row(acc)
		return
	}
	w.blocks(over[0].Extent, 1, acc, func(at *tree.Index, acc *tree.Memory) {
		w.c.move(over[0], at)
		if w.nested(over) {
			w.partial(acc, func(part *tree.Memory) { w.loops(over[1:], part) })
			return
		}
		w.loops(over[1:], acc)
	})
}

// nested says whether each value of the outermost of some axes has a partial sum of its own: if there are more than a block along the others, or
// if these are written out and all are not, as in the spans of neighbouring cells.
func (w *sweep) nested(over []nest.Dim) bool {
	return w.blocked() && len(over) > 0 && (w.steps(over[1:]) > nest.SumBlock || w.c.r.Free && len(over) > 1 && small(over[1:]) && !small(over))
}

// steps is how often an accumulator is added to along some axes and the lanes.
func (w *sweep) steps(over []nest.Dim) int64 {
	n := int64(1)
	if !w.c.r.Free {
		n = w.c.r.Lane.Extent/(w.c.r.n*w.unroll) + 1
	}
	return nest.SaturatingProduct(n, countOf(over))
}

// blocked says whether sums are taken in blocks.
func (w *sweep) blocked() bool {
	return w.reduce != nil && w.reduce.Monoid == scalar.Add && w.reduce.Type.IsFloat()
}

// blocks makes a loop from 0 to an end in steps, in blocks of blocks that each have a partial sum.
func (w *sweep) blocks(end, step int64, acc *tree.Memory, body func(at *tree.Index, acc *tree.Memory)) {
	size := step
	for size*nest.SumBlock < end && w.blocked() {
		size *= nest.SumBlock
	}
	w.block(tree.Const(0), tree.Const(end), size, step, acc, body)
}

// block makes the part of such a loop between two ends, in blocks of a size.
func (w *sweep) block(from, to *tree.Index, size, step int64, acc *tree.Memory, body func(at *tree.Index, acc *tree.Memory)) {
	if size == step {
		bind := tree.Serial
		if w.c.r.Free && small(w.c.r.Reduction) {
			bind = tree.Unrolled
		}
		w.c.loop("f", from, to, step, bind, func(at *tree.Index) { body(at, acc) })
		return
	}
	w.c.loop("block", from, to, size, tree.Serial, func(at *tree.Index) {
		end := w.c.Bound(w.c.list, "end", at.Plus(size).Min(to))
		w.partial(acc, func(part *tree.Memory) { w.block(at, end, size/nest.SumBlock, step, part, body) })
	})
}

// partial makes something that adds to accumulators of its own, and adds these to others.
func (w *sweep) partial(acc *tree.Memory, body func(part *tree.Memory)) {
	part := w.accumulators()
	body(part)
	w.c.vectors(w.count(), func(u *tree.Index) {
		w.c.add(&tree.Map{Dst: w.c.VectorAt(acc, u), Monoid: scalar.Add, Computed: tree.Loaded(w.c.VectorAt(part, u))})
	})
}

// row makes the vectors of a row, or the one vector of free lanes.
func (w *sweep) row(acc *tree.Memory) {
	switch {
	case w.c.r.few:
		w.step(acc, w.c.at(w.c.r.Reduction[0]))
		return
	case w.c.r.Free:
		w.step(acc, tree.Const(0))
		return
	}
	if whole := w.wholeGroups(); whole > 0 {
		w.blocks(whole, w.c.r.n*w.unroll, acc, func(at *tree.Index, acc *tree.Memory) { w.several(at, w.unroll, acc) })
	}
	w.behind(acc)
}

// wholeGroups is how many lanes of a row there are in groups of one vector for each accumulator.
func (w *sweep) wholeGroups() int64 {
	return w.c.r.Lane.Extent / (w.c.r.n * w.unroll) * (w.c.r.n * w.unroll)
}

// several makes some vectors of a row from a lane on, each for an accumulator of its own.
func (w *sweep) several(from *tree.Index, count int64, acc *tree.Memory) {
	w.c.loop("u", tree.Const(0), tree.Const(count), 1, tree.Unrolled, func(u *tree.Index) {
		first := from.Add(u.Times(w.c.r.n))
		w.prefetch(first)
		w.c.lanesOf(first, first.Plus(w.c.r.n), func() { w.step(acc, u) })
	})
}

// behind makes the vectors of a row behind those in groups.
func (w *sweep) behind(acc *tree.Memory) {
	extent, whole := w.c.r.Lane.Extent, w.wholeGroups()
	if rest := (extent - whole) / w.c.r.n; rest > 0 {
		w.several(tree.Const(whole), rest, acc)
	}
	if live := extent % w.c.r.n; live > 0 {
		w.c.lanesOf(tree.Const(extent-live), tree.Const(extent), func() { w.step(acc, tree.Const(0)) })
	}
}

// step makes one vector of the sweep, for each of the cells that are jammed.
func (w *sweep) step(acc *tree.Memory, u *tree.Index) {
	w.c.jam.each(w.c, func(cell int64) {
		for _, i := range needs(w.c, w.body) {
			w.c.local(i)
		}
		x := w.c.computed(w.body)
		if w.reduce == nil {
			w.c.add(stored(w.c, w.store, x, w.about))
			return
		}
		if x.Value.Op == scalar.Mul && w.body.Op != scalar.Mul { // behind a choice that is known here: it is rounded before it is added, as elsewhere
			x = tree.Loaded(w.c.Register(w.c.list, x, "", w.c.Follows(x), 0)())
		}
		w.c.add(&tree.Map{Dst: w.c.VectorAt(acc, u.Plus(cell*w.unroll)), Monoid: w.reduce.Monoid, Computed: x})
	})
}

// ready says whether the value of a statement is kept and a sweep before the present one has computed it.
func (c *code) ready(i int) bool {
	sweep, kept := c.r.kept[i]
	return kept && c.sweep > sweep
}

// needs lists the wide local values that have to be computed or fetched for an expression, in order.
func needs(c *code, e *scalar.Expr) []int { return c.r.needs(e, c.ready) }

// local makes the value of a wide statement at the present vector: computed, and kept if it is one of those, or as it was kept.
func (c *code) local(i int) {
	kept := c.keeps[i]
	if c.ready(i) {
		c.Locals[i] = builder.Local{Kept: c.Register(c.list, tree.Loaded(kept()), "", true, 0)}
		return
	}
	x := c.computed(c.r.k.Statements[i].Value)
	value := c.Register(c.list, x, "", kept != nil || c.Follows(x), builder.Mask(c.r.k, c.r.k.Statements[i].Value))
	c.Locals[i] = builder.Local{Kept: value}
	if kept != nil {
		c.add(&tree.Map{Dst: kept(), Computed: tree.Loaded(value())})
	}
}

// declareKept declares memory for the values that a row keeps.
func (c *code) declareKept() {
	for i := range c.r.k.Statements {
		if _, ok := c.r.kept[i]; !ok {
			continue
		}
		over, width := c.r.statementOver(i), c.r.n
		if !c.r.Free {
			over, width = over[:len(over)-1], isa.Align(c.r.Lane.Extent, c.r.n)
		}
		m := tree.NewMemory(c.Fresh("kept"), c.r.k.Statements[i].Value.Type, tree.Registers, 0, append(extentsOf(over), width)...)
		m.Lanes = c.r.n
		c.add(&tree.Declare{Memory: m})
		c.keeps[i] = func() tree.Access {
			a := tree.Access{Memory: m}
			for _, d := range over {
				a.At = append(a.At, c.at(d))
			}
			if c.r.Free {
				return c.VectorAt(m, a.At...)
			}
			a.At = append(a.At, c.at(c.r.Lane))
			return a
		}
	}
}

// prefetch asks for the next row while this one is worked on: the sweeps behind the first, which find this row in a cache, each
// ask for their part of it. The last but one asks for what the last will write.
func (w *sweep) prefetch(lane *tree.Index) {
	if len(w.c.r.Reduction) > 0 {
		return
	}
	done := w.c.sweep
	far := func(i int, mode schedule.Mode) bool {
		o := w.c.r.k.Operands[i]
		return o.Mode == mode && w.c.r.Lane.Step(w.c.r.Views[i]) == 1 && w.c.r.buffers[o.Buffer].Bytes >= prefetchBytes
	}
	number := func(i int, outer int64) (a tree.Access, at *tree.Index) {
		a, at = w.c.Elements[i](), tree.Const(builder.Base(w.c.r.k, w.c.r.Views[i])+outer)
		for _, d := range w.c.r.Outer {
			at = at.Add(w.c.at(d).Times(d.Step(w.c.r.Views[i])))
		}
		return a, at
	}
	for i := range w.c.r.k.Operands {
		if far(i, schedule.Write) && done == w.c.r.sweeps-2 {
			a, at := number(i, 0)
			w.c.add(&tree.Prefetch{Memory: a.Memory, At: at.Add(lane), Write: true})
		}
	}
	if done == 0 || len(w.c.r.Outer) == 0 {
		return
	}
	next, parts := w.c.r.Outer[len(w.c.r.Outer)-1], int64(w.c.r.sweeps-1)
	for _, i := range w.c.r.used() {
		v := w.c.r.Views[i]
		if far(i, schedule.Read) && next.Step(v) != 0 {
			a, at := number(i, next.Step(v)+int64(done-1)*w.c.r.Lane.Extent/parts)
			w.c.add(&tree.Prefetch{Memory: a.Memory, At: at.Add(lane.Div(parts))})
		}
	}
}

// prefetchBytes is the size of operands that are not in a cache near by.
const prefetchBytes = 2 << 20

// result joins the accumulators of a cell, and their lanes if these are reduced, and gives the result.
func (w *sweep) result(acc *tree.Memory, cell int64) builder.Access {
	first := cell * w.unroll
	at := func(u int64) tree.Access { return w.c.VectorAt(acc, tree.Const(first+u)) }
	if w.c.r.Free {
		for half := fewMost / 2; half > 0; half /= 2 { // as Combine joins lanes
			for u := int64(0); u < half && u+half < w.unroll; u++ {
				w.c.add(joined(w.reduce.Monoid, at(u), at(u+half)))
			}
		}
		return func() tree.Access { return at(0) }
	}
	w.c.vectors(1, func(*tree.Index) {
		for half := int64(1); half < w.unroll; half *= 2 {
			for u := int64(0); u+half < w.unroll; u += 2 * half {
				w.c.add(joined(w.reduce.Monoid, at(u), at(u+half)))
			}
		}
		w.c.add(&tree.Combine{Value: at(0), Monoid: w.reduce.Monoid, Lanes: w.c.r.n})
	})
	return w.c.Register(w.c.list, tree.Loaded(at(0)), "", false, 0)
}

// statements makes what a cell computes, or all those that are jammed: their reduction, and then each by itself what goes on with it.
func (c *code) statements() {
	var reduce *scalar.Expr
	var sums []builder.Access
	if c.jam != nil {
		reduce = onlyReduction(c.r)
		sums = c.reduction(reduce)
	}
	c.jam.each(c, func(cell int64) {
		if c.jam != nil {
			c.Sums[reduce] = sums[cell]
		}
		for i, s := range c.r.k.Statements {
			c.statement(i, s)
		}
	})
}

// statement makes a statement at one index: its reductions, and then its value, or the sweep that stores its values.
func (c *code) statement(i int, s schedule.Statement) {
	wide := c.r.wide(i)
	about := s.Name + " = " + cnest.Clip(s.Value.Format(c.r.k))
	switch {
	case wide && s.Store < 0: // computed in sweeps
		return
	case wide:
		w := c.sweepOf(s.Value, nil)
		w.store, w.about = int(s.Store), about
		c.add(c.inside(func() { w.loops(w.beside(c.r.statementOver(i)), nil) })...)
		c.sweep++
		return
	}
	for _, e := range reductions(s.Value) {
		if c.Sums[e] == nil {
			c.reduction(e)
		}
	}
	x := c.computed(s.Value)
	if s.Store < 0 {
		c.Locals[i] = builder.Local{Kept: c.Register(c.list, x, about, c.Follows(x), builder.Mask(c.r.k, s.Value))}
		return
	}
	c.add(stored(c, int(s.Store), x, about))
}

// stored makes what stores a result.
func stored(c *code, operand int, x tree.Computed, about string) *tree.Map {
	m := &tree.Map{Dst: c.Elements[operand](), Computed: x, About: about}
	if slices.Contains(c.r.decided.stream, c.r.k.Operands[operand].Name) && c.Vector != nil && x.Value.Type != scalar.Bool {
		m.Stream = int64(nest.OperandBytes(c.r.k, c.r.buffers))
	}
	return m
}
