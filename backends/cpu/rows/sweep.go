package rows

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// sweep writes one pass over a row: a reduction, or the values of a statement that is stored.
//
// A reduction has several accumulators, of which each takes every so many vectors, in an order that does not depend on threads.
// Float sums are taken in blocks, and blocks of blocks, so that errors grow with the logarithm of the length (N. Higham, "The
// Accuracy of Floating Point Summation", 1993).
type sweep struct {
	r      *Kernel
	body   *scalar.Expr
	reduce *scalar.Expr // whose body it is, or nil
	store  int          // the operand that takes the values, if nothing is reduced
	name   string       // of the accumulators
	acc    vector.Value // what they hold
	unroll int64        // how many a cell has

	results []vector.Value // of the reduction, for each of the cells that are jammed
}

// write writes the sweep along some axes.
func (w *sweep) write(over []point.Axis) {
	outside, over := w.enter(over)
	w.loops(over, w.name)
	w.leave(outside)
}

// enter goes inside the axes of a sweep and declares its accumulators; it gives what was outside, and the axes beside that of the lanes.
func (w *sweep) enter(over []point.Axis) (outside *point.Point, rest []point.Axis) {
	r := w.r
	outside, inside := r.p, *r.p
	inside.Axes = append(slices.Clone(inside.Axes), over...)
	w.unroll = 1
	if !r.r.Free {
		over, inside.Along = over[:len(over)-1], len(inside.Axes)-1
		w.unroll = accumulatorsOf(r, w.body, w.reduce == nil)
	}
	r.p = &inside
	if w.reduce != nil {
		w.acc = vector.Value{Type: w.body.Type}
		if w.body.Type == scalar.Bool {
			w.acc.Mask = maskOf(r.k, w.body)
		}
		w.accumulators(w.name)
	}
	return outside, over
}

// leave joins the accumulators and goes outside again.
func (w *sweep) leave(outside *point.Point) {
	w.r.sweeps.written++
	if w.reduce != nil {
		for cell := range w.r.decided.jam.count() {
			w.results = append(w.results, w.joined(cell))
		}
		w.r.p.Sums[w.reduce] = w.results[0]
	}
	w.r.p = outside
}

// accumulatorsOf is how many accumulators a sweep along the lanes has.
func accumulatorsOf(r *Kernel, body *scalar.Expr, stored bool) int64 {
	most := int64(8)
	if costly(body) || stored {
		most = 2
	}
	return max(1, min(most, r.lane.Extent/int64(r.p.N)))
}

// maskOf gives the size of the lanes of a truth vector: that of the numbers that it comes from.
func maskOf(k *schedule.Kernel, e *scalar.Expr) int {
	if e.Op == scalar.Local {
		return maskOf(k, k.Statements[e.Ref].Value)
	}
	size := 1
	for i, a := range e.Args {
		switch {
		case e.Op == scalar.Where && i == 0:
		case a.Type == scalar.Bool:
			size = max(size, maskOf(k, a))
		default:
			size = max(size, a.Type.Size())
		}
	}
	return size
}

// accumulators declares accumulators with the identity as their value.
func (w *sweep) accumulators(name string) {
	r, v, n := w.r, w.r.p.V, w.r.p.N
	identity := v.Splat(vector.Value{Text: r.e.W.Const(scalar.Identity(w.reduce.Monoid, w.reduce.Type)), Type: w.reduce.Type, Uniform: true}, n)
	t, text := v.Type(w.acc.Type, n), identity.Text
	if w.acc.Type == scalar.Bool {
		t, text = v.MaskType(w.acc.Mask, n), v.Mask(identity, w.acc.Mask, n)
	}
	r.Line("%s %s[%d];", t, name, w.count())
	r.Line("for (int u = 0; u < %d; u++) %s[u] = %s;", w.count(), name, text)
}

// count is how many accumulators there are, those of all cells that are jammed one behind the other.
func (w *sweep) count() int64 { return w.unroll * w.r.decided.jam.count() }

