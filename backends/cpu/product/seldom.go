package product

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// What few results are computed from besides the sum (nest.Seldom) is in functions of its own, which the vectors' code calls for
// the lanes that need it.

// seldomLanes are the elements of the reduction that are multiplied at once.
const seldomLanes = 8

// seldomFunctions writes them: the value of one result, and of some lanes of a vector.
func seldomFunctions(p *Product, axes []point.Axis, along int) {
	seldomOne(p, axes)
	v := p.E.V.Type(scalar.Float32, p.N)
	p.Open("\nstatic __attribute__((noinline)) %s %s_some(void *const *b%s, int64_t i, int64_t j, %s usual, unsigned lanes) {", v, p.Name, p.Coordinates("int64_t "), v)
	p.Line("float x[%d];", p.N)
	p.Line("__builtin_memcpy(x, &usual, sizeof x);")
	p.Open("for (; lanes; lanes &= lanes - 1) {")
	p.Line("const int lane = __builtin_ctz(lanes);")
	args := ""
	for i, a := range axes {
		args += ", " + a.Variable
		if i == along {
			args += " + lane"
		}
	}
	p.Line("x[lane] = %s_one(b%s);", p.Name, args)
	p.Close()
	p.Line("__builtin_memcpy(&usual, x, sizeof x);")
	p.Line("return usual;")
	p.Close()
}

// seldomOne writes the function of one result. Lanes follow the reduced loop along which the left operand has neighbours.
func seldomOne(p *Product, places []point.Axis) {
	v, s, side := p.E.V, p.Seldom, p.Seldom.Choice.Args[2]
	at := &point.Point{V: v, K: p.K, Views: nest.Views(p.K, p.E.Buffers), N: seldomLanes, Along: len(places) + len(s.Sum.Over) - 1}
	at.Axes = slices.Clone(places)
	for _, l := range reductionOrder(p.K, s.Sum.Over, at.Views[p.C.Left]) {
		at.Axes = append(at.Axes, point.Axis{Dim: nest.Dim{Loops: []int{l}, Extent: p.K.Loops[l].Extent()}, Variable: fmt.Sprintf("f%d", l)})
	}
	p.Line("\n// %s of one result.", cnest.Clip(side.Format(p.K)))
	p.Open("static __attribute__((noinline)) float %s_one(void *const *b%s, int64_t i, int64_t j) {", p.Name, p.Coordinates("int64_t "))
	used := []int{}
	for i := range p.K.Operands {
		if readsIn(side, i) {
			used = append(used, i)
		}
	}
	point.Pointers(p.Text, p.E, p.K, used)
	p.Line("%s(void)i, (void)j;", p.Voids())
	sums := v.Type(scalar.Float64, seldomLanes)
	p.Line("%s sums = {0};", sums)
	for _, a := range at.Axes[len(places):at.Along] {
		p.Open("for (int64_t %s = 0; %s < %d; %s++) {", a.Variable, a.Variable, a.Extent, a.Variable)
	}
	term := func(count int64) string {
		at.Count = fmt.Sprint(count)
		return v.Splat(v.Expr(s.Sum.Args[0], seldomLanes, at), seldomLanes).Text
	}
	inner := at.Axes[at.Along]
	rest := inner.Extent % seldomLanes
	p.Line("int64_t %s = 0;", inner.Variable)
	if inner.Extent >= seldomLanes {
		p.Line("for (; %s + %d <= %d; %s += %d) sums += %s;", inner.Variable, seldomLanes, inner.Extent, inner.Variable, seldomLanes, term(seldomLanes))
	}
	if rest > 0 {
		p.Line("%s last = %s;", sums, term(rest))
		p.Line("for (int lane = %d; lane < %d; lane++) last[lane] = 0;", rest, seldomLanes)
		p.Line("sums += last;")
	}
	p.Close(len(at.Axes[len(places):at.Along]))
	p.Line("double sum = 0;")
	p.Line("for (int lane = 0; lane < %d; lane++) sum += sums[lane];", seldomLanes)
	one := &point.Point{V: v, K: p.K, Views: at.Views, Axes: places, N: 1, Along: -1, Sums: map[*scalar.Expr]vector.Value{s.Sum: {Text: "sum", Type: scalar.Float64, Uniform: true}}}
	p.Line("return %s;", v.Expr(side, 1, one).Text)
	p.Close()
}

// reductionOrder sorts loops by how far a view steps along them, the least last.
func reductionOrder(k *schedule.Kernel, over []int, v nest.View) []int {
	loops := slices.Clone(over)
	slices.SortStableFunc(loops, func(a, b int) int {
		key := func(l int) int64 {
			if k.Loops[l].Extent() == 1 {
				return math.MaxInt64
			}
			return max(v.Steps[l], -v.Steps[l])
		}
		return cmp.Compare(key(b), key(a))
	})
	return loops
}

// readsIn says whether an expression reads an operand.
func readsIn(e *scalar.Expr, operand int) bool {
	return e.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Load && e.Ref == operand })
}

// seldomValue writes a choice whose other side few lanes have.
func seldomValue(p *point.Point, t *cnest.Text, name string, coordinates string, s *nest.Seldom) vector.Value {
	c, usual := p.V.Splat(p.V.Expr(s.Choice.Args[0], p.N, p), p.N), p.V.Splat(p.V.Expr(s.Choice.Args[1], p.N, p), p.N)
	v := p.V.Type(scalar.Float32, p.N)
	t.Line("%s chosen = %s;", v, usual.Text)
	t.Line("const unsigned others = ~%s & ((1u << %s) - 1);", p.V.Bits(p.V.Mask(c, 4, p.N), p.N), p.Count)
	t.Line("if (__builtin_expect(others != 0, 0)) chosen = %s_some(b%s, i, j, chosen, others);", name, coordinates)
	return vector.Value{Text: "chosen", Type: scalar.Float32}
}
