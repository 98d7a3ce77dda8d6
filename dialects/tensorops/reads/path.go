package reads

import (
	"slices"

	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/zspace"
)

// limit bounds the numbers that pieces have; what is greater is refused.
const limit = 1 << 50

// path is how an expression is reached: where each dim is, and the guards, each at least 0, that hold there.
type path struct {
	box     zspace.Range // of the variables, each from 0
	env     []affine.Sum // by dim
	known   []bool
	guards  []affine.Sum
	divided []quotient
	held    []held
	reason  string // why what is read on it is a hull, if it is
}

// quotient is a variable that floor(of/by) is counted by.
type quotient struct {
	of    affine.Sum
	by    int64
	value affine.Sum
}

func (p *path) clone() *path {
	return &path{p.box.Clone(), slices.Clone(p.env), slices.Clone(p.known), slices.Clone(p.guards), slices.Clone(p.divided), slices.Clone(p.held), p.reason}
}

// variable adds a variable with values from 0 to n-1.
func (p *path) variable(n int64) affine.Sum {
	p.box.Start, p.box.End = append(p.box.Start, 0), append(p.box.End, n)
	return affine.Symbol(p.box.Rank() - 1)
}

// run lets a dim go through all its values.
func (p *path) run(d int, extent int64) { p.env[d], p.known[d] = p.variable(extent), true }

// guard adds a condition that a sum is 0 or more; false if it never is.
func (p *path) guard(s affine.Sum) bool {
	lo, hi := s.Hull(p.box)
	if lo < 0 {
		p.guards = append(p.guards, s)
	}
	return hi >= 0
}

// within adds the conditions that a sum lies from start to end-1; false if it never does.
func (p *path) within(s affine.Sum, start, end int64) bool {
	return p.guard(s.Plus(affine.Constant(start), -1)) && p.guard(affine.Constant(end-1).Plus(s, -1))
}

// wild says whether a number has become too great to be right.
func (p *path) wild() bool {
	return slices.ContainsFunc(slices.Concat(p.guards, p.env), func(s affine.Sum) bool { return s.Reaches(limit) })
}

// floor gives the quotient of a sum and a positive number, rounded down. What the number divides comes out; of the rest the quotient
// is a variable that guards tie to it, the same for the same quotient, and a quotient of a quotient is one of the first.
func (p *path) floor(s affine.Sum, n int64) affine.Sum {
	out, rest := s.Divide(n)
	if lo, hi := rest.Hull(p.box); lo >= 0 && hi < n {
		return out
	}
	return out.Plus(p.quotient(rest, n), 1)
}

func (p *path) quotient(s affine.Sum, n int64) affine.Sum {
	for _, q := range p.divided {
		if q.value.Equal(s) {
			return p.quotient(q.of, affine.Constant(q.by).Times(n).Constant)
		}
	}
	for _, q := range p.divided {
		if q.by == n && q.of.Equal(s) {
			return q.value
		}
	}
	lo, hi := s.Hull(p.box)
	first, last := floorDiv(lo, n), floorDiv(hi, n)
	value := p.variable(last-first+1).Plus(affine.Constant(first), 1)
	p.remainder(s, n, value)
	p.divided = append(p.divided, quotient{s, n, value})
	return value
}

// remainder gives s - n·q, which lies from 0 to n-1 for the quotient q.
func (p *path) remainder(s affine.Sum, n int64, q affine.Sum) affine.Sum {
	r := s.Plus(q, -n)
	p.within(r, 0, n)
	return r
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