// loops writes the loops along the axes outside of the lanes.
func (w *sweep) loops(over []point.Axis, acc string) {
	if len(over) == 0 {
		w.lanes(acc)
		return
	}
	a := over[0]
	w.blocks(a.Variable, a.Extent, 1, acc, func(acc string) {
		if w.nested(over) {
			w.partial(acc, func(part string) { w.loops(over[1:], part) })
			return
		}
		w.loops(over[1:], acc)
	})
}

// nested says whether each value of the outermost of some axes has a partial sum of its own: if there are more than a block along the others, or
// if these are written out and all are not, as in the spans of neighbouring cells.
func (w *sweep) nested(over []point.Axis) bool {
	return w.blocked() && len(over) > 0 && (w.steps(over[1:]) > nest.SumBlock || w.r.r.Free && len(over) > 1 && small(over[1:]) && !small(over))
}

// steps is how often an accumulator is added to along some axes and the lanes.
func (w *sweep) steps(over []point.Axis) int64 {
	n := int64(1)
	if !w.r.r.Free {
		n = w.r.lane.Extent/(int64(w.r.p.N)*w.unroll) + 1
	}
	return nest.SaturatingProduct(n, point.Count(over))
}

// blocked says whether sums are taken in blocks.
func (w *sweep) blocked() bool {
	return w.reduce != nil && w.reduce.Monoid == scalar.Add && w.reduce.Type.IsFloat()
}

// blocks writes a loop of a variable from 0 to an end in steps, in blocks of blocks that each have a partial sum.
func (w *sweep) blocks(variable string, end, step int64, acc string, write func(acc string)) {
	size := step
	for size*nest.SumBlock < end && w.blocked() {
		size *= nest.SumBlock
	}
	w.block(variable, "0", fmt.Sprint(end), size, step, acc, write)
}

// block writes the part of such a loop between two ends, in blocks of a size.
func (w *sweep) block(variable, from, to string, size, step int64, acc string, write func(acc string)) {
	r := w.r
	if size == step {
		if r.r.Free && small(r.reduced) {
			r.Line("#pragma GCC unroll %d", unit.MaxUnrolled)
		}
		r.Open("for (int64_t %s = %s; %s < %s; %s += %d) {", variable, from, variable, to, variable, step)
		write(acc)
		r.Close()
		return
	}
	outer := fmt.Sprintf("%s_%d", variable, size)
	r.Open("for (int64_t %s = %s; %s < %s; %s += %d) {", outer, from, outer, to, outer, size)
	r.Line("const int64_t %se = %s + %d < %s ? %s + %d : %s;", outer, outer, size, to, outer, size, to)
	w.partial(acc, func(part string) { w.block(variable, outer, outer+"e", size/nest.SumBlock, step, part, write) })
	r.Close()
}

// partial writes something that adds to accumulators of its own, and adds these to others.
func (w *sweep) partial(acc string, write func(part string)) {
	part := acc + "p"
	w.accumulators(part)
	write(part)
	w.r.Line("for (int u = 0; u < %d; u++) %s[u] += %s[u];", w.count(), acc, part)
}

// lanes writes the vectors of a row, or the one vector of free lanes.
func (w *sweep) lanes(acc string) {
	r, n := w.r, int64(w.r.p.N)
	if r.r.Free {
		w.step(acc, "0", "")
		return
	}
	if whole := w.wholeGroups(); whole > 0 {
		w.blocks("j0", whole, n*w.unroll, acc, func(acc string) { w.several("j0", w.unroll, acc) })
	}
	w.behind(acc)
}

// wholeGroups is how many lanes of a row there are in groups of one vector for each accumulator.
func (w *sweep) wholeGroups() int64 {
	group := int64(w.r.p.N) * w.unroll
	return w.r.lane.Extent / group * group
}

