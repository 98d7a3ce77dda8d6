package cpu

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// span is how many neighbouring places of the last free dimension are computed together, because their folds read the same elements,
// as windows that slide over an image do: those elements, and the filter, are loaded once for all. Sums are what they would be one by
// one. Where a place stands at a border all are computed one by one.
type span struct {
	places int64        // or 0
	fold   *scalar.Expr // the one fold of the kernel
	near   []tile.Affine
	apart  bool // the fold is too long to be written out: that of its outermost dimension is a loop around all places
}

const (
	spanPlaces = 4   // of a span at most
	spanSteps  = 100 // of all folds of a span at most: they are written out
)

// Values of a cell's parameter inside: what is known of the guards of its loads.
const (
	atBorder    = "0" // nothing
	lanesInside = "1" // the lanes are inside
	allInside   = "2" // and so is the place: all guards hold
)

// findSpan decides whether some places are computed together.
func (r *rows) findSpan() span {
	var s span
	if !r.r.Free || len(r.outer) == 0 || len(r.fold) == 0 || len(r.kept) > 0 {
		return span{}
	}
	out := r.fold // that are written out
	if !small(out) {
		s.apart, out = true, r.fold[1:]
		if len(out) == 0 || !small(out) {
			return span{}
		}
	}
	var folds []*scalar.Expr
	for _, x := range r.k.Statements {
		x.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Reduce {
				folds = append(folds, e)
			}
			return e.Op != scalar.Reduce
		})
	}
	if len(folds) != 1 || folds[0].IsAt() {
		return span{}
	}
	if s.fold = folds[0]; s.fold.Type == scalar.Bool || s.fold.Type != s.fold.Type.Wide() || s.fold.Args[0].Type == scalar.Bool || !r.alone(s.fold) {
		return span{}
	}
	steps := int64(1)
	for _, a := range out {
		steps *= a.Extent
	}
	if s.apart && len(r.overLoops(s.fold.Over)) != len(r.fold) {
		return span{}
	}
	last := r.outer[len(r.outer)-1]
	places := min(spanPlaces, last.Extent, spanSteps/steps)
	if places < 2 || !r.slides(s.fold, last) {
		return span{}
	}
	for i := range r.p.ahead {
		if last.Step(r.r.Views[i]) != 0 {
			return span{}
		}
	}
	s.places, s.near = places, r.bordersOf(s.fold)
	return s
}

// alone says whether a fold needs no value of an earlier statement but those that are computed for each of its steps.
func (r *rows) alone(fold *scalar.Expr) bool {
	good := true
	check := func(e *scalar.Expr) bool {
		good = good && (e.Op != scalar.Local || r.wide(e.Ref))
		return good
	}
	fold.Args[0].Walk(check)
	for _, i := range r.needs(fold.Args[0]) {
		r.k.Statements[i].Value.Walk(check)
	}
	return good
}

// slides says whether neighbouring places along an axis read some of the same elements.
func (r *rows) slides(fold *scalar.Expr, last axis) bool {
	found := false
	for i, v := range r.r.Views {
		step := abs(last.Step(v))
		if step == 0 || r.k.Operands[i].Mode != schedule.Read {
			continue
		}
		for _, a := range r.fold {
			if s := abs(a.Step(v)); s != 0 && step%s == 0 && step/s < a.Extent {
				found = true
			}
		}
	}
	return found
}

// bordersOf gives the sums that choices of a fold ask for and that no lane follows: they have to be at least 0.
func (r *rows) bordersOf(fold *scalar.Expr) []tile.Affine {
	var out []tile.Affine
	visit := func(e *scalar.Expr) bool {
		if e.Op != scalar.Where {
			return true
		}
		sums, _ := tile.Borders(e.Args[0])
		for _, a := range sums {
			if a.Factor(r.lane.Inner()) == 0 && !slices.ContainsFunc(out, a.Equal) {
				out = append(out, a)
			}
		}
		return true
	}
	fold.Args[0].Walk(visit)
	for _, i := range r.needs(fold.Args[0]) {
		r.k.Statements[i].Value.Walk(visit)
	}
	return out
}

// interior writes the condition that all places of a span stand inside the borders, whatever the folded loops are.
func (r *rows) interior() string {
	last := r.outer[len(r.outer)-1]
	text := fmt.Sprintf("%s + %d <= %d", last.variable, r.span.places, last.Extent)
	for _, a := range r.span.near {
		least, free := a.Constant, []string{}
		for l, f := range a.Factors {
			x := r.k.Loops[l]
			at := slices.IndexFunc(r.outer, func(o axis) bool { return o.Inner() == l })
			if f == 0 {
				continue
			}
			if at < 0 {
				least += min(f*x.Start, f*(x.End-1))
				continue
			}
			least += f * x.Start
			if at == len(r.outer)-1 && f < 0 {
				least += f * (r.span.places - 1)
			}
			free = append(free, fmt.Sprintf("%s * %s", r.outer[at].variable, number(f)))
		}
		text += fmt.Sprintf(" && %s >= 0", strings.Join(append(free, number(least)), " + "))
	}
	return text
}

