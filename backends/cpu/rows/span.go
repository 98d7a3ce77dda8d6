package rows

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// span is how many neighbouring places of the last free dimension are computed together, because their folds read the same elements,
// as windows that slide over an image do: those elements, and the filter, are loaded once for all. Sums are what they would be one by
// one. Where a place stands at a border all are computed one by one.
type span struct {
	places int64        // or 0
	fold   *scalar.Expr // the one fold of the kernel
	near   []nest.Affine
	apart  bool // the fold is too long to be written out: that of its outermost dimension is a loop around all places
}

const (
	spanPlaces = 4   // of a span at most
	spanSteps  = 100 // of all folds of a span at most: they are written out
)

// findSpan decides whether some places are computed together.
func (r *Kernel) findSpan() span {
	var s span
	if !r.r.Free || len(r.Outer) == 0 || len(r.fold) == 0 || len(r.kept) > 0 {
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
	last := r.Outer[len(r.Outer)-1]
	places := min(spanPlaces, last.Extent, spanSteps/steps)
	if places < 2 || !r.slides(s.fold, last) {
		return span{}
	}
	for i := range r.p.Ahead {
		if last.Step(r.r.Views[i]) != 0 {
			return span{}
		}
	}
	s.places, s.near = places, r.bordersOf(s.fold)
	return s
}

// alone says whether a fold needs no value of an earlier statement but those that are computed for each of its steps.
func (r *Kernel) alone(fold *scalar.Expr) bool {
	needs := func(e *scalar.Expr) bool { return e.Op == scalar.Local && !r.wide(e.Ref) }
	return !fold.Args[0].Any(needs) && !slices.ContainsFunc(r.needs(fold.Args[0]), func(i int) bool { return r.k.Statements[i].Value.Any(needs) })
}

// slides says whether neighbouring places along an axis read some of the same elements.
func (r *Kernel) slides(fold *scalar.Expr, last point.Axis) bool {
	found := false
	for i, v := range r.r.Views {
		step := max(last.Step(v), -last.Step(v))
		if step == 0 || r.k.Operands[i].Mode != schedule.Read {
			continue
		}
		for _, a := range r.fold {
			if s := max(a.Step(v), -a.Step(v)); s != 0 && step%s == 0 && step/s < a.Extent {
				found = true
			}
		}
	}
	return found
}

// bordersOf gives the sums that choices of a fold ask for and that no lane follows: they have to be at least 0.
func (r *Kernel) bordersOf(fold *scalar.Expr) []nest.Affine {
	var out []nest.Affine
	visit := func(e *scalar.Expr) bool {
		if e.Op != scalar.Where {
			return true
		}
		sums, _ := nest.Borders(e.Args[0])
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

// interior writes the conditions that all places of a span stand inside the borders along its axis, and across it, whatever the
// folded loops are.
func (r *Kernel) interior() (along, across string) {
	last := r.Outer[len(r.Outer)-1]
	along = fmt.Sprintf("%s + %d <= %d", last.Variable, r.span.places, last.Extent)
	for _, a := range r.span.near {
		least, free := r.leastOf(a)
		text := fmt.Sprintf("%s >= 0", strings.Join(append(free, point.Number(least)), " + "))
		switch {
		case a.Factor(last.Inner()) != 0:
			along += " && " + text
		case across != "":
			across += " && " + text
		default:
			across = text
		}
	}
	return along, across
}

// leastOf gives the least value that a sum has in a span, but for the terms of the outer axes at its first place.
func (r *Kernel) leastOf(a nest.Affine) (least int64, terms []string) {
	least = a.Constant
	for l, f := range a.Factors {
		x := r.k.Loops[l]
		at := slices.IndexFunc(r.Outer, func(o point.Axis) bool { return o.Inner() == l })
		if f == 0 {
			continue
		}
		if at < 0 {
			least += min(f*x.Start, f*(x.End-1))
			continue
		}
		least += f * x.Start
		if at == len(r.Outer)-1 && f < 0 {
			least += f * (r.span.places - 1)
		}
		terms = append(terms, fmt.Sprintf("%s * %s", r.Outer[at].Variable, point.Number(f)))
	}
	return least, terms
}

// borderSpans is how many spans at borders have code of their own at most.
const borderSpans = 3

// atBorders gives the first places of the spans that stand at a border along their axis, or are less than whole.
func (r *Kernel) atBorders() (places []int64) {
	last := r.Outer[len(r.Outer)-1]
	for at := int64(0); at < last.Extent; at += r.span.places {
		whole := at+r.span.places <= last.Extent
		for _, a := range r.span.near {
			least, terms := r.leastOf(a)
			f := a.Factor(last.Inner())
			whole = whole && (f == 0 || len(terms) == 1 && least+f*at >= 0)
		}
		if !whole {
			places = append(places, at)
		}
	}
	return places
}

// borderPlaces gives those if they are few and there are no others, as in images of few rows: they have code of their own, in which the
// guards along that axis are known.
func (r *Kernel) borderPlaces() []int64 {
	places := r.atBorders()
	if len(places) > borderSpans || r.spanInside() {
		return nil
	}
	return places
}

// spanInside says whether there are spans that stand at no border along their axis.
func (r *Kernel) spanInside() bool { return int64(len(r.atBorders())) < r.placesOf(len(r.Outer)-1) }

// mostlyInside says whether three quarters of all places or more stand at no border across the axis of spans. Where fewer do, spans ask
// the guards across it.
func (r *Kernel) mostlyInside() bool {
	share := 1.0
	for _, a := range r.span.near {
		least, _ := r.leastOf(a)
		for _, x := range r.Outer[:len(r.Outer)-1] {
			if f := a.Factor(x.Inner()); f != 0 {
				beyond := max(0, -least) // of places in a row, if values grow; else least is the value at the first place
				if f < 0 {
					beyond = max(0, x.Extent-1-least/-f)
				}
				share *= 1 - float64(beyond)/float64(x.Extent)
			}
		}
	}
	return share >= 0.75
}

// spanCells writes a cell as two functions, of its fold and of the rest, and the function of a span, which first takes all folds: no
// result is written between their loads.
func (r *Kernel) spanCells(parameters string) {
	e, t := r.span.fold, r.e.V.Type(r.span.fold.Type, r.n)
	open := func(result, name, more string) {
		r.Open("\nTAPC_FN %s %s_%s(void *const *b%s%s%s) {", result, r.name, name, point.Coordinates(r.Outer, "int64_t "), parameters, more)
	}
	more := ""
	if r.span.apart {
		more = ", int64_t " + r.fold[0].Variable
	}
	open(t, "fold", more)
	r.declare(false)
	r.spanFold(e)
	r.Line("return %s;", r.p.Sums[e].Text)
	r.Close()
	open("void", "finish", ", "+t+" sum")
	r.declare(true)
	r.p.Sums[e] = vector.Value{Text: "sum", Type: e.Type}
	for i, s := range r.k.Statements {
		r.statement(i, s)
	}
	r.Close()
	arguments := "j, n, inside"
	for _, i := range slices.Sorted(maps.Keys(r.p.Ahead)) {
		arguments += fmt.Sprintf(", ahead%d", i)
	}
	open("void", "cell", "")
	r.spanSums(1, arguments)
	r.Line("%s_finish(b%s, %s, sum0);", r.name, point.Coordinates(r.Outer, ""), arguments)
	r.Close()
	for _, places := range r.spanSizes() {
		open("void", fmt.Sprintf("span%d", places), "")
		r.spanSums(places, arguments)
		for u := range places {
			r.Line("%s_finish(b%s + %d, %s, sum%d);", r.name, point.Coordinates(r.Outer, ""), u, arguments, u)
		}
		r.Close()
	}
}

// spanSizes gives how many places spans have that have a function.
func (r *Kernel) spanSizes() []int64 {
	sizes := []int64{r.span.places}
	if rest := r.Outer[len(r.Outer)-1].Extent % r.span.places; rest != 0 && len(r.borderPlaces()) > 0 {
		sizes = append(sizes, rest)
	}
	return sizes
}

// spanFold writes the fold at a place, or the part of it at a place of its outermost dimension.
func (r *Kernel) spanFold(e *scalar.Expr) {
	axes, fold := r.p.Axes, r.fold
	defer func() { r.p.Axes, r.fold, r.p.Here, r.p.Spanned = axes, fold, 0, nil }()
	if r.span.apart {
		r.p.Axes, r.fold = append(slices.Clone(axes), fold[0]), fold[1:]
	}
	r.p.Here, r.p.Spanned = len(r.p.Axes), &r.Outer[len(r.Outer)-1]
	for _, i := range r.used() {
		if r.k.Operands[i].Mode == schedule.Read && r.p.Ahead[i] == "" {
			r.Line("const int64_t q%d = %s;", i, r.p.Offset(r.r.Views[i]))
			r.Line("(void)q%d;", i)
		}
	}
	r.foldOf(e)
}

// spanSums declares the folds of some places.
func (r *Kernel) spanSums(places int64, arguments string) {
	e := r.span.fold
	t := r.e.V.Type(e.Type, r.n)
	call := func(u int64, more string) string {
		at := ""
		if u > 0 {
			at = fmt.Sprintf(" + %d", u)
		}
		return fmt.Sprintf("%s_fold(b%s%s, %s%s)", r.name, point.Coordinates(r.Outer, ""), at, arguments, more)
	}
	if !r.span.apart {
		for u := range places {
			r.Line("const %s sum%d = %s;", t, u, call(u, ""))
		}
		return
	}
	first := r.e.V.Splat(vector.Value{Text: r.e.W.Const(scalar.Identity(e.Monoid, e.Type)), Type: e.Type, Uniform: true}, r.n)
	for u := range places {
		r.Line("%s sum%d = %s;", t, u, first.Text)
	}
	a := r.fold[0]
	r.Open("for (int64_t %s = 0; %s < %d; %s++) {", a.Variable, a.Variable, a.Extent, a.Variable)
	for u := range places {
		r.Line("const %s part%d = %s;", t, u, call(u, ", "+a.Variable))
		sum, part := vector.Value{Text: fmt.Sprintf("sum%d", u), Type: e.Type}, vector.Value{Text: fmt.Sprintf("part%d", u), Type: e.Type}
		r.Line("sum%d = %s;", u, r.e.V.Apply(e.Monoid, e.Type, r.n, []vector.Value{sum, part}, false).Text)
	}
	r.Close()
}

// spans writes what a thread does with the places of a span: together, or one by one.
func (r *Kernel) spans(cut bool) {
	last, ahead := r.Outer[len(r.Outer)-1], r.fetchAhead()
	r.Line("const int64_t places = %d - %s < %d ? %d - %s : %d;", last.Extent, last.Variable, r.span.places, last.Extent, last.Variable, r.span.places)
	along, across := r.interior()
	r.Line("const int along = %s;", along)
	r.Line("const int across = %s;", cmp.Or(across, "1"))
	r.Line("(void)along, (void)across;")
	before := strings.TrimSuffix(point.Coordinates(r.Outer, ""), last.Variable)
	r.vectors(cut, func(j, live, inside string) string {
		alone := fmt.Sprintf("for (int64_t u = 0; u < places; u++) %s_cell(b%s + u, %s, %s, %s%s);", r.name, point.Coordinates(r.Outer, ""), j, live, inside, ahead)
		if live != fmt.Sprint(r.n) && !r.someLanes(r.n) || r.inside.guarded && inside == point.AtBorder {
			return alone
		}
		span := func(places int64, at, inside string) string {
			return fmt.Sprintf("%s_span%d(b%s%s, %s, %s, %s%s);", r.name, places, before, at, j, live, inside, ahead)
		}
		text := "{ "
		switch most := r.mostlyInside(); {
		case !r.spanInside():
		case across == "" || most:
			text += fmt.Sprintf("if (along && across) %s else ", span(r.span.places, last.Variable, point.AllInside))
		default:
			text += fmt.Sprintf("if (along) %s else ", span(r.span.places, last.Variable, point.AlongInside))
		}
		for _, at := range r.borderPlaces() {
			text += fmt.Sprintf("if (%s == %d) %s else ", last.Variable, at, span(min(r.span.places, last.Extent-at), fmt.Sprint(at), point.LanesInside))
		}
		return text + alone + " }"
	})
}
