package product

import (
	"cmp"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/scalar"
)

// window packs panels of a right operand that a window slides over. It gives the values of loops while it does: a guard has loops for its only leaves.
type window struct {
	*cnest.Text
	p      *Product
	view   nest.View
	guard  *scalar.Expr // nil for none
	guards []int        // loops of the reduction that it depends on
	states int64        // how many values it has for a column
	mask   scalar.DType // of the lanes of the truth vectors that pick lanes of the operand
	ahead  int64        // how far from an element the one stands that is copied a few steps of the outermost loop later; 0 if a processor sees it coming
	values map[int]string
}

// windowFunction writes the function that packs one panel: the columns from j on, each in a lane. Where its lanes stand is worked out once for the
// panel, and so is the guard, for every place of the reduction that it depends on; then each step of the reduction copies a vector, or lane by lane
// where lanes are not neighbours or a vector would reach beyond the operand.
func windowFunction(p *Product) {
	w := &window{Text: p.Text, p: p, view: p.C.Views[p.C.Right], guard: p.C.Window.Guard, guards: p.C.GuardLoops(), states: nest.SaturatingProduct(p.C.GuardExtents(p.K)...),
		mask: vector.IntegerOf(p.D.Size(), true), ahead: blocking.WindowAhead(p.Blocking), values: map[int]string{}}
	stored, buffer := p.E.W.Stored(p.D), p.K.Operands[p.C.Right].Buffer
	p.E.Raw(buffer)
	p.Open("\nstatic void %s_panel(void *const *b%s, int64_t j, %s *to) {", p.Name, p.Coordinates("int64_t "), stored)
	p.Line("const %s *right = b[%d]; // %s", stored, p.E.Slot(buffer), p.K.Operands[p.C.Right].Name)
	p.Line("%s(void)right;", p.Voids())
	for _, a := range p.Batch {
		for _, l := range a.Loops {
			w.values[l] = a.Variable // a loop whose value the guard uses is a dimension of its own
		}
	}
	p.Line("int64_t at[%d]; // where the columns start", p.Panel)
	if w.guard != nil {
		p.E.Stack(p.Panel * int64(w.mask.Size()) * w.states)
		p.Line("%s live[%d * %d] __attribute__((aligned(64)));", p.E.W.Type(w.mask), w.states, p.Panel)
	}
	p.Open("for (int l = 0; l < %d; l++) {", p.Panel)
	w.columns()
	p.Close()
	w.runs()
	w.copies()
	p.Close()
}

// columns writes where the column of one lane is, and the guard's values for it.
func (w *window) columns() {
	w.Line("const int64_t c = j + l < %d ? j + l : %d;", w.p.C.Col.Extent, w.p.C.Col.Extent-1)
	offset, size := point.OffsetText(point.Start(w.p.K, w.view), w.p.Groups(), w.view), w.p.C.Col.Extent
	for x, l := range w.p.C.Col.Loops {
		e := w.p.K.Loops[l].Extent()
		size /= e
		text := "c"
		if size > 1 {
			text = fmt.Sprintf("c / %d", size)
		}
		if x > 0 {
			text += fmt.Sprintf(" %% %d", e)
		}
		w.Line("const int64_t c%d = %s;", x, text)
		w.values[l] = fmt.Sprintf("c%d", x)
		offset += fmt.Sprintf(" + c%d * %s", x, point.Number(w.view.Steps[l]))
	}
	w.Line("at[l] = %s;", offset)
	if w.guard == nil {
		return
	}
	w.liveness()
}

// manyStates is from how many values of a guard on conditions of one loop are asked apart.
const manyStates = 16

// liveness writes where the guard of the column of one lane holds. Of a guard with many values, conditions of one loop of the reduction are asked once for
// each value of that.
func (w *window) liveness() {
	all := "1"
	rest := affine.Conjuncts(w.guard)
	for x, l := range w.guards {
		w.values[l] = fmt.Sprintf("g_%d", x)
		others := slices.DeleteFunc(slices.Clone(w.guards), func(o int) bool { return o == l })
		own := func(e *scalar.Expr) bool { return point.UsesAny([]int{l}, e) && !point.UsesAny(others, e) }
		if w.states < manyStates || !slices.ContainsFunc(rest, own) {
			continue
		}
		w.Line("int side%d[%d];", x, w.p.K.Loops[l].Extent())
		w.guardLoop(x)
		w.Line("side%d[g_%d] = %s;", x, x, w.holds(rest, own))
		w.Close()
		rest = slices.DeleteFunc(rest, own)
		all += fmt.Sprintf(" & side%d[g_%d]", x, x)
	}
	at := "0"
	for x, l := range w.guards {
		w.guardLoop(x)
		at = fmt.Sprintf("(%s) * %d + g_%d", at, w.p.K.Loops[l].Extent(), x)
	}
	w.Line("live[(%s) * %d + l] = -(%s & %s);", at, w.p.Panel, all, w.holds(rest, func(*scalar.Expr) bool { return true }))
	w.Close(len(w.guards))
}

