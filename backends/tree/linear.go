package tree

import (
	"fmt"
	"slices"
	"strings"
)

// linear is a sum of multiples of atoms: variables, and what is not linear in them.
type linear struct {
	terms []term // in the order in which they were added
	n     int64
}

type term struct {
	times int64
	atom  *Index
	key   string // that two atoms share only if they have the same value; "" of a variable, which is the same only as itself
}

// same says whether two terms are multiples of one atom.
func (t term) same(u term) bool {
	if t.atom.op == variable || u.atom.op == variable {
		return t.atom.op == u.atom.op && t.atom.v == u.atom.v
	}
	return t.key == u.key
}

func (x *Index) linear() linear {
	switch x.op {
	case constant:
		return linear{n: x.n}
	case add:
		return x.a.linear().plus(x.b.linear(), 1)
	case mul:
		return linear{}.plus(x.a.linear(), x.n)
	}
	return linear{terms: []term{{1, x, x.id}}}
}

func (x *Index) key() string {
	switch x.op {
	case variable:
		return fmt.Sprintf("%s@%p", x.v.Name, x.v)
	case least:
		return fmt.Sprintf("min(%s, %s)", x.a.linear(), x.b.linear())
	case product:
		return fmt.Sprintf("(%s)·(%s)", x.a.linear(), x.b.linear())
	case div:
		return fmt.Sprintf("(%s)/%d", x.a.linear(), x.n)
	}
	return fmt.Sprintf("(%s)%%%d", x.a.linear(), x.n)
}

// plus is l + times·m.
func (l linear) plus(m linear, times int64) linear {
	out := linear{terms: slices.Clone(l.terms), n: l.n + times*m.n}
	for _, t := range m.terms {
		at := slices.IndexFunc(out.terms, t.same)
		if at < 0 {
			out.terms = append(out.terms, term{times * t.times, t.atom, t.key})
			continue
		}
		out.terms[at].times += times * t.times
	}
	out.terms = slices.DeleteFunc(out.terms, func(t term) bool { return t.times == 0 })
	return out
}

// div is a sum of multiples of n, divided by n.
func (l linear) div(n int64) (linear, bool) {
	out := linear{terms: slices.Clone(l.terms), n: l.n / n}
	for i := range out.terms {
		out.terms[i].times /= n
	}
	return out, l.n%n == 0 && !slices.ContainsFunc(l.terms, func(t term) bool { return t.times%n != 0 })
}

// of gives the multiple of a variable, 0 if it is none of the atoms.
func (l linear) of(v *Var) int64 {
	for _, t := range l.terms {
		if t.atom.op == variable && t.atom.v == v {
			return t.times
		}
	}
	return 0
}

// index is the sum as an index.
func (l linear) index() *Index {
	var out *Index
	for _, t := range l.terms {
		x := t.atom
		if t.times != 1 {
			x = &Index{op: mul, a: x, n: t.times}
		}
		if out == nil {
			out = x
			continue
		}
		out = &Index{op: add, a: out, b: x}
	}
	switch {
	case out == nil:
		return Const(l.n)
	case l.n != 0:
		return &Index{op: add, a: out, b: Const(l.n)}
	}
	return out
}

// String is the same for equal forms.
func (l linear) String() string {
	var terms []string
	for _, t := range l.terms {
		terms = append(terms, fmt.Sprintf("%d*%s", t.times, t.atom.key()))
	}
	slices.Sort(terms)
	return fmt.Sprintf("%s+%d", strings.Join(terms, "+"), l.n)
}

// Differ says whether two indices have different values for certain, whatever their variables are: they are a constant apart, or are
// remainders of what is a constant apart.
func Differ(x, y *Index) bool {
	if x.op == mod && y.op == mod && x.n == y.n {
		d := x.a.linear().plus(y.a.linear(), -1)
		return len(d.terms) == 0 && d.n%x.n != 0
	}
	d := x.linear().plus(y.linear(), -1)
	return len(d.terms) == 0 && d.n != 0
}

// distance gives the difference of two indices if it does not depend on variables, else 0.
func distance(x, y *Index) int64 {
	d := x.linear().plus(y.linear(), -1)
	if len(d.terms) > 0 {
		return 0
	}
	return d.n
}
