package tree

import (
	"math"
	"slices"
)

// Interval is the integers Low, Low + Step, ... up to High, which is one of them. Step is 0 if there is one, else positive.
type Interval struct{ Low, High, Step int64 }

func interval(low, high, step int64) Interval {
	if low == high || step == 0 {
		return Interval{low, low, 0}
	}
	return Interval{low, low + (high-low)/step*step, step}
}

// below gives those less than a limit; ok is false if there are none.
func (i Interval) below(limit int64) (_ Interval, ok bool) {
	if i.Low >= limit {
		return i, false
	}
	return interval(i.Low, min(i.High, limit-1), i.Step), true
}

// from gives those that are at least a limit; ok is false if there are none.
func (i Interval) from(limit int64) (_ Interval, ok bool) {
	if i.High < limit {
		return i, false
	}
	if i.Low < limit {
		i.Low += (limit - i.Low + i.Step - 1) / i.Step * i.Step
	}
	return interval(i.Low, i.High, i.Step), true
}

// within says whether all values are at least low and less than high.
func (i Interval) within(low, high int64) bool { return i.Low >= low && i.High < high }

func (i Interval) plus(j Interval) (Interval, bool) {
	lo, ok1 := addExact(i.Low, j.Low)
	hi, ok2 := addExact(i.High, j.High)
	return Interval{lo, hi, gcd(i.Step, j.Step)}, ok1 && ok2
}

func (i Interval) times(n int64) (Interval, bool) {
	lo, ok1 := mulExact(i.Low, n)
	hi, ok2 := mulExact(i.High, n)
	step, ok3 := mulExact(i.Step, max(n, -n))
	return interval(min(lo, hi), max(lo, hi), step), ok1 && ok2 && ok3
}

// by gives the products of values of both.
func (i Interval) by(j Interval) (Interval, bool) {
	a, ok1 := i.times(j.Low)
	b, ok2 := i.times(j.High)
	return interval(min(a.Low, b.Low), max(a.High, b.High), 1), ok1 && ok2
}

func (i Interval) div(n int64) Interval {
	step := int64(1)
	if i.Step%n == 0 {
		step = i.Step / n
	}
	return interval(floorDiv(i.Low, n), floorDiv(i.High, n), step)
}

func (i Interval) mod(n int64) Interval {
	q := floorDiv(i.Low, n) * n
	if floorDiv(i.High, n)*n == q {
		return Interval{i.Low - q, i.High - q, i.Step}
	}
	step := gcd(i.Step, n)
	first := i.Low - q
	return interval(first%step, n-step+first%step, step)
}

func (i Interval) least(j Interval) Interval {
	step := gcd(gcd(i.Step, j.Step), max(i.Low-j.Low, j.Low-i.Low))
	return interval(min(i.Low, j.Low), min(i.High, j.High), step)
}