// several writes some vectors of a row from a lane on, each for an accumulator of its own.
func (w *sweep) several(from string, count int64, acc string) {
	w.r.p.Count = fmt.Sprint(w.r.p.N)
	if count > 1 {
		w.r.Line("#pragma GCC unroll %d", count)
	}
	w.r.Open("for (int u = 0; u < %d; u++) {", count)
	w.r.Line("const int64_t j = %s + u * %d;", from, w.r.p.N)
	w.r.Line("(void)j;")
	w.prefetch()
	w.step(acc, "u", "")
	w.r.Close()
}

// behind writes the vectors of a row behind those in groups.
func (w *sweep) behind(acc string) {
	r, n, extent, whole := w.r, int64(w.r.p.N), w.r.lane.Extent, w.wholeGroups()
	if rest := (extent - whole) / n; rest > 0 {
		w.several(fmt.Sprint(whole), rest, acc)
	}
	if live := extent % n; live > 0 {
		r.p.Count = fmt.Sprint(live)
		r.Open("{")
		r.Line("const int64_t j = %d;", extent-live)
		r.Line("(void)j;")
		w.step(acc, "0", r.p.Count)
		r.Close()
	}
}

// step writes one vector of the sweep, for each of the cells that are jammed: with only some live lanes if live says how many.
func (w *sweep) step(acc, u, live string) {
	w.r.decided.jam.each(w.r, func(cell int64) { w.one(fmt.Sprintf("%s[%s]", acc, w.of(cell, u)), live) })
}

// of gives the number of an accumulator of a cell.
func (w *sweep) of(cell int64, u string) string {
	if cell == 0 {
		return u
	}
	return fmt.Sprintf("%s + %d", u, cell*w.unroll)
}

// one writes one vector of the sweep for one cell.
func (w *sweep) one(acc, live string) {
	r := w.r
	for _, i := range r.needs(w.body) {
		r.local(i)
	}
	if w.reduce == nil {
		r.storeAt(w.store, r.p.V.Expr(w.body, r.p.N, r.p))
		return
	}
	sum := w.acc
	sum.Text = acc
	next := r.p.V.Of(sum.Type, r.p.N).Accumulate(w.reduce.Monoid, sum, w.body, live, r.p)
	if next.Type == scalar.Bool {
		next.Text = r.p.V.Mask(next, w.acc.Mask, r.p.N)
	}
	r.Line("%s = %s;", acc, next.Text)
}

// local writes the value of a wide statement at the present vector: computed, and kept if it is one of those, or as it was kept.
func (r *Kernel) local(i int) {
	d := r.k.Statements[i].Value.Type
	x, text := vector.Value{Type: d}, fmt.Sprintf("v%d", i)
	_, kept := r.kept[i]
	at, over, width, lane := fmt.Sprintf("kept%d", i), r.statementOver(i), int64(r.p.N), ""
	if !r.r.Free {
		over, width, lane = over[:len(over)-1], isa.Align(r.lane.Extent, width), " + j"
	}
	if index := point.Index(over); index != "" {
		at += fmt.Sprintf(" + (%s) * %d", index, width)
	}
	memory := func(constant string) string {
		return fmt.Sprintf("*(%s%s *)(%s%s)", constant, r.p.V.Type(d, r.p.N), at, lane)
	}
	if r.ready(i) {
		x.Text, kept = memory("const "), false
	} else if x = r.p.V.Expr(r.k.Statements[i].Value, r.p.N, r.p); kept {
		x = r.p.V.Splat(x, r.p.N)
	}
	r.p.Locals[i] = r.p.Name(r.Text, text, x)
	if kept {
		r.Line("%s = %s;", memory(""), text)
	}
}

