package rows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule/affine"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// span is some neighbouring cells along the last outer axis that are computed together, because their reductions read the same elements,
// as windows that slide over an image do: those elements, and the filter, are loaded once for all. Sums are what they would be one by
// one. Where a cell is at a border all are computed one by one.
type span struct {
	r      *Kernel
	cells  int64
	last   point.Axis
	reduce *scalar.Expr // the one reduction of the kernel
	near   []affine.Sum
	apart  bool    // the reduction is too long to be written out: that of its outermost dimension is a loop around all cells
	border []int64 // the first cells of the spans that are at a border along the axis, or are less than whole
}

const (
	spanCells   = 4   // of a span at most
	spanSteps   = 100 // of all reductions of a span at most: they are written out
	borderSpans = 3   // spans at borders that have code of their own at most
)

// findSpan finds how some cells, so many at most, are computed together; nil if they are not.
func (r *Kernel) findSpan(most int64) *span {
	if most < 2 || !r.r.Free || len(r.Outer) == 0 || len(r.reduced) == 0 || len(r.kept) > 0 {
		return nil
	}
	s, out := &span{r: r, last: r.Outer[len(r.Outer)-1]}, r.reduced // that are written out
	if !small(out) {
		s.apart, out = true, r.reduced[1:]
	}
	var all []*scalar.Expr
	for _, x := range r.k.Statements {
		x.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Reduce {
				all = append(all, e)
			}
			return e.Op != scalar.Reduce
		})
	}
	if len(out) == 0 || !small(out) || len(all) != 1 || all[0].IsAt() {
		return nil
	}
	s.reduce, s.cells = all[0], min(most, s.last.Extent, spanSteps/point.Count(out))
	t, body := s.reduce.Type, s.reduce.Args[0]
	switch {
	case t == scalar.Bool || t != t.Wide() || body.Type == scalar.Bool || !s.alone(body):
	case s.apart && len(r.over(s.reduce.Over)) != len(r.reduced):
	case s.cells < 2 || !s.slides():
	default:
		for i := range r.p.Ahead {
			if s.last.Step(r.r.Views[i]) != 0 {
				return nil
			}
		}
		s.findBorders(body)
		return s
	}
	return nil
}

// alone says whether what is reduced needs no value of an earlier statement but those that are computed for each of its steps.
func (s *span) alone(body *scalar.Expr) bool {
	r := s.r
	needs := func(e *scalar.Expr) bool { return e.Op == scalar.Local && !r.wide(e.Ref) }
	return !body.Any(needs) && !slices.ContainsFunc(r.needs(body), func(i int) bool { return r.k.Statements[i].Value.Any(needs) })
}

// slides says whether neighbouring cells read some of the same elements.
func (s *span) slides() bool {
	distance := func(a point.Axis, v nest.View) int64 { return max(a.Step(v), -a.Step(v)) }
	for i, v := range s.r.r.Views {
		step := distance(s.last, v)
		if step != 0 && s.r.k.Operands[i].Mode == schedule.Read && slices.ContainsFunc(s.r.reduced, func(a point.Axis) bool {
			d := distance(a, v)
			return d != 0 && step%d == 0 && step/d < a.Extent
		}) {
			return true
		}
	}
	return false
}

// findBorders finds the sums that choices ask for and that no lane follows, which have to be at least 0, and the spans at borders.
func (s *span) findBorders(body *scalar.Expr) {
	values := []*scalar.Expr{body}
	for _, i := range s.r.needs(body) {
		values = append(values, s.r.k.Statements[i].Value)
	}
	for _, x := range values {
		x.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Where {
				sums, _ := affine.Borders(e.Args[0])
				for _, a := range sums {
					if a.Factor(s.r.lane.Inner()) == 0 && !slices.ContainsFunc(s.near, a.Equal) {
						s.near = append(s.near, a)
					}
				}
			}
			return true
		})
	}
	for at := int64(0); at < s.last.Extent; at += s.cells {
		whole := at+s.cells <= s.last.Extent
		for _, a := range s.near {
			least, terms := s.least(a)
			f := a.Factor(s.last.Inner())
			whole = whole && (f == 0 || len(terms) == 1 && least+f*at >= 0)
		}
		if !whole {
			s.border = append(s.border, at)
		}
	}
}

