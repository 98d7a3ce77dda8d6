package tree

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// tasks are the iterations of a loop of threads.
type tasks struct {
	env  *env
	loop *For
}

// digit is a part of the number of a task: (number / Unit) mod Range, Range being 0 for all of the quotient. Shift tells what is added to the quotient before.
type digit struct {
	unit, size int64
	shift      string
}

// digitOf reads an index as a part of the number of a task.
func (t *tasks) digitOf(x *Index) (digit, bool) {
	if x.op == variable {
		return digit{unit: 1}, x.v == t.loop.Var
	}
	if x.op != div && x.op != mod {
		return digit{}, false
	}
	l, at := x.a.linear(), -1
	for i, y := range l.terms {
		if y.atom.Uses(t.loop.Var) {
			if at >= 0 || y.times != 1 {
				return digit{}, false
			}
			at = i
		}
	}
	if at < 0 {
		return digit{}, false
	}
	d, ok := t.digitOf(l.terms[at].atom)
	rest := l.plus(l.terms[at].atom.linear(), -1)
	if !ok || d.size != 0 {
		return d, false
	}
	if len(rest.terms) > 0 || rest.n != 0 {
		d.shift += rest.String()
	}
	if x.op == div {
		d.unit *= x.n
	} else {
		d.size = x.n
	}
	return d, true
}

// placement is an index in terms of the number of a task: multiples of parts of it, what is the same for all tasks, and what else is added, from and to.
type placement struct {
	parts []term
	fixed linear
	rest  Interval
}

func (t *tasks) placed(x *Index) (p placement, ok bool) {
	l, rest := x.linear(), Interval{}
	inside := t.env.order[slices.Index(t.env.order, t.loop.Var)+1:]
	for _, y := range slices.Backward(inside) {
		f, times := t.env.facts[y], l.of(y)
		if times == 0 || f.base == nil {
			continue
		}
		l = l.plus(Use(y).linear(), -times).plus(f.base.linear(), times)
		more, ok1 := f.rest.times(times)
		sum, ok2 := rest.plus(more)
		if !ok1 || !ok2 {
			return p, false
		}
		rest = sum
	}
	rest, ok = rest.plus(Interval{l.n, l.n, 0})
	for _, x := range l.terms {
		if _, ok := t.digitOf(x.atom); ok {
			p.parts = append(p.parts, x)
			continue
		}
		if !x.atom.Uses(t.loop.Var) && !slices.ContainsFunc(inside, x.atom.Uses) {
			p.fixed.terms = append(p.fixed.terms, x)
			continue
		}
		i, ok1 := t.env.of(x.atom)
		i, ok2 := i.times(x.times)
		sum, ok3 := rest.plus(i)
		if !ok1 || !ok2 || !ok3 {
			return p, false
		}
		rest = sum
	}
	p.rest = rest
	return p, ok
}

// apart says why tasks may write elements of the same box, "" if they do not: the coordinates of where it begins have in them all parts of the number of a
// task, each with room for what is added to it: a mixed radix.
func (t *tasks) apart(b Box) string {
	if t.loop == nil || t.loop.Trips() <= 1 {
		return ""
	}
	var all []digit
	for d, dim := range b.Memory.Dims {
		if dim.Stride == 0 {
			continue
		}
		from, ok := t.placed(b.From[d])
		to, known := t.reach(b.To[d], from)
		if !ok || !known {
			continue // nothing is known of it
		}
		slices.SortFunc(from.parts, func(a, b term) int { return cmp.Compare(a.times, b.times) })
		room := to - from.rest.Low
		for _, x := range from.parts {
			part, _ := t.digitOf(x.atom)
			if x.times < room {
				break
			}
			all = append(all, part)
			if room = math.MaxInt64; part.size > 0 {
				room = x.times * part.size
			}
		}
	}
	slices.SortFunc(all, func(a, b digit) int { return cmp.Compare(a.unit, b.unit) })
	next, shift := int64(1), ""
	for _, d := range all {
		switch {
		case d.unit < next && d.size > 0 && d.unit*d.size <= next:
			continue // a second time
		case d.unit != next || shift != "" && d.shift != shift:
			return fmt.Sprintf("nothing tells tasks %d apart", next)
		case d.size == 0:
			return ""
		}
		next, shift = d.unit*d.size, d.shift
	}
	if next < t.loop.Trips() {
		return fmt.Sprintf("nothing tells tasks %d apart", next)
	}
	return ""
}

// reach is how far behind what is the same in a placement an index lies at most: the end of a box that begins there. No box ends behind either of
// two of which its end is the lesser.
func (t *tasks) reach(end *Index, from placement) (int64, bool) {
	if f := t.env.facts[end.v]; end.op == variable && f.named {
		end = f.base
	}
	if end.op == least {
		a, ok := t.reach(end.a, from)
		if b, other := t.reach(end.b, from); other && (!ok || b < a) {
			return b, true
		}
		return a, ok
	}
	to, ok := t.placed(end)
	same := from.fixed.String() == to.fixed.String() && (linear{terms: from.parts}).String() == (linear{terms: to.parts}).String()
	return to.rest.High, ok && same
}
