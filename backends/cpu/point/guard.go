package point

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule/affine"

	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// Values of a cell's parameter inside: what is known of the guards of its loads.
const (
	AtBorder    = "0" // nothing
	LanesInside = "1" // the lanes are inside
	AllInside   = "2" // and so is the place: all guards hold
	AlongInside = "3" // and so are all places of the span along its axis
)

// Guarded writes a load under a guard that lanes differ in. The places where a guard holds have none between them where it does
// not, so the lanes that are read are neighbours: those from low on, up to high.
func (p *Point) Guarded(e *scalar.Expr) (vector.Value, bool) {
	if p.Along < 0 || e.Type == scalar.Bool {
		return vector.Value{}, false
	}
	if x, ok := p.chosen(e); ok {
		return x, true
	}
	if e.Op == scalar.Where && !UsesAny(p.Axes[p.Along].Loops, e.Args[0]) {
		return p.steady(e)
	}
	sums, ok := affine.Guards(e)
	if !ok {
		return vector.Value{}, false
	}
	ref, lane := e.Args[1].Ref, p.Axes[p.Along].Inner()
	if p.Axes[p.Along].Step(p.Views[ref]) != 1 || slices.ContainsFunc(sums, func(a affine.Sum) bool { return max(a.Factor(lane), -a.Factor(lane)) > 1 }) {
		return p.laneByLane(e), true
	}
	var same []affine.Sum
	low, high := "0", p.Count
	for _, a := range sums {
		switch text := p.affine(a); a.Factor(lane) {
		case 1:
			low = p.V.Extent("most", low, "-("+text+")")
		case -1:
			high = p.V.Extent("least", high, text+" + 1")
		default:
			same = append(same, a)
		}
	}
	fill := p.V.W.Const(e.Args[2].Value)
	all := p.V.Splat(vector.Value{Text: fill, Type: e.Type, Uniform: true}, p.N).Text
	text := p.V.Of(e.Type, p.N).Part(p.address(ref), low, high, all)
	if p.Inside != "" {
		text = fmt.Sprintf("(%s ? %s : %s)", p.Inside, p.Load(ref).Text, text)
	}
	if len(same) > 0 {
		text = fmt.Sprintf("(%s ? %s : %s)", p.hold(same), text, all)
	}
	if len(same) > 0 && p.Spanned != nil {
		text = fmt.Sprintf("(%s == %s ? %s : %s)", p.Inside, AllInside, p.Load(ref).Text, text)
	}
	return vector.Value{Text: text, Type: e.Type}, true
}

// hold writes the condition that sums are at least 0, some of which may be known of all places of a span.
func (p *Point) hold(sums []affine.Sum) string {
	var along, across []string
	for _, a := range sums {
		text := fmt.Sprintf("%s >= 0", p.affine(a))
		if p.Spanned != nil && a.Factor(p.Spanned.Inner()) != 0 {
			along = append(along, text)
		} else {
			across = append(across, text)
		}
	}
	if len(along) > 0 {
		across = append(across, fmt.Sprintf("(%s == %s || (%s))", p.Inside, AlongInside, strings.Join(along, " && ")))
	}
	return strings.Join(across, " && ")
}

// chosen writes what a choice chooses in the part of a row that the code is for, if that is known.
func (p *Point) chosen(e *scalar.Expr) (vector.Value, bool) {
	if p.Part == nil || e.Op != scalar.Where {
		return vector.Value{}, false
	}
	from, to, ok := nest.Interval(p.K, p.Axes[p.Along].Inner(), e.Args[0])
	switch {
	case !ok:
	case from <= p.Part.From && p.Part.To <= to:
		return p.V.Expr(e.Args[1], p.N, p), true
	case to <= p.Part.From || p.Part.To <= from:
		return p.V.Expr(e.Args[2], p.N, p), true
	}
	return vector.Value{}, false
}

// steady writes a choice whose condition is the same for all lanes, if it may be known elsewhere that it holds.
func (p *Point) steady(e *scalar.Expr) (vector.Value, bool) {
	sums, ok := affine.Borders(e.Args[0])
	if !ok || p.Spanned == nil {
		return vector.Value{}, false
	}
	args, uniform := make([]vector.Value, len(e.Args)), true
	for i, a := range e.Args {
		args[i] = p.V.Expr(a, p.N, p)
		uniform = uniform && args[i].Uniform
	}
	args[0].Text = fmt.Sprintf("(%s == %s || (%s))", p.Inside, AllInside, p.hold(sums))
	return p.V.Apply(scalar.Where, e.Type, p.N, args, uniform), true
}

// affine writes the value of a sum of loop values at the first lane.
func (p *Point) affine(a affine.Sum) string {
	constant := a.Constant
	var terms []string
	for l, f := range a.Factors {
		if f == 0 {
			continue
		}
		constant += f * p.K.Loops[l].Start
		for _, x := range p.Axes {
			switch {
			case x.Inner() != l:
			case f == 1:
				terms = append(terms, x.Variable)
			default:
				terms = append(terms, fmt.Sprintf("%s * %s", x.Variable, Number(f)))
			}
		}
	}
	return strings.Join(append(terms, Number(constant)), " + ")
}

// laneByLane writes a guarded load whose lanes are not neighbours: if the guard holds for the first lane and the last it holds for
// all, and they are gathered; else each is asked.
func (p *Point) laneByLane(e *scalar.Expr) vector.Value {
	ref := e.Args[1].Ref
	d, step := e.Type, p.Axes[p.Along].Step(p.Views[ref])
	lane := *p
	lane.Axes, lane.Here = slices.Clone(p.Axes), 0
	at := func(offset string) string {
		lane.Axes[p.Along].Variable = fmt.Sprintf("(%s + %s)", p.Axes[p.Along].Variable, offset)
		lane.Along = -1
		return p.V.Expr(e.Args[0], p.N, &lane).Text
	}
	t := p.V.Type(d, p.N)
	whole := p.Load(ref)
	first, last := at("0"), at(fmt.Sprintf("(%s) - 1", p.Count))
	inside := at("l")
	element := lane.Load(ref).Text
	if step == 0 {
		whole = p.V.Splat(whole, p.N)
	}
	text := fmt.Sprintf("((%s & %s) ? %s : ({ %s r = {0}; for (int l = 0; l < %s; l++) r[l] = %s ? %s : %s; r; }))",
		first, last, whole.Text, t, p.Count, inside, element, p.V.W.Const(e.Args[2].Value))
	return vector.Value{Text: text, Type: d}
}
