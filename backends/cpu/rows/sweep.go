package rows

import (
	"fmt"
	"maps"
	"strings"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
)

// sweep writes one pass over a row: a fold, or the values of a statement that is stored.
//
// A fold has several accumulators, of which each takes every so many vectors, in an order that does not depend on threads.
// Float sums are taken in blocks, and blocks of blocks, so that errors grow with the logarithm of the length (N. Higham, "The
// Accuracy of Floating Point Summation", 1993).
type sweep struct {
	*Kernel
	store  int          // statement, or -1
	reduce *scalar.Expr // or nil
	name   string       // of the accumulator
	value  vector.Value // what the accumulator holds
	unroll int64        // accumulators
	inside point.Point  // of the row
}

// sumBlock is how many values a float sum adds before it starts a new partial sum.
const sumBlock = 64

// write writes the sweep along some axes.
func (w *sweep) write(body *scalar.Expr, over []point.Axis) {
	lane := !w.r.Free
	w.unroll = 1
	if lane {
		over = over[:len(over)-1]
		w.unroll = min(8, w.lane.Extent/int64(w.n))
		if w.costly(body) || w.store >= 0 {
			w.unroll = min(2, w.unroll)
		}
		w.unroll = max(1, w.unroll)
	}
	outside := *w.p
	outer := w.p
	defer func() { w.p = outer }()
	inside := outside
	inside.Locals = maps.Clone(outside.Locals)
	inside.Axes = append(append([]point.Axis{}, outside.Axes...), over...)
	if lane {
		inside.Axes = append(inside.Axes, point.Axis{Dim: w.lane.Dim, Variable: "j"})
		inside.Along = len(inside.Axes) - 1
	}
	w.inside = inside
	w.p = &w.inside
	if w.reduce != nil {
		w.declare(body)
	}
	w.loops(body, over, w.name)
	w.swept++
	if w.reduce != nil {
		outside.Sums[w.reduce] = w.folded()
	}
}

// declare finds the type of the values that are folded, and declares the accumulators.
func (w *sweep) declare(body *scalar.Expr) {
	w.p.Count = fmt.Sprint(w.n)
	locals := maps.Clone(w.p.Locals)
	text := w.Kernel.Text
	w.Kernel.Text = new(cnest.Text) // what is written here is not used
	done := maps.Clone(w.done)
	w.value = w.p.V.Splat(w.body(body)[0], w.n)
	w.Kernel.Text, w.p.Locals, w.Kernel.done = text, locals, done
	if w.r.Free {
		w.p.Count = "n"
	}
	w.accumulators(w.name)
}

// accumulators declares accumulators with the identity as their value.
func (w *sweep) accumulators(name string) {
	identity := w.p.V.Splat(vector.Value{Text: w.e.W.Const(scalar.Identity(w.reduce.Monoid, w.reduce.Type)), Type: w.reduce.Type, Uniform: true}, w.n)
	t := w.p.V.Type(w.value.Type, w.n)
	text := identity.Text
	if w.value.Type == scalar.Bool {
		t = w.p.V.MaskType(w.value.Mask, w.n)
		text = w.p.V.Mask(identity, w.value.Mask, w.n)
	}
	w.Line("%s %s[%d];", t, name, w.unroll)
	w.Line("for (int u = 0; u < %d; u++) %s[u] = %s;", w.unroll, name, text)
}

// loops writes the loops of the fold outside the lanes.
func (w *sweep) loops(body *scalar.Expr, over []point.Axis, acc string) {
	if len(over) == 0 {
		w.lanes(body, acc)
		return
	}
	a := over[0]
	if !w.blocked() {
		if w.r.Free && small(w.fold) {
			w.Line("#pragma GCC unroll %d", unit.MaxUnrolled)
		}
		w.Open("for (int64_t %s = 0; %s < %d; %s++) {", a.Variable, a.Variable, a.Extent, a.Variable)
		w.loops(body, over[1:], acc)
		w.Close()
		return
	}
	w.blocks(a.Variable, fmt.Sprint(a.Extent), a.Extent, 1, acc, func(acc string) {
		if w.steps(over[1:]) > sumBlock {
			w.partial(acc, func(part string) { w.loops(body, over[1:], part) })
			return
		}
		w.loops(body, over[1:], acc)
	})
}

// steps is how often an accumulator is added to along some axes and the lanes.
func (w *sweep) steps(over []point.Axis) int64 {
	n := int64(1)
	if !w.r.Free {
		n = w.lane.Extent/(int64(w.n)*w.unroll) + 1
	}
	for _, a := range over {
		n = min(n, 1<<40/a.Extent) * a.Extent
	}
	return n
}

// small says whether all of a fold is written out.
func small(fold []point.Axis) bool {
	n := int64(1)
	for _, a := range fold {
		n = min(n, unit.MaxUnrolled+1) * a.Extent
	}
	return n <= unit.MaxUnrolled
}

func (w *sweep) blocked() bool {
	return w.reduce != nil && w.reduce.Monoid == scalar.Add && w.reduce.Type.IsFloat()
}

