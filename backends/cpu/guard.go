package cpu

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// Guarded writes a load under a guard that lanes differ in. The places where a guard holds have none between them where it does
// not, so the lanes that are read are neighbours: those from low on, up to high.
func (p *point) Guarded(e *scalar.Expr) (vector.Value, bool) {
	if p.along < 0 || e.Type == scalar.Bool {
		return vector.Value{}, false
	}
	if x, ok := p.chosen(e); ok {
		return x, true
	}
	if e.Op == scalar.Where && !usesAny(p.axes[p.along].Loops, e.Args[0]) {
		return p.steady(e)
	}
	sums, ok := nest.Guards(e)
	if !ok {
		return vector.Value{}, false
	}
	ref, lane := e.Args[1].Ref, p.axes[p.along].Inner()
	if p.axes[p.along].Step(p.views[ref]) != 1 || slices.ContainsFunc(sums, func(a nest.Affine) bool { return max(a.Factor(lane), -a.Factor(lane)) > 1 }) {
		return p.laneByLane(e), true
	}
	var same []nest.Affine
	low, high := "0", p.count
	for _, a := range sums {
		switch text := p.affine(a); a.Factor(lane) {
		case 1:
			low = p.v.Extent("most", low, "-("+text+")")
		case -1:
			high = p.v.Extent("least", high, text+" + 1")
		default:
			same = append(same, a)
		}
	}
	fill := p.v.W.Const(e.Args[2].Value)
	all := p.v.Splat(vector.Value{Text: fill, Type: e.Type, Uniform: true}, p.n).Text
	text := p.v.Of(e.Type, p.n).Part(p.address(ref), low, high, all)
	if p.inside != "" {
		text = fmt.Sprintf("(%s ? %s : %s)", p.inside, p.Load(ref).Text, text)
	}
	if len(same) > 0 {
		text = fmt.Sprintf("(%s ? %s : %s)", p.hold(same), text, all)
	}
	if len(same) > 0 && p.spanned != nil {
		text = fmt.Sprintf("(%s == %s ? %s : %s)", p.inside, allInside, p.Load(ref).Text, text)
	}
	return vector.Value{Text: text, Type: e.Type}, true
}

// hold writes the condition that sums are at least 0, some of which may be known of all places of a span.
func (p *point) hold(sums []nest.Affine) string {
	var along, across []string
	for _, a := range sums {
		text := fmt.Sprintf("%s >= 0", p.affine(a))
		if p.spanned != nil && a.Factor(p.spanned.Inner()) != 0 {
			along = append(along, text)
		} else {
			across = append(across, text)
		}
	}
	if len(along) > 0 {
		across = append(across, fmt.Sprintf("(%s == %s || (%s))", p.inside, alongInside, strings.Join(along, " && ")))
	}
	return strings.Join(across, " && ")
}

// chosen writes what a choice chooses in the part of a row that the code is for, if that is known.
func (p *point) chosen(e *scalar.Expr) (vector.Value, bool) {
	if p.part == nil || e.Op != scalar.Where {
		return vector.Value{}, false
	}
	from, to, ok := nest.Interval(p.k, p.axes[p.along].Inner(), e.Args[0])
	switch {
	case !ok:
	case from <= p.part.from && p.part.to <= to:
		return p.v.Expr(e.Args[1], p.n, p), true
	case to <= p.part.from || p.part.to <= from:
		return p.v.Expr(e.Args[2], p.n, p), true
	}
	return vector.Value{}, false
}

// steady writes a choice whose condition is the same for all lanes, if it may be known elsewhere that it holds.
func (p *point) steady(e *scalar.Expr) (vector.Value, bool) {
	sums, ok := nest.Borders(e.Args[0])
	if !ok || p.spanned == nil {
		return vector.Value{}, false
	}
	args, uniform := make([]vector.Value, len(e.Args)), true
	for i, a := range e.Args {
		args[i] = p.v.Expr(a, p.n, p)
		uniform = uniform && args[i].Uniform
	}
	args[0].Text = fmt.Sprintf("(%s == %s || (%s))", p.inside, allInside, p.hold(sums))
	return p.v.Apply(scalar.Where, e.Type, p.n, args, uniform), true
}

// affine writes the value of a sum of loop values at the first lane.
func (p *point) affine(a nest.Affine) string {
	constant := a.Constant
	var terms []string
	for l, f := range a.Factors {
		if f == 0 {
			continue
		}
		constant += f * p.k.Loops[l].Start
		for _, x := range p.axes {
			switch {
			case x.Inner() != l:
			case f == 1:
				terms = append(terms, x.variable)
			default:
				terms = append(terms, fmt.Sprintf("%s * %s", x.variable, number(f)))
			}
		}
	}
	return strings.Join(append(terms, number(constant)), " + ")
}

// laneByLane writes a guarded load whose lanes are not neighbours: if the guard holds for the first lane and the last it holds for
// all, and they are gathered; else each is asked.
func (p *point) laneByLane(e *scalar.Expr) vector.Value {
	ref := e.Args[1].Ref
	d, step := e.Type, p.axes[p.along].Step(p.views[ref])
	lane := *p
	lane.axes, lane.here = slices.Clone(p.axes), 0
	at := func(offset string) string {
		lane.axes[p.along].variable = fmt.Sprintf("(%s + %s)", p.axes[p.along].variable, offset)
		lane.along = -1
		return p.v.Expr(e.Args[0], p.n, &lane).Text
	}
	t := p.v.Type(d, p.n)
	whole := p.Load(ref)
	first, last := at("0"), at(fmt.Sprintf("(%s) - 1", p.count))
	inside := at("l")
	element := lane.Load(ref).Text
	if step == 0 {
		whole = p.v.Splat(whole, p.n)
	}
	text := fmt.Sprintf("((%s & %s) ? %s : ({ %s r = {0}; for (int l = 0; l < %s; l++) r[l] = %s ? %s : %s; r; }))",
		first, last, whole.Text, t, p.count, inside, element, p.v.W.Const(e.Args[2].Value))
	return vector.Value{Text: text, Type: d}
}
