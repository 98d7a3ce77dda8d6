package rows

import (
	"slices"

	"tensortapestry.org/tapc/ir/affine"

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
	last   nest.Dim
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
	if most < 2 || r.few || !r.Free || len(r.Outer) == 0 || len(r.Reduction) == 0 || len(r.kept) > 0 {
		return nil
	}
	s, out := &span{r: r, last: r.Outer[len(r.Outer)-1]}, r.Reduction // that are written out
	if !small(out) {
		s.apart, out = true, r.Reduction[1:]
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
	s.reduce, s.cells = all[0], min(most, s.last.Extent, spanSteps/countOf(out))
	t, body := s.reduce.Type, s.reduce.Args[0]
	switch {
	case t == scalar.Bool || t != t.Wide() || body.Type == scalar.Bool || !s.alone(body):
	case s.apart && len(r.over(s.reduce.Over)) != len(r.Reduction):
	case s.cells < 2 || !s.slides():
	default:
		for i := range r.ahead {
			if s.last.Step(r.Views[i]) != 0 {
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
	return !body.Any(needs) && !slices.ContainsFunc(r.needs(body, nil), func(i int) bool { return r.k.Statements[i].Value.Any(needs) })
}

// slides says whether neighbouring cells read some of the same elements.
func (s *span) slides() bool {
	distance := func(a nest.Dim, v nest.View) int64 { return max(a.Step(v), -a.Step(v)) }
	for i, v := range s.r.Views {
		step := distance(s.last, v)
		if step != 0 && s.r.k.Operands[i].Mode == schedule.Read && slices.ContainsFunc(s.r.Reduction, func(a nest.Dim) bool {
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
	for _, i := range s.r.needs(body, nil) {
		values = append(values, s.r.k.Statements[i].Value)
	}
	for _, x := range values {
		x.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Where {
				sums, _ := affine.Borders(e.Args[0])
				for _, a := range sums {
					if a.Factor(s.r.Lane.Inner()) == 0 && !slices.ContainsFunc(s.near, a.Equal) {
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
			whole = whole && (f == 0 || terms == 1 && least+f*at >= 0)
		}
		if !whole {
			s.border = append(s.border, at)
		}
	}
}

// least gives the least value that a sum has in a span, but for the terms of the outer axes at its first cell, of which there are some.
func (s *span) least(a affine.Sum) (least int64, terms int) {
	var outer []int
	for _, x := range s.r.Outer {
		outer = append(outer, x.Inner())
		if a.Factor(x.Inner()) != 0 {
			terms++
		}
	}
	return a.Least(s.r.k.Space(), outer...) + min(0, a.Factor(s.last.Inner())*(s.cells-1)), terms
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
