package product

import (
	"cmp"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// copyAhead is how many steps of the outermost loop of the reduction a copy asks for memory ahead.
const copyAhead = 4

// windowFunction writes the function that packs one panel of a right operand that a window slides over: the columns from j on,
// each in a lane. Where its lanes stand is worked out once for the panel, and so is the guard, for every place of the reduction
// that it depends on; then each step of the reduction copies a vector, or lane by lane where lanes are not neighbours or a vector
// would reach beyond the operand.
func (p *Product) windowFunction() {
	view, stored := p.C.Views[p.C.Right], p.E.W.Stored(p.D)
	buffer := p.K.Operands[p.C.Right].Buffer
	p.E.Raw(buffer)
	p.Open("\nstatic void %s_panel(void *const *b%s, int64_t j, %s *to) {", p.Name, p.Coordinates("int64_t "), stored)
	p.Line("const %s *right = b[%d]; // %s", stored, p.E.Slot(buffer), p.K.Operands[p.C.Right].Name)
	p.Line("%s(void)right;", p.Voids())
	place := &windowPlace{p: p, loops: map[int]string{}}
	for _, a := range p.Batch {
		for _, l := range a.Loops {
			place.loops[l] = a.Variable // a loop whose value the guard uses is a dimension of its own
		}
	}
	guard := p.C.Window.Guard
	p.Line("int64_t at[%d]; // where the columns start", p.Panel)
	if guard != nil {
		p.E.Stack(p.Panel * int64(p.maskElement().Size()) * nest.SaturatingProduct(p.C.GuardExtents(p.K)...))
		p.Line("%s live[%d * %d] __attribute__((aligned(64)));", p.E.W.Type(p.maskElement()), nest.SaturatingProduct(p.C.GuardExtents(p.K)...), p.Panel)
	}
	p.Open("for (int l = 0; l < %d; l++) {", p.Panel)
	p.Line("const int64_t c = j + l < %d ? j + l : %d;", p.C.Col.Extent, p.C.Col.Extent-1)
	offset := point.OffsetText(point.Start(p.K, view), p.Groups(), view)
	size := p.C.Col.Extent
	for x, l := range p.C.Col.Loops {
		e := p.K.Loops[l].Extent()
		size /= e
		text := "c"
		if size > 1 {
			text = fmt.Sprintf("c / %d", size)
		}
		if x > 0 {
			text += fmt.Sprintf(" %% %d", e)
		}
		p.Line("const int64_t c%d = %s;", x, text)
		place.loops[l] = fmt.Sprintf("c%d", x)
		offset += fmt.Sprintf(" + c%d * %s", x, point.Number(view.Steps[l]))
	}
	p.Line("at[l] = %s;", offset)
	if guard != nil {
		p.guards(place, guard)
	}
	p.Close()
	p.runs()
	p.copies()
	p.Close()
}

// runs writes the copying of a panel whose lanes are neighbours, or two runs of neighbours as where a row of an image ends and the
// next begins, for processors that load only some lanes of a vector: those of each run for which the guard holds.
func (p *Product) runs() {
	letter := map[scalar.DType]string{scalar.Float32: "s", scalar.Float64: "d"}[p.D]
	if letter == "" || p.N*p.D.Size() != 64 || p.Panel != int64(p.N) {
		return
	}
	n, stored, mask := p.N, p.E.W.Stored(p.D), fmt.Sprintf("uint%d_t", p.N)
	guards := nest.SaturatingProduct(p.C.GuardExtents(p.K)...)
	p.Line("#if defined(__AVX512F__)")
	p.Line("int cut = %d, several = 0; // where the second run begins, and whether there are more", n)
	p.Line("for (int l = 1; l < %d; l++) if (at[l] != at[l - 1] + 1) several |= cut < %d, cut = cut < %d ? cut : l;", n, n, n)
	p.Open("if (!several) {")
	p.Line("%s first[%d], second[%d]; // lanes of each", mask, guards, guards)
	p.Open("for (int g = 0; g < %d; g++) {", guards)
	if p.C.Window.Guard != nil {
		p.Line("unsigned lanes = 0;")
		p.Line("for (int l = 0; l < %d; l++) lanes |= (live[g * %d + l] != 0 ? 1u : 0u) << l;", n, n)
	} else {
		p.Line("const unsigned lanes = %d;", 1<<n-1)
	}
	p.Line("first[g] = (%s)(lanes & ((1u << cut) - 1));", mask)
	p.Line("second[g] = (%s)(lanes & ~((1u << cut) - 1));", mask)
	p.Close()
	fill := "0"
	if p.C.Window.Guard != nil {
		fill = p.E.W.Const(p.C.Window.Fill)
	}
	t := p.E.V.Type(p.D, n)
	p.Line("const %s fill = %s;", t, p.E.V.Splat(vector.Value{Text: fill, Type: p.D, Uniform: true}, n).Text)
	p.Line("const uintptr_t begin = (uintptr_t)right + (uintptr_t)at[0] * sizeof *right;")
	p.Line("const uintptr_t next = (uintptr_t)right + (uintptr_t)(cut < %d ? at[cut] - cut : at[0]) * sizeof *right;", n)
	for _, two := range []bool{false, true} {
		if two {
			p.Open("else {")
		} else {
			p.Open("if (cut == %d) {", n)
		}
		p.reductionLoops(true, func(from, guard string) {
			load := func(start, mask, others string) string {
				return fmt.Sprintf("(%s)__builtin_ia32_loadup%s512_mask((const %s *)(%s + (uintptr_t)(%s) * sizeof *right), %s, %s[%s])",
					t, letter, stored, start, from, others, mask, guard)
			}
			text := load("begin", "first", "fill")
			if two {
				text = load("next", "second", text)
			}
			p.Line("*(%s *)to = %s;", t, text)
			p.Line("to += %d;", n)
		})
		p.Close()
	}
	p.Line("return;")
	p.Close()
	p.Line("#endif")
}

// fetchRows asks for the memory that the copying comes to a few steps of the outermost loop later: the rows of a window.
func (p *Product) fetchRows() {
	loops := p.C.Reduction[0].Loops
	for _, d := range p.C.Reduction[1:] {
		loops = append(slices.Clone(loops), d.Loops...)
	}
	ahead, step, rows := p.ahead(), int64(0), int64(1)
	if len(loops) > 1 && p.K.Loops[loops[1]].Extent() <= unit.MaxUnrolled {
		step, rows = p.C.Views[p.C.Right].Steps[loops[1]], p.K.Loops[loops[1]].Extent()
	}
	for r := int64(0); ahead != 0 && r < rows; r++ {
		p.Line("TAPC_FETCH(right, at[0] + f0 * %s + %s, 0, 3);",
			point.Number(p.C.Views[p.C.Right].Steps[loops[0]]), point.Number(ahead+r*step))
	}
}

// reductionLoops writes the loops over the reduction around something that knows the offset of the element and the number of the guard;
// those that the guard depends on are written out, and memory is asked for ahead, if runs of lanes are copied.
func (p *Product) reductionLoops(runs bool, write func(from, guard string)) {
	view, guards := p.C.Views[p.C.Right], p.C.GuardLoops()
	offset, guard, depth := "0", "", 0
	for _, d := range p.C.Reduction {
		for _, l := range d.Loops {
			extent := p.K.Loops[l].Extent()
			guarded := slices.Contains(guards, l)
			if runs && guarded && extent <= unit.MaxUnrolled {
				p.Line("#pragma GCC unroll %d", extent)
			}
			p.Open("for (int64_t f%d = 0; f%d < %d; f%d++) {", depth, depth, extent, depth)
			offset += fmt.Sprintf(" + f%d * %s", depth, point.Number(view.Steps[l]))
			if guarded {
				guard = fmt.Sprintf("(%s) * %d + f%d", cmp.Or(guard, "0"), extent, depth)
			}
			if depth++; depth == 1 && runs {
				p.fetchRows()
			}
		}
	}
	write(offset, cmp.Or(guard, "0"))
	p.Close(depth)
}

// maskElement is the integer type of the lanes of the truth vectors that pick lanes of the operand.
func (p *Product) maskElement() scalar.DType { return vector.IntegerOf(p.D.Size(), true) }

// guards writes the loops that keep the guard's values for one lane.
func (p *Product) guards(place *windowPlace, guard *scalar.Expr) {
	loops := p.C.GuardLoops()
	at := "0"
	for x, l := range loops {
		e := p.K.Loops[l].Extent()
		p.Open("for (int64_t g_%d = 0; g_%d < %d; g_%d++) {", x, x, e, x)
		place.loops[l] = fmt.Sprintf("g_%d", x)
		at = fmt.Sprintf("(%s) * %d + g_%d", at, e, x)
	}
	p.Line("live[(%s) * %d + l] = -(%s);", at, p.Panel, p.E.V.Expr(guard, 1, place).Text)
	p.Close(len(loops))
}

// copies writes the loops over the fold, which copy a row of the panel each.
func (p *Product) copies() {
	p.Line("int even = 1; // the lanes are neighbours")
	p.Line("int64_t low = at[0], high = at[0];")
	p.Open("for (int l = 1; l < %d; l++) {", p.Panel)
	p.Line("even &= at[l] == at[0] + l;")
	p.Line("low = at[l] < low ? at[l] : low;")
	p.Line("high = at[l] > high ? at[l] : high;")
	p.Close()
	p.Line("(void)low, (void)high;")
	p.reductionLoops(false, p.copyRow)
}

// copyRow writes the copying of a row of the panel, which is at an offset, where the guard with a number holds.
func (p *Product) copyRow(offset, guard string) {
	buffer := p.E.Buffers[p.K.Operands[p.C.Right].Buffer]
	p.Line("const int64_t from = %s;", offset)
	guarded, fill := p.C.Window.Guard != nil, ""
	if guarded {
		fill = p.E.W.Const(p.C.Window.Fill)
		p.Line("const %s *mask = live + (%s) * %d;", p.E.W.Type(p.maskElement()), guard, p.Panel)
		p.Open("if (even && from + low >= 0 && from + high < %s) {", point.Number(buffer.Bytes/int64(p.D.Size())))
	} else {
		p.Open("if (even) {")
	}
	if ahead := p.ahead(); ahead != 0 {
		p.Line("TAPC_FETCH(right, from + at[0] + %s, 0, 3);", point.Number(ahead))
	}
	t, n := p.E.V.Type(p.D, p.N), int64(p.N)
	for x := int64(0); x < p.Panel; x += n {
		text := p.E.V.Of(p.D, p.N).Load(fmt.Sprintf("right + (from + at[0] + %d)", x), fmt.Sprint(n))
		if guarded {
			m := p.E.V.MaskType(p.D.Size(), p.N)
			fills := p.E.V.Splat(vector.Value{Text: fill, Type: p.D, Uniform: true}, p.N).Text
			text = p.E.V.Pick(t, m, fmt.Sprintf("*(const %s *)(mask + %d)", m, x), text, fills)
		}
		p.Line("*(%s *)(to + %d) = %s;", t, x, text)
	}
	p.Close()
	p.Open("else {")
	value := "right[from + at[l]]"
	if guarded {
		value = fmt.Sprintf("mask[l] ? %s : %s", value, fill)
	}
	p.Line("for (int l = 0; l < %d; l++) to[l] = %s;", p.Panel, value)
	p.Close()
	p.Line("to += %d;", p.Panel)
}

// ahead is how far from an element the one stands that is copied a few steps of the outermost loop later, if those are so long
// that a processor does not see them coming.
func (p *Product) ahead() int64 {
	if len(p.C.Reduction) == 0 || len(p.C.Reduction[0].Loops) == 0 {
		return 0
	}
	l := p.C.Reduction[0].Loops[0]
	step := p.C.Views[p.C.Right].Steps[l]
	if p.K.Loops[l].Extent() < 2*copyAhead || step*int64(p.D.Size()) < 1024 && step*int64(p.D.Size()) > -1024 {
		return 0
	}
	return copyAhead * step
}

// windowPlace gives the values of loops while a panel is packed.
type windowPlace struct {
	p     *Product
	loops map[int]string // variables, from 0
}

func (w *windowPlace) Loop(ref int) vector.Value {
	text := point.Number(w.p.K.Loops[ref].Start)
	if variable, ok := w.loops[ref]; ok {
		text = fmt.Sprintf("(%s + %s)", variable, text)
	}
	return vector.Value{Text: fmt.Sprintf("((int64_t)%s)", text), Type: scalar.Int64, Uniform: true}
}

// A guard has loops for its only leaves.
func (w *windowPlace) Load(int) vector.Value                     { return vector.Value{} }
func (w *windowPlace) Local(int) vector.Value                    { return vector.Value{} }
func (w *windowPlace) Guarded(*scalar.Expr) (vector.Value, bool) { return vector.Value{}, false }
func (w *windowPlace) Reduce(*scalar.Expr) vector.Value          { return vector.Value{} }