// blocks writes a loop of a variable from 0 to an end in steps, in blocks of blocks that each have a partial sum.
func (w *sweep) blocks(variable, end string, extent, step int64, acc string, write func(acc string)) {
	size := step
	for size*sumBlock < extent && w.blocked() {
		size *= sumBlock
	}
	w.block(variable, "0", end, size, step, acc, write)
}

func (w *sweep) block(variable, from, to string, size, step int64, acc string, write func(acc string)) {
	if size == step {
		if w.r.Free && small(w.fold) {
			w.Line("#pragma GCC unroll %d", unit.MaxUnrolled)
		}
		w.Open("for (int64_t %s = %s; %s < %s; %s += %d) {", variable, from, variable, to, variable, step)
		write(acc)
		w.Close()
		return
	}
	outer := fmt.Sprintf("%s_%d", variable, size)
	w.Open("for (int64_t %s = %s; %s < %s; %s += %d) {", outer, from, outer, to, outer, size)
	w.Line("const int64_t %se = %s + %d < %s ? %s + %d : %s;", outer, outer, size, to, outer, size, to)
	w.partial(acc, func(part string) { w.block(variable, outer, outer+"e", size/sumBlock, step, part, write) })
	w.Close()
}

// partial writes something that adds to accumulators of its own, and adds these to others.
func (w *sweep) partial(acc string, write func(part string)) {
	part := acc + "p"
	w.accumulators(part)
	write(part)
	w.Line("for (int u = 0; u < %d; u++) %s[u] += %s[u];", w.unroll, acc, part)
}

// lanes writes the vectors of a row, or the one vector of free lanes.
func (w *sweep) lanes(body *scalar.Expr, acc string) {
	if w.r.Free {
		w.p.Count = "n"
		w.once(body, acc+"[0]", "")
		return
	}
	n := int64(w.n)
	group := n * w.unroll
	extent := w.lane.Extent
	whole := extent / group * group
	w.p.Count = fmt.Sprint(n)
	several := func(from string, count int64) func(acc string) {
		return func(acc string) {
			if count > 1 {
				w.Line("#pragma GCC unroll %d", count)
			}
			w.Open("for (int u = 0; u < %d; u++) {", count)
			w.Line("const int64_t j = %s + u * %d;", from, n)
			w.Line("(void)j;")
			w.prefetch()
			w.once(body, acc+"[u]", "")
			w.Close()
		}
	}
	if whole > 0 {
		w.blocks("j0", fmt.Sprint(whole), whole, group, acc, several("j0", w.unroll))
	}
	if rest := (extent - whole) / n; rest > 0 {
		several(fmt.Sprint(whole), rest)(acc)
	}
	if live := extent % n; live > 0 {
		w.p.Count = fmt.Sprint(live)
		w.Open("{")
		w.Line("const int64_t j = %d;", extent-live)
		w.Line("(void)j;")
		w.once(body, acc+"[0]", w.p.Count)
		w.Close()
	}
}

// body writes what an expression needs of the row's values, and gives those of its parts, or its own.
func (w *sweep) body(e *scalar.Expr, parts ...*scalar.Expr) []vector.Value {
	for _, i := range w.needs(e) {
		s := w.k.Statements[i]
		if w.kept[i] && w.done[i] {
			at := w.keptAt(i)
			w.p.Locals[i] = w.p.Name(w.Text, fmt.Sprintf("v%d", i), vector.Value{Text: fmt.Sprintf("*(const %s *)(%s)", w.p.V.Type(s.Value.Type, w.n), at), Type: s.Value.Type})
			continue
		}
		x := w.p.V.Expr(s.Value, w.n, w.p)
		if w.kept[i] {
			x = w.p.V.Splat(x, w.n)
		}
		w.p.Locals[i] = w.p.Name(w.Text, fmt.Sprintf("v%d", i), x)
		if w.kept[i] {
			w.Line("*(%s *)(%s) = v%d;", w.p.V.Type(s.Value.Type, w.n), w.keptAt(i), i)
		}
	}
	if len(parts) == 0 {
		parts = []*scalar.Expr{e}
	}
	values := make([]vector.Value, len(parts))
	for i, part := range parts {
		values[i] = w.p.V.Expr(part, w.n, w.p)
	}
	return values
}

// keptAt writes where a kept value of the present place is.
func (w *sweep) keptAt(i int) string {
	over := w.overOf(i)
	width := int64(w.n)
	if !w.r.Free {
		width = isa.Align(w.lane.Extent, width)
		over = over[:len(over)-1]
	}
	at := ""
	for _, a := range over {
		if at != "" {
			at = fmt.Sprintf("(%s) * %d + ", at, a.Extent)
		}
		at += a.Variable
	}
	switch {
	case at == "" && w.r.Free:
		return fmt.Sprintf("kept%d", i)
	case at == "":
		return fmt.Sprintf("kept%d + j", i)
	case w.r.Free:
		return fmt.Sprintf("kept%d + (%s) * %d", i, at, width)
	}
	return fmt.Sprintf("kept%d + (%s) * %d + j", i, at, width)
}

