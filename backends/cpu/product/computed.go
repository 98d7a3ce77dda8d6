package product

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/nest/computed"
)

// mostUnrolled is how many values of the innermost loop of a reduction are computed side by side at most, which share what they read.
const mostUnrolled = 8

// computedFunction writes the function that packs one panel of a right factor that is computed: the columns from j on, for some values of the reduction.
func computedFunction(p *Product) {
	var used []int
	for i := range p.K.Operands {
		if computed.Reads(p.C.Computed, i) {
			used = append(used, i)
		}
	}
	p.Open("\nstatic void %s_panel(void *const *b%s, int64_t j, int64_t first, int64_t last, %s *to) {", p.Name, p.Coordinates("int64_t "), p.E.W.Stored(p.D))
	point.Pointers(p.Text, p.E, p.K, used)
	p.Line("%s(void)j;", p.Voids())
	loops, step := p.C.Reduction[0].Loops, int64(1)
	if n := p.K.Loops[loops[len(loops)-1]].Extent(); n <= mostUnrolled && p.Target.Copies().Rows%n == 0 && p.Cut.Fold%n == 0 {
		step = n
	}
	p.Open("for (int64_t k = first; k < last; k += %d) {", step)
	axes, inside := slices.Clone(p.Batch), p.C.Reduction[0].Extent
	for i, l := range loops {
		a := point.Axis{Dim: nest.Dim{Loops: []int{l}, Extent: p.K.Loops[l].Extent()}, Variable: fmt.Sprintf("k%d", i)}
		axes = append(axes, a)
		inside /= a.Extent
		if i == len(loops)-1 && step > 1 {
			p.Line("#pragma GCC unroll %d", step)
			p.Open("for (int64_t %s = 0; %s < %d; %s++, to += %d) {", a.Variable, a.Variable, step, a.Variable, p.Panel)
			continue
		}
		text := "k"
		if inside > 1 {
			text = fmt.Sprintf("k / %d", inside)
		}
		if i > 0 {
			text += fmt.Sprintf(" %% %d", a.Extent)
		}
		p.Line("const int64_t %s = %s;", a.Variable, text)
	}
	at := &point.Point{V: p.E.V, K: p.K, Views: p.C.Views, Axes: append(axes, point.Axis{Dim: p.C.Col, Variable: "c"}), Along: len(axes), N: p.N}
	AtEdge(p.Text, "j", p.Panel, p.C.Col.Extent, func(live int64) { p.computedColumns(at, live) })
	if step > 1 {
		p.Close()
	} else {
		p.Line("to += %d;", p.Panel)
	}
	p.Close(2)
}

// computedColumns writes the values of the live columns of a panel at one value of the reduction, and clears the others.
func (p *Product) computedColumns(at *point.Point, live int64) {
	n, t := int64(p.N), p.E.V.Type(p.D, p.N)
	for x := int64(0); x < p.Panel; x += n {
		here := max(0, min(n, live-x))
		if here == 0 {
			p.Line("*(%s *)(to + %d) = (%s){0};", t, x, t)
			continue
		}
		p.Open("{")
		p.Line("const int64_t c = j + %d;", x)
		at.Count = fmt.Sprint(here)
		p.Line("*(%s *)(to + %d) = %s;", t, x, p.E.V.Splat(p.E.V.Expr(p.C.Computed, p.N, at), p.N).Text)
		p.Close()
	}
}