// least gives the least value that a sum has in a span, but for the terms of the outer axes at its first cell.
func (s *span) least(a affine.Sum) (least int64, terms []string) {
	var outer []int
	for _, x := range s.r.Outer {
		outer = append(outer, x.Inner())
		if f := a.Factor(x.Inner()); f != 0 {
			terms = append(terms, fmt.Sprintf("%s * %s", x.Variable, point.Number(f)))
		}
	}
	least = a.Least(s.r.k, outer...) + min(0, a.Factor(s.last.Inner())*(s.cells-1))
	return least, terms
}

// inside writes the conditions that all cells of a span are inside the borders along its axis, and across it, at any index of the
// reduced loops.
func (s *span) inside() (along, across string) {
	along = fmt.Sprintf("%s + %d <= %d", s.last.Variable, s.cells, s.last.Extent)
	var others []string
	for _, a := range s.near {
		least, terms := s.least(a)
		text := fmt.Sprintf("%s >= 0", strings.Join(append(terms, point.Number(least)), " + "))
		if a.Factor(s.last.Inner()) != 0 {
			along += " && " + text
		} else {
			others = append(others, text)
		}
	}
	return along, strings.Join(others, " && ")
}

// hasInterior says whether there are spans that are at no border along their axis.
func (s *span) hasInterior() bool { return int64(len(s.border)) < s.r.steps(len(s.r.Outer)-1) }

// ownCode gives the first cells of the spans at borders if they are few and there are no others, as in images of few rows: they have code of
// their own, in which the guards along that axis are known.
func (s *span) ownCode() []int64 {
	if len(s.border) > borderSpans || s.hasInterior() {
		return nil
	}
	return s.border
}

// mostlyInside says whether three quarters of all cells or more are at no border across the axis of spans. Where fewer are, spans ask
// the guards across it.
func (s *span) mostlyInside() bool {
	part := 1.0
	for _, a := range s.near {
		least, _ := s.least(a)
		for _, x := range s.r.Outer[:len(s.r.Outer)-1] {
			if f := a.Factor(x.Inner()); f != 0 {
				beyond := max(0, -least) // of the indices, if values grow; else least is the value at the first
				if f < 0 {
					beyond = max(0, x.Extent-1-least/-f)
				}
				part *= 1 - float64(beyond)/float64(x.Extent)
			}
		}
	}
	return part >= 0.75
}

// functions writes a cell as two functions, of its reduction and of the rest, and the function of a span, which first takes all reductions:
// no result is written between their loads.
func (s *span) functions(parameters string) {
	r, e := s.r, s.reduce
	t, coordinates := r.e.V.Type(e.Type, r.p.N), point.Coordinates(r.Outer, "")
	more := ""
	if s.apart {
		more = ", int64_t " + r.reduced[0].Variable
	}
	r.function(t, "fold", parameters+more)
	r.declare(false)
	s.reduction()
	r.Line("return %s;", r.p.Sums[e].Text)
	r.Close()
	r.function("void", "finish", parameters+", "+t+" sum")
	r.declare(true)
	r.p.Sums[e] = vector.Value{Text: "sum", Type: e.Type}
	for i, x := range r.k.Statements {
		r.statement(i, x)
	}
	r.Close()
	arguments := "j, n, inside" + r.ahead(func(int) string { return "" })
	r.function("void", "cell", parameters)
	s.sums(1, arguments)
	r.Line("%s_finish(b%s, %s, sum0);", r.name, coordinates, arguments)
	r.Close()
	sizes := []int64{s.cells}
	if rest := s.last.Extent % s.cells; rest != 0 && len(s.ownCode()) > 0 {
		sizes = append(sizes, rest)
	}
	for _, cells := range sizes {
		r.function("void", fmt.Sprintf("span%d", cells), parameters)
		s.sums(cells, arguments)
		for u := range cells {
			r.Line("%s_finish(b%s + %d, %s, sum%d);", r.name, coordinates, u, arguments, u)
		}
		r.Close()
	}
}