// spanCells writes a cell as two functions, of its fold and of the rest, and the function of a span, which first takes all folds: no
// result is written between their loads.
func (r *rows) spanCells(parameters string) {
	e, t := r.span.fold, r.e.v.typ(r.span.fold.Type, r.n)
	open := func(result, name, more string) {
		r.Line("")
		r.Open("TAPC_FN %s k%d_%s(void *const *b%s%s%s) {", result, r.number, name, r.coordinates("int64_t "), parameters, more)
	}
	more := ""
	if r.span.apart {
		more = ", int64_t " + r.fold[0].variable
	}
	open(t, "fold", more)
	r.declare(false)
	r.spanFold(e)
	r.Line("return %s;", r.p.sums[e].text)
	r.Close()
	open("void", "finish", ", "+t+" sum")
	r.declare(true)
	r.p.sums[e] = value{text: "sum", typ: e.Type}
	for i, s := range r.k.Statements {
		r.statement(i, s)
	}
	r.Close()
	arguments := "j, n, inside"
	for _, i := range slices.Sorted(maps.Keys(r.p.ahead)) {
		arguments += fmt.Sprintf(", ahead%d", i)
	}
	open("void", "cell", "")
	r.spanSums(1, arguments)
	r.Line("k%d_finish(b%s, %s, sum0);", r.number, r.coordinates(""), arguments)
	r.Close()
	open("void", "span", "")
	r.spanSums(r.span.places, arguments)
	for u := range r.span.places {
		r.Line("k%d_finish(b%s + %d, %s, sum%d);", r.number, r.coordinates(""), u, arguments, u)
	}
	r.Close()
}

// spanFold writes the fold at a place, or the part of it at a place of its outermost dimension.
func (r *rows) spanFold(e *scalar.Expr) {
	axes, fold := r.p.axes, r.fold
	defer func() { r.p.axes, r.fold, r.p.here, r.p.borders = axes, fold, 0, false }()
	if r.span.apart {
		r.p.axes, r.fold = append(slices.Clone(axes), fold[0]), fold[1:]
	}
	r.p.here, r.p.borders = len(r.p.axes), true
	for _, i := range r.used() {
		if r.k.Operands[i].Mode == schedule.Read && r.p.ahead[i] == "" {
			r.Line("const int64_t q%d = %s;", i, r.p.offset(r.r.Views[i]))
			r.Line("(void)q%d;", i)
		}
	}
	r.foldOf(e)
}

// spanSums declares the folds of some places.
func (r *rows) spanSums(places int64, arguments string) {
	e := r.span.fold
	t := r.e.v.typ(e.Type, r.n)
	call := func(u int64, more string) string {
		at := ""
		if u > 0 {
			at = fmt.Sprintf(" + %d", u)
		}
		return fmt.Sprintf("k%d_fold(b%s%s, %s%s)", r.number, r.coordinates(""), at, arguments, more)
	}
	if !r.span.apart {
		for u := range places {
			r.Line("const %s sum%d = %s;", t, u, call(u, ""))
		}
		return
	}
	first := r.e.v.splat(value{text: r.e.w.Const(scalar.Identity(e.Monoid, e.Type)), typ: e.Type, uniform: true}, r.n)
	for u := range places {
		r.Line("%s sum%d = %s;", t, u, first.text)
	}
	a := r.fold[0]
	r.Open("for (int64_t %s = 0; %s < %d; %s++) {", a.variable, a.variable, a.Extent, a.variable)
	for u := range places {
		r.Line("const %s part%d = %s;", t, u, call(u, ", "+a.variable))
		sum, part := value{text: fmt.Sprintf("sum%d", u), typ: e.Type}, value{text: fmt.Sprintf("part%d", u), typ: e.Type}
		r.Line("sum%d = %s;", u, r.e.v.apply(e.Monoid, e.Type, r.n, []value{sum, part}, false).text)
	}
	r.Close()
}

// spans writes what a thread does with the places of a span: together, or one by one.
func (r *rows) spans(cut bool) {
	last, ahead := r.outer[len(r.outer)-1], r.fetchAhead()
	r.Line("const int64_t places = %d - %s < %d ? %d - %s : %d;", last.Extent, last.variable, r.span.places, last.Extent, last.variable, r.span.places)
	r.Line("const int together = %s;", r.interior())
	r.Line("(void)together;")
	r.vectors(cut, func(j, live, inside string) string {
		alone := fmt.Sprintf("for (int64_t u = 0; u < places; u++) k%d_cell(b%s + u, %s, %s, %s%s);", r.number, r.coordinates(""), j, live, inside, ahead)
		if live != fmt.Sprint(r.n) || r.inside.guarded && inside == atBorder {
			return alone
		}
		return fmt.Sprintf("{ if (together) k%d_span(b%s, %s, %s, %s%s); else %s }", r.number, r.coordinates(""), j, live, allInside, ahead, alone)
	})
}