// and gives values that are in both, and perhaps some more: of two true statements about a number.
func (i Interval) and(j Interval) Interval {
	if j.Step > i.Step || i.Step != 0 && j.Step == 0 {
		i, j = j, i
	}
	if i.Step == 0 {
		return i
	}
	k, ok := i.from(j.Low)
	if !ok {
		return i
	}
	if k, ok = k.below(j.High + 1); !ok {
		return i
	}
	return k
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func addExact(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

func mulExact(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	c := a * b
	return c, c/b == a && !(a == -1 && b == math.MinInt64) && !(b == -1 && a == math.MinInt64)
}

// fact is what is known of a variable: its values, and an expression of it in terms of variables outside plus a part of its own.
type fact struct {
	values Interval
	base   *Index   // nil if there is no such expression
	rest   Interval // the part of its own: from the base on
	named  bool     // it is its base
	limit  *Index   // that it does not reach; nil if none is known
}

// env is what is known of variables, those bound last at the end.
type env struct {
	facts map[*Var]fact
	order []*Var
	deep  int // how far the ends of loops and the lesser of two are looked into
}

// deepest is how far they are at most: the end of a loop that is the lesser of two.
const deepest = 3

func newEnv() *env { return &env{facts: map[*Var]fact{}} }

func (e *env) bind(v *Var, f fact) {
	e.facts[v] = f
	e.order = append(e.order, v)
}

// release forgets the variables bound last, down to a number of them.
func (e *env) release(to int) {
	for _, v := range e.order[to:] {
		delete(e.facts, v)
	}
	e.order = e.order[:to]
}

// of gives an interval with all values that x may have; ok is false if a variable is not known or values do not fit int64.
//
// What a variable is in terms of those outside it says more of a difference, as of the place in a tile; its own values say more of what
// a guard or the end of a loop bounds. So variables are replaced one after the other, the innermost first, and all that is found holds.
func (e *env) of(x *Index) (Interval, bool) {
	found, ok := e.direct(x)
	if !ok {
		return found, false
	}
	l, own := x.linear(), Interval{}
	if i, ok := e.sum(l, own); ok {
		found = found.and(i)
	}
	found = e.bounded(l, own, found)
	for _, v := range slices.Backward(e.order) {
		f := e.facts[v]
		times := l.of(v)
		if times == 0 || f.base == nil {
			continue
		}
		l = l.plus(Use(v).linear(), -times).plus(f.base.linear(), times)
		rest, ok1 := f.rest.times(times)
		sum, ok2 := own.plus(rest)
		if !ok1 || !ok2 {
			break
		}
		own = sum
		if i, ok := e.sum(l, own); ok {
			found = found.and(i)
		}
		found = e.bounded(l, own, found)
	}
	return found, true
}

// bounded leaves those values of a linear form plus some others that the ends of its variables' loops allow, and what the lesser of two in it is less than.
func (e *env) bounded(l linear, own, found Interval) Interval {
	if e.deep == 0 {
		return found
	}
	e.deep--
	defer func() { e.deep++ }()
	with := func(t term, x *Index) (Interval, bool) {
		i, ok1 := e.of(l.plus(t.atom.linear(), -t.times).plus(x.linear(), t.times).index())
		i, ok2 := i.plus(own)
		return i, ok1 && ok2
	}
	for _, t := range l.terms {
		switch {
		case t.atom.op == least && t.times > 0:
			a, ok1 := with(t, t.atom.a)
			b, ok2 := with(t, t.atom.b)
			if ok1 && ok2 {
				found = found.and(interval(min(a.Low, b.Low), min(a.High, b.High), 1))
			}
		case t.atom.op == variable && t.times > 0 && e.facts[t.atom.v].limit != nil:
			if i, ok := with(t, e.facts[t.atom.v].limit.Plus(-1)); ok && i.High >= found.Low {
				found = found.and(interval(found.Low, i.High, 1))
			}
		}
	}
	return found
}

// sum gives the values of a linear form plus some others.
func (e *env) sum(l linear, i Interval) (Interval, bool) {
	i, ok := i.plus(Interval{l.n, l.n, 0})
	for _, t := range l.terms {
		a, ok1 := e.direct(t.atom)
		a, ok2 := a.times(t.times)
		var ok3 bool
		i, ok3 = i.plus(a)
		ok = ok && ok1 && ok2 && ok3
	}
	return i, ok
}

// direct is of by the values of each variable.
func (e *env) direct(x *Index) (Interval, bool) {
	switch x.op {
	case constant:
		return Interval{x.n, x.n, 0}, true
	case variable:
		f, ok := e.facts[x.v]
		return f.values, ok
	}
	a, ok := e.of(x.a)
	if !ok {
		return a, false
	}
	switch x.op {
	case mul:
		return a.times(x.n)
	case div:
		return a.div(x.n), true
	case mod:
		return a.mod(x.n), true
	}
	b, ok := e.of(x.b)
	if !ok {
		return b, false
	}
	switch x.op {
	case least:
		return a.least(b), true
	case product:
		return a.by(b)
	}
	return a.plus(b)
}

// length is at least the distance of two indices, of which the second may be the lesser of two.
func (e *env) length(start, end *Index) int64 {
	most := int64(math.MaxInt64)
	if l, ok := e.of(end.Add(start.Times(-1))); ok {
		most = l.High
	}
	if f := e.facts[end.v]; end.op == variable && f.named {
		most = min(most, e.length(start, f.base))
	}
	if end.op == least {
		most = min(most, e.length(start, end.a), e.length(start, end.b))
	}
	return most
}
