package reads

import (
	"fmt"
	"slices"
)

// sum is off + Σ row[i]·variable i; variables beyond the row have the factor 0.
type sum struct {
	row []int64
	off int64
}

func constant(k int64) sum { return sum{off: k} }

// limit bounds factors and offsets, so that sums of products of two do not overflow; what is greater stays there, and is refused.
const limit = 1 << 50

func bounded(a int64) int64 { return max(-limit, min(limit, a)) }

func times(a, b int64) int64 {
	if a != 0 && (b > limit/magnitude(a) || b < -limit/magnitude(a)) {
		return limit
	}
	return a * b
}

func magnitude(a int64) int64 {
	if a == -1<<63 {
		return 1<<63 - 1
	}
	return max(a, -a)
}

func (s sum) plus(t sum) sum {
	out := sum{make([]int64, max(len(s.row), len(t.row))), bounded(bounded(s.off) + bounded(t.off))}
	copy(out.row, s.row)
	for i, a := range t.row {
		out.row[i] = bounded(bounded(out.row[i]) + bounded(a))
	}
	return out
}

func (s sum) times(f int64) sum {
	out := sum{make([]int64, len(s.row)), bounded(times(s.off, f))}
	for i, a := range s.row {
		out.row[i] = bounded(times(a, f))
	}
	return out
}

func (s sum) wild() bool {
	return magnitude(s.off) >= limit || slices.ContainsFunc(s.row, func(a int64) bool { return magnitude(a) >= limit })
}

func (s sum) constant() bool {
	return !slices.ContainsFunc(s.row, func(a int64) bool { return a != 0 })
}

// path is how an expression is reached: where each dim is, and the guards, each at least 0, that hold there.
type path struct {
	extents []int64 // of the variables, each from 0
	env     []sum   // by dim
	known   []bool
	guards  []sum
	divided []quotient
	held    []held
	reason  string // why what is read on it is a hull, if it is
}

// quotient is a variable that floor(of/by) is counted by.
type quotient struct {
	of    sum
	by    int64
	value sum
}

func (p *path) clone() *path {
	return &path{slices.Clone(p.extents), slices.Clone(p.env), slices.Clone(p.known), slices.Clone(p.guards), slices.Clone(p.divided), slices.Clone(p.held), p.reason}
}

// variable adds a variable with values from 0 to n-1.
func (p *path) variable(n int64) sum {
	s := sum{row: make([]int64, len(p.extents)+1)}
	s.row[len(p.extents)] = 1
	p.extents = append(p.extents, n)
	return s
}

// run lets a dim go through all its values.
func (p *path) run(d int, extent int64) { p.env[d], p.known[d] = p.variable(extent), true }

// hull gives the least and the greatest value of a sum over the variables.
func (p *path) hull(s sum) (lo, hi int64) {
	lo, hi = s.off, s.off
	for i, a := range s.row {
		last := max(0, p.extents[i]-1)
		if a < 0 {
			lo = bounded(lo + bounded(times(a, last)))
		} else {
			hi = bounded(hi + bounded(times(a, last)))
		}
	}
	return lo, hi
}

// guard adds a condition that a sum is 0 or more; false if it never is.
func (p *path) guard(s sum) bool {
	lo, hi := p.hull(s)
	if lo < 0 {
		p.guards = append(p.guards, s)
	}
	return hi >= 0
}

// wild says whether a number has become too great to be right.
func (p *path) wild() bool {
	return slices.ContainsFunc(p.guards, sum.wild) || slices.ContainsFunc(p.env, sum.wild)
}

// floor gives the quotient of a sum and a positive number, rounded down. What the number divides comes out; of the rest the quotient
// is a variable that guards tie to it, the same for the same quotient, and a quotient of a quotient is one of the first.
func (p *path) floor(s sum, n int64) sum {
	out, rest := sum{row: make([]int64, len(s.row))}, sum{row: make([]int64, len(s.row))}
	for i, a := range s.row {
		if a%n == 0 {
			out.row[i] = a / n
		} else {
			rest.row[i] = a
		}
	}
	rest.off = ((s.off % n) + n) % n
	out.off = (s.off - rest.off) / n
	lo, hi := p.hull(rest)
	if lo >= 0 && hi < n {
		return out
	}
	return out.plus(p.quotient(rest, n))
}

func (p *path) quotient(s sum, n int64) sum {
	for _, q := range p.divided {
		if q.value.off == s.off && equal(q.value, s) {
			return p.quotient(q.of, bounded(times(q.by, n)))
		}
	}
	for _, q := range p.divided {
		if q.by == n && equal(q.of, s) {
			return q.value
		}
	}
	lo, hi := p.hull(s)
	first, last := floorDiv(lo, n), floorDiv(hi, n)
	value := p.variable(last - first + 1).plus(constant(first))
	p.remainder(s, n, value)
	p.divided = append(p.divided, quotient{s, n, value})
	return value
}

// remainder gives s - n·q, which lies from 0 to n-1 for the quotient q.
func (p *path) remainder(s sum, n int64, q sum) sum {
	r := s.plus(q.times(-n))
	p.guard(r)
	p.guard(constant(n - 1).plus(r.times(-1)))
	return r
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func equal(s, t sum) bool { return s.off == t.off && key(s) == key(t) }

// key is the same for sums that differ in factors 0 at the end.
func key(s sum) string {
	row := s.row
	for len(row) > 0 && row[len(row)-1] == 0 {
		row = row[:len(row)-1]
	}
	return fmt.Sprint(row)
}