// prefetch asks for the next row while this one is worked on: the sweeps behind the first, which find this row in a cache, each
// ask for their part of it. The last but one asks for what the last will write.
func (w *sweep) prefetch() {
	r := w.r
	if len(r.reduced) > 0 {
		return
	}
	far := func(i int, mode schedule.Mode) bool {
		o := r.k.Operands[i]
		return o.Mode == mode && r.lane.Step(r.r.Views[i]) == 1 && r.e.Buffers[o.Buffer].Bytes >= prefetchBytes
	}
	for i := range r.k.Operands {
		if far(i, schedule.Write) && r.sweeps.written == r.sweeps.all-2 {
			r.Line("TAPC_FETCH(p%d, %s, 1, 3);", i, r.p.Offset(r.r.Views[i]))
		}
	}
	if r.sweeps.written == 0 || len(r.Outer) == 0 {
		return
	}
	next, parts := r.Outer[len(r.Outer)-1], int64(r.sweeps.all-1)
	for _, i := range r.used() {
		v := r.r.Views[i]
		if !far(i, schedule.Read) || next.Step(v) == 0 {
			continue
		}
		at := fmt.Sprintf("%s + j", point.OffsetText(point.Start(r.k, v)+next.Step(v)+int64(r.sweeps.written-1)*r.lane.Extent/parts, r.Outer, v))
		if parts > 1 {
			at += fmt.Sprintf(" / %d", parts)
		}
		r.Line("TAPC_FETCH(p%d, %s, 0, 2);", i, at)
	}
}

// prefetchBytes is the size of operands that are not in a cache near by.
const prefetchBytes = 2 << 20

// joined joins the accumulators of a cell, and their lanes if these are reduced, and gives the result.
func (w *sweep) joined(cell int64) vector.Value {
	r, n := w.r, w.r.p.N
	join := func(to, other string) {
		x, y := w.acc, w.acc
		x.Text, y.Text = to, other
		r.Line("%s = %s;", to, r.p.V.Apply(w.reduce.Monoid, w.reduce.Type, n, []vector.Value{x, y}, false).Text)
	}
	for half := int64(1); half < w.unroll; half *= 2 {
		for u := int64(0); u+half < w.unroll; u += 2 * half {
			join(fmt.Sprintf("%s[%d]", w.name, cell*w.unroll+u), fmt.Sprintf("%s[%d]", w.name, cell*w.unroll+u+half))
		}
	}
	out := w.acc
	out.Text = fmt.Sprintf("%s[%d]", w.name, cell*w.unroll)
	if r.r.Free {
		return out
	}
	for half := n / 2; half > 0; half /= 2 {
		join(out.Text, vector.Exchanged(out.Text, n, half))
	}
	text := out.Text + "[0]"
	if w.acc.Type == scalar.Bool {
		text = "(uint8_t)-" + text
	}
	name := w.name + "r"
	if cell > 0 {
		name += fmt.Sprint(cell)
	}
	r.Line("const %s %s = %s;", r.e.W.Type(w.acc.Type), name, text)
	return vector.Value{Text: name, Type: w.acc.Type, Uniform: true}
}

// statement writes a statement at one index: its reductions, and then its value, or the sweep that stores its values.
func (r *Kernel) statement(i int, s schedule.Statement) {
	wide := r.wide(i)
	if wide && s.Store < 0 {
		return // computed in sweeps
	}
	if !wide {
		for _, e := range reductions(s.Value) {
			if r.p.Sums[e].Text == "" {
				r.reduce(e)
			}
		}
	}
	if s.Store < 0 {
		r.p.Statements(r.Text, i, i+1)
		return
	}
	r.Line("// %s = %s", s.Name, cnest.Clip(s.Value.Format(r.k)))
	if wide {
		(&sweep{r: r, body: s.Value, store: int(s.Store)}).write(r.statementOver(i))
	} else {
		r.storeAt(int(s.Store), r.p.V.Expr(s.Value, r.p.N, r.p))
	}
}

// reduce writes a reduction at one index, notes where its value is, and gives the values for all cells that are jammed.
func (r *Kernel) reduce(e *scalar.Expr) []vector.Value {
	r.Line("// %s", cnest.Clip(e.Format(r.k)))
	w := &sweep{r: r, body: e.Args[0], reduce: e, name: fmt.Sprintf("a%d", len(r.p.Sums))}
	w.write(r.over(e.Over))
	return w.results
}