// reduction writes the reduction of a cell, or the part of it at one index of its outermost dimension.
func (s *span) reduction() {
	r := s.r
	axes, reduced := r.p.Axes, r.reduced
	defer func() { r.p.Axes, r.reduced, r.p.Here, r.p.Spanned = axes, reduced, 0, nil }()
	if s.apart {
		r.p.Axes, r.reduced = append(slices.Clone(axes), reduced[0]), reduced[1:]
	}
	r.p.Here, r.p.Spanned = len(r.p.Axes), &s.last
	for _, i := range r.used() {
		if r.k.Operands[i].Mode == schedule.Read && r.p.Ahead[i] == "" {
			r.Line("const int64_t q%d = %s;", i, r.p.Offset(r.r.Views[i]))
			r.Line("(void)q%d;", i)
		}
	}
	r.reduce(s.reduce)
}

// sums declares the reductions of some cells. Along an outermost dimension that is apart, they are sums of blocks, as those of a sweep.
func (s *span) sums(cells int64, arguments string) {
	r := s.r
	each := func(name, more string) {
		for u := range cells {
			at := ""
			if u > 0 {
				at = fmt.Sprintf(" + %d", u)
			}
			r.Line("const %s %s%d = %s_fold(b%s%s, %s%s);", r.e.V.Type(s.reduce.Type, r.p.N), name, u, r.name, point.Coordinates(r.Outer, ""), at, arguments, more)
		}
	}
	if !s.apart {
		each("sum", "")
		return
	}
	a := r.reduced[0]
	w := &sweep{r: r, body: s.reduce.Args[0], reduce: s.reduce, name: "sum", unroll: cells, acc: vector.Value{Type: s.reduce.Type}}
	w.accumulators(w.name)
	w.blocks(a.Variable, a.Extent, 1, w.name, func(acc string) {
		each("part", ", "+a.Variable)
		for u := range cells {
			sum, part := vector.Value{Text: fmt.Sprintf("%s[%d]", acc, u), Type: s.reduce.Type}, vector.Value{Text: fmt.Sprintf("part%d", u), Type: s.reduce.Type}
			r.Line("%s = %s;", sum.Text, r.e.V.Apply(s.reduce.Monoid, s.reduce.Type, r.p.N, []vector.Value{sum, part}, false).Text)
		}
	})
	for u := range cells {
		r.Line("const %s sum%d = sum[%d];", r.e.V.Type(s.reduce.Type, r.p.N), u, u)
	}
}

// calls writes what a thread does with the cells of a span: together, or one by one.
func (s *span) calls(cut bool) {
	r, last := s.r, s.last
	ahead := r.readAhead()
	r.Line("const int64_t places = %d - %s < %d ? %d - %s : %d;", last.Extent, last.Variable, s.cells, last.Extent, last.Variable, s.cells)
	along, across := s.inside()
	r.Line("const int along = %s;", along)
	r.Line("const int across = %s;", cmp.Or(across, "1"))
	r.Line("(void)along, (void)across;")
	before := point.Coordinates(r.Outer[:len(r.Outer)-1], "")
	r.vectors(cut, func(j, live, inside string) string {
		alone := fmt.Sprintf("for (int64_t u = 0; u < places; u++) %s_cell(b%s, %s + u, %s, %s, %s%s);", r.name, before, last.Variable, j, live, inside, ahead)
		if live != fmt.Sprint(r.p.N) && !r.someLanes(r.p.N) || r.interior.guarded && inside == point.AtBorder {
			return alone
		}
		text := "{ "
		where := func(condition string, cells int64, at, inside string) {
			text += fmt.Sprintf("if (%s) %s_span%d(b%s, %s, %s, %s, %s%s); else ", condition, r.name, cells, before, at, j, live, inside, ahead)
		}
		switch {
		case !s.hasInterior():
		case across == "" || s.mostlyInside():
			where("along && across", s.cells, last.Variable, point.AllInside)
		default:
			where("along", s.cells, last.Variable, point.AlongInside)
		}
		for _, at := range s.ownCode() {
			where(fmt.Sprintf("%s == %d", last.Variable, at), min(s.cells, last.Extent-at), fmt.Sprint(at), point.LanesInside)
		}
		return text + alone + " }"
	})
}