// prefetch asks for the next row while this one is worked on: the sweeps behind the first, which find this row in a cache, each
// ask for their part of it. The last but one asks for what the last will write.
func (w *sweep) prefetch() {
	for i, o := range w.k.Operands {
		v := w.r.Views[i]
		if o.Mode == schedule.Write && w.swept == w.sweeps-2 && w.lane.Step(v) == 1 && len(w.fold) == 0 && w.e.Buffers[o.Buffer].Bytes >= prefetchBytes {
			w.Line("TAPC_FETCH(p%d, %s, 1, 3);", i, w.p.Offset(v))
		}
	}
	if w.swept == 0 || w.sweeps < 2 || len(w.Outer) == 0 || len(w.fold) > 0 {
		return
	}
	next := w.Outer[len(w.Outer)-1]
	for _, i := range w.used() {
		o, v := w.k.Operands[i], w.r.Views[i]
		if o.Mode != schedule.Read || next.Step(v) == 0 || w.lane.Step(v) != 1 || w.e.Buffers[o.Buffer].Bytes < prefetchBytes {
			continue
		}
		parts := int64(w.sweeps - 1)
		at := fmt.Sprintf("%s + j", point.OffsetText(point.Start(w.k, v)+next.Step(v)+int64(w.swept-1)*w.lane.Extent/parts, w.Outer, v))
		if parts > 1 {
			at += fmt.Sprintf(" / %d", parts)
		}
		w.Line("TAPC_FETCH(p%d, %s, 0, 2);", i, at)
	}
}

// prefetchBytes is the size of operands that are not in a cache near by.
const prefetchBytes = 2 << 20

// once writes one vector of the sweep: with only some live lanes if live says how many.
func (w *sweep) once(body *scalar.Expr, acc, live string) {
	before := maps.Clone(w.p.Locals)
	done := maps.Clone(w.done)
	if w.reduce != nil && vector.Fuses(w.reduce.Monoid, body) {
		factors := w.body(body, body.Args...)
		w.Line("%s = %s;", acc, w.p.V.Of(w.value.Type, w.n).Fused(vector.Value{Text: acc, Type: w.value.Type}, factors[0], factors[1], live).Text)
		w.p.Locals, w.Kernel.done = before, done
		return
	}
	x := w.body(body)[0]
	if w.reduce == nil {
		w.Line("%s;", w.storeAt(int(w.k.Statements[w.store].Store), x))
	} else {
		x = w.p.V.Splat(x, w.n)
		if live != "" {
			x = w.p.V.Only(x, w.n, live, scalar.Identity(w.reduce.Monoid, w.reduce.Type))
		}
		sum := vector.Value{Text: acc, Type: w.value.Type, Mask: w.value.Mask}
		args := []vector.Value{sum, x}
		if w.reduce.Monoid == scalar.Min || w.reduce.Monoid == scalar.Max {
			args = []vector.Value{x, sum} // where the first is NaN is known before the sum is
		}
		next := w.p.V.Apply(w.reduce.Monoid, w.reduce.Type, w.n, args, false)
		text := next.Text
		if next.Type == scalar.Bool {
			text = w.p.V.Mask(next, w.value.Mask, w.n)
		}
		w.Line("%s = %s;", acc, text)
	}
	w.p.Locals, w.Kernel.done = before, done
}

// folded joins the accumulators, and their lanes if these are folded, and gives the result.
func (w *sweep) folded() vector.Value {
	for _, i := range w.needs(w.reduce.Args[0]) {
		if w.kept[i] {
			w.done[i] = true
		}
	}
	join := func(a, b string) string {
		x := vector.Value{Text: a, Type: w.value.Type, Mask: w.value.Mask}
		y := vector.Value{Text: b, Type: w.value.Type, Mask: w.value.Mask}
		return w.p.V.Apply(w.reduce.Monoid, w.reduce.Type, w.n, []vector.Value{x, y}, false).Text
	}
	for half := int64(1); half < w.unroll; half *= 2 {
		for u := int64(0); u+half < w.unroll; u += 2 * half {
			w.Line("%s[%d] = %s;", w.name, u, join(fmt.Sprintf("%s[%d]", w.name, u), fmt.Sprintf("%s[%d]", w.name, u+half)))
		}
	}
	if w.r.Free {
		return vector.Value{Text: w.name + "[0]", Type: w.value.Type, Mask: w.value.Mask}
	}
	for half := w.n / 2; half > 0; half /= 2 {
		lanes := make([]string, w.n)
		for i := range lanes {
			lanes[i] = fmt.Sprint(i ^ half)
		}
		acc := w.name + "[0]"
		w.Line("%s = %s;", acc, join(acc, fmt.Sprintf("__builtin_shufflevector(%s, %s, %s)", acc, acc, strings.Join(lanes, ", "))))
	}
	text := w.name + "[0][0]"
	if w.value.Type == scalar.Bool {
		text = "(uint8_t)-" + text
	}
	w.Line("const %s %sr = %s;", w.e.W.Type(w.value.Type), w.name, text)
	return vector.Value{Text: w.name + "r", Type: w.value.Type, Uniform: true}
}
