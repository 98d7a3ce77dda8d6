package pieces

import "slices"

// form is the sum k + Σ c[i]·v[i] of variables.
type form struct {
	c []int64
	k int64
}

// system is a set of cells: the values of the cells' forms at all integer points of a box of variables, bounds included, at which
// no guard is negative.
type system struct {
	lo, hi []int64
	guards []form
	cells  []form
}

func (s *system) clone() *system {
	c := &system{lo: slices.Clone(s.lo), hi: slices.Clone(s.hi)}
	for _, f := range s.guards {
		c.guards = append(c.guards, form{slices.Clone(f.c), f.k})
	}
	for _, f := range s.cells {
		c.cells = append(c.cells, form{slices.Clone(f.c), f.k})
	}
	return c
}

// tooGreat says whether a form leaves what can be computed with.
func (s *system) tooGreat(f form) bool {
	total := magnitude(f.k)
	for i, a := range f.c {
		if total > maxMagnitude {
			return true
		}
		v := max(magnitude(s.lo[i]), magnitude(s.hi[i]))
		if a != 0 && v > maxMagnitude/magnitude(a) {
			return true
		}
		total += magnitude(a) * v
	}
	return total > maxMagnitude
}

// magnitude is the absolute value, at most the greatest int64.
func magnitude(a int64) int64 {
	if a == -1<<63 {
		return 1<<63 - 1
	}
	return max(a, -a)
}

// span gives the least and the greatest value of a form over the box.
func (s *system) span(f form) (lo, hi int64) {
	lo, hi = f.k, f.k
	for i, a := range f.c {
		if a >= 0 {
			lo, hi = lo+a*s.lo[i], hi+a*s.hi[i]
		} else {
			lo, hi = lo+a*s.hi[i], hi+a*s.lo[i]
		}
	}
	return lo, hi
}

// maxRounds bounds how often bounds are propagated: each round is right, and what it leaves is found by splitting.
const maxRounds = 16

// tighten brings bounds in to what each guard allows, and drops guards that always hold; false means that there is no point.
func (s *system) tighten() bool {
	for i := range s.lo {
		if s.lo[i] > s.hi[i] {
			return false
		}
	}
	for range maxRounds {
		changed := false
		kept := make([]form, 0, len(s.guards))
		for _, g := range s.guards {
			g = g.reduced()
			lo, hi := s.span(g)
			if hi < 0 {
				return false
			}
			if lo >= 0 {
				continue
			}
			if s.bound(g, hi) {
				changed = true
			}
			if !slices.ContainsFunc(kept, func(k form) bool { return k.k <= g.k && slices.Equal(k.c, g.c) }) {
				kept = append(kept, g)
			}
		}
		s.guards = kept
		if !changed {
			break
		}
	}
	return true
}

// bound brings the bounds of a guard's variables in; hi is its greatest value.
func (s *system) bound(g form, hi int64) (changed bool) {
	for i, a := range g.c {
		switch {
		case a > 0:
			if at := -floorDiv(hi-a*s.hi[i], a); at > s.lo[i] {
				s.lo[i], changed = at, true
			}
		case a < 0:
			if at := floorDiv(hi-a*s.lo[i], -a); at < s.hi[i] {
				s.hi[i], changed = at, true
			}
		}
	}
	return changed
}

// reduced divides a guard by what divides all its factors.
func (f form) reduced() form {
	d := f.divisor()
	if d <= 1 {
		return f
	}
	out := form{slices.Clone(f.c), floorDiv(f.k, d)}
	for i := range out.c {
		out.c[i] /= d
	}
	return out
}

// divisor is the greatest common divisor of the factors, 0 if there are none.
func (f form) divisor() int64 {
	d := int64(0)
	for _, a := range f.c {
		for b := magnitude(a); b != 0; {
			d, b = b, d%b
		}
	}
	return d
}

// floorDiv is a/b rounded down, for a positive b.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// used says whether a guard or a cell depends on a variable.
func (s *system) used(v int) bool {
	on := func(f form) bool { return f.c[v] != 0 }
	return slices.ContainsFunc(s.guards, on) || slices.ContainsFunc(s.cells, on)
}

// fix puts the value of variables that have one in its place, from a number of variable on.
func (s *system) fix(from int) {
	for i := from; i < len(s.lo); i++ {
		if s.lo[i] != s.hi[i] {
			continue
		}
		for _, list := range [][]form{s.guards, s.cells} {
			for j := range list {
				list[j].k += list[j].c[i] * s.lo[i]
				list[j].c[i] = 0
			}
		}
	}
}

// shift counts a variable from its least value.
func (s *system) shift(v int) {
	for _, list := range [][]form{s.guards, s.cells} {
		for j := range list {
			list[j].k += list[j].c[v] * s.lo[v]
		}
	}
	s.hi[v], s.lo[v] = s.hi[v]-s.lo[v], 0
}

// restoreBounds gives the first variables bounds back that guards brought in, as guards where they do.
func (s *system) restoreBounds(lo, hi []int64) {
	for i := range lo {
		if s.lo[i] > lo[i] {
			s.guards = append(s.guards, s.variable(i, 1, -s.lo[i]))
		}
		if s.hi[i] < hi[i] {
			s.guards = append(s.guards, s.variable(i, -1, s.hi[i]))
		}
		s.lo[i], s.hi[i] = lo[i], hi[i]
	}
}

// variable is the form a·v + k.
func (s *system) variable(v int, a, k int64) form {
	f := form{make([]int64, len(s.lo)), k}
	f.c[v] = a
	return f
}

// plus gives a·f + b·g; ok is false if a number is too great.
func (s *system) plus(f form, a int64, g form, b int64) (out form, ok bool) {
	out = form{c: make([]int64, len(f.c))}
	term := func(x, y int64) int64 {
		if big(a, x) || big(b, y) {
			return maxMagnitude + 1
		}
		return a*x + b*y
	}
	out.k = term(f.k, g.k)
	for i := range f.c {
		out.c[i] = term(f.c[i], g.c[i])
	}
	return out, !s.tooGreat(out)
}

func big(a, x int64) bool { return a != 0 && magnitude(x) > maxMagnitude/magnitude(a) }