// guardLoop opens the loop over the values of a loop that the guard depends on.
func (w *window) guardLoop(x int) {
	w.Open("for (int64_t g_%d = 0; g_%d < %d; g_%d++) {", x, x, w.p.K.Loops[w.guards[x]].Extent(), x)
}

// holds writes that those of some conditions hold that are asked for.
func (w *window) holds(conditions []*scalar.Expr, asked func(*scalar.Expr) bool) string {
	text := "1"
	for _, e := range conditions {
		if asked(e) {
			text += fmt.Sprintf(" & (%s)", w.p.E.V.Expr(e, 1, w).Text)
		}
	}
	return text
}

// apart is how far apart lanes of the same row of an image are.
func (w *window) apart() int64 {
	loops := w.p.C.Col.Loops
	return w.view.Steps[loops[len(loops)-1]]
}

// runs writes the copying of a panel whose lanes are neighbours, or two runs of neighbours as where a row of an image ends and the
// next begins, for processors that load only some lanes of a vector: those of each run for which the guard holds.
func (w *window) runs() {
	letter := map[scalar.DType]string{scalar.Float32: "s", scalar.Float64: "d"}[w.p.D]
	if letter == "" || w.p.N*w.p.D.Size() != 64 || w.p.Panel != int64(w.p.N) || w.apart() == 2 {
		return
	}
	n, stored, mask := w.p.N, w.p.E.W.Stored(w.p.D), fmt.Sprintf("uint%d_t", w.p.N)
	w.Line("#if defined(__AVX512F__)")
	w.Line("int cut = %d, several = 0; // where the second run begins, and whether there are more", n)
	w.Line("for (int l = 1; l < %d; l++) if (at[l] != at[l - 1] + 1) several |= cut < %d, cut = cut < %d ? cut : l;", n, n, n)
	w.Open("if (!several) {")
	w.Line("%s first[%d], second[%d]; // lanes of each", mask, w.states, w.states)
	w.Open("for (int g = 0; g < %d; g++) {", w.states)
	fill := "0"
	if w.guard != nil {
		fill = w.p.E.W.Const(w.p.C.Window.Fill)
		w.Line("unsigned lanes = 0;")
		w.Line("for (int l = 0; l < %d; l++) lanes |= (live[g * %d + l] != 0 ? 1u : 0u) << l;", n, n)
	} else {
		w.Line("const unsigned lanes = %d;", 1<<n-1)
	}
	w.Line("first[g] = (%s)(lanes & ((1u << cut) - 1));", mask)
	w.Line("second[g] = (%s)(lanes & ~((1u << cut) - 1));", mask)
	w.Close()
	t := w.p.E.V.Type(w.p.D, n)
	w.Line("const %s fill = %s;", t, w.p.E.V.Splat(vector.Value{Text: fill, Type: w.p.D, Uniform: true}, n).Text)
	w.Line("const uintptr_t begin = (uintptr_t)right + (uintptr_t)at[0] * sizeof *right;")
	w.Line("const uintptr_t next = (uintptr_t)right + (uintptr_t)(cut < %d ? at[cut] - cut : at[0]) * sizeof *right;", n)
	for _, two := range []bool{false, true} {
		if two {
			w.Open("else {")
		} else {
			w.Open("if (cut == %d) {", n)
		}
		w.reduction(true, func(from, guard string) {
			load := func(start, mask, others string) string {
				return fmt.Sprintf("(%s)__builtin_ia32_loadup%s512_mask((const %s *)(%s + (uintptr_t)(%s) * sizeof *right), %s, %s[%s])",
					t, letter, stored, start, from, others, mask, guard)
			}
			text := load("begin", "first", "fill")
			if two {
				text = load("next", "second", text)
			}
			w.Line("*(%s *)to = %s;", t, text)
			w.Line("to += %d;", n)
		})
		w.Close()
	}
	w.Line("return;")
	w.Close()
	w.Line("#endif")
}

// fetchRows asks for the memory that the copying comes to a few steps of the outermost loop later: the rows of a window.
func (w *window) fetchRows() {
	loops := w.p.C.Reduction[0].Loops
	for _, d := range w.p.C.Reduction[1:] {
		loops = append(slices.Clone(loops), d.Loops...)
	}
	step, rows := int64(0), int64(1)
	if len(loops) > 1 && w.p.K.Loops[loops[1]].Extent() <= unit.MaxUnrolled {
		step, rows = w.view.Steps[loops[1]], w.p.K.Loops[loops[1]].Extent()
	}
	for r := int64(0); w.ahead != 0 && r < rows; r++ {
		w.Line("TAPC_FETCH(right, at[0] + f0 * %s + %s, 0, 3);", point.Number(w.view.Steps[loops[0]]), point.Number(w.ahead+r*step))
	}
}

// reduction writes the loops over the reduction around something that knows the offset of the element and the number of the guard;
// those that the guard depends on are written out, and memory is asked for ahead, if runs of lanes are copied.
func (w *window) reduction(runs bool, write func(from, guard string)) {
	offset, guard, depth := "0", "", 0
	for _, d := range w.p.C.Reduction {
		for _, l := range d.Loops {
			extent := w.p.K.Loops[l].Extent()
			guarded := slices.Contains(w.guards, l)
			if runs && guarded && extent <= unit.MaxUnrolled {
				w.Line("#pragma GCC unroll %d", extent)
			}
			w.Open("for (int64_t f%d = 0; f%d < %d; f%d++) {", depth, depth, extent, depth)
			offset += fmt.Sprintf(" + f%d * %s", depth, point.Number(w.view.Steps[l]))
			if guarded {
				guard = fmt.Sprintf("(%s) * %d + f%d", cmp.Or(guard, "0"), extent, depth)
			}
			if depth++; depth == 1 && runs {
				w.fetchRows()
			}
		}
	}
	write(offset, cmp.Or(guard, "0"))
	w.Close(depth)
}

// copies writes the loops over the reduction, which copy a row of the panel each.
func (w *window) copies() {
	step := int64(1)
	if w.apart() == 2 {
		step = 2
	}
	w.Line("int even = 1; // the lanes are %d apart", step)
	w.Line("int64_t low = at[0], high = at[0];")
	w.Open("for (int l = 1; l < %d; l++) {", w.p.Panel)
	w.Line("even &= at[l] == at[0] + l * %d;", step)
	w.Line("low = at[l] < low ? at[l] : low;")
	w.Line("high = at[l] > high ? at[l] : high;")
	w.Close()
	w.Line("(void)low, (void)high;")
	w.reduction(false, func(offset, guard string) { w.copyRow(step, offset, guard) })
}

// copyRow writes the copying of a row of the panel, which is at an offset, where the guard with a number holds. Vectors have elements a step apart.
func (w *window) copyRow(step int64, offset, guard string) {
	buffer, fill := w.p.E.Buffers[w.p.K.Operands[w.p.C.Right].Buffer], ""
	w.Line("const int64_t from = %s;", offset)
	if w.guard != nil {
		fill = w.p.E.W.Const(w.p.C.Window.Fill)
		w.Line("const %s *mask = live + (%s) * %d;", w.p.E.W.Type(w.mask), guard, w.p.Panel)
		w.Open("if (even && from + low >= 0 && from + high < %s) {", point.Number(buffer.Bytes/int64(w.p.D.Size())))
	} else {
		w.Open("if (even) {")
	}
	if w.ahead != 0 {
		w.Line("TAPC_FETCH(right, from + at[0] + %s, 0, 3);", point.Number(w.ahead))
	}
	t, n := w.p.E.V.Type(w.p.D, w.p.N), int64(w.p.N)
	for x := int64(0); x < w.p.Panel; x += n {
		text := w.p.E.V.Of(w.p.D, w.p.N).Load(fmt.Sprintf("right + (from + at[0] + %d)", x), fmt.Sprint(n))
		if step != 1 {
			text = w.p.E.V.Of(w.p.D, w.p.N).Gather(fmt.Sprintf("right + (from + at[0] + %d)", x*step), fmt.Sprint(step), fmt.Sprint(n))
		}
		if w.guard != nil {
			m := w.p.E.V.MaskType(w.p.D.Size(), w.p.N)
			fills := w.p.E.V.Splat(vector.Value{Text: fill, Type: w.p.D, Uniform: true}, w.p.N).Text
			text = w.p.E.V.Pick(t, m, fmt.Sprintf("*(const %s *)(mask + %d)", m, x), text, fills)
		}
		w.Line("*(%s *)(to + %d) = %s;", t, x, text)
	}
	w.Close()
	w.Open("else {")
	value := "right[from + at[l]]"
	if w.guard != nil {
		value = fmt.Sprintf("mask[l] ? %s : %s", value, fill)
	}
	w.Line("for (int l = 0; l < %d; l++) to[l] = %s;", w.p.Panel, value)
	w.Close()
	w.Line("to += %d;", w.p.Panel)
}

// Loop is the value of a loop while a panel is packed.
func (w *window) Loop(ref int) vector.Value {
	text := point.Number(w.p.K.Loops[ref].Start)
	if variable, ok := w.values[ref]; ok {
		text = fmt.Sprintf("(%s + %s)", variable, text)
	}
	return vector.Value{Text: fmt.Sprintf("((int64_t)%s)", text), Type: scalar.Int64, Uniform: true}
}

// Load, Local, Guarded and Reduce are of no guard.
func (w *window) Load(int) vector.Value                     { return vector.Value{} }
func (w *window) Local(int) vector.Value                    { return vector.Value{} }
func (w *window) Guarded(*scalar.Expr) (vector.Value, bool) { return vector.Value{}, false }
func (w *window) Reduce(*scalar.Expr) vector.Value          { return vector.Value{} }
