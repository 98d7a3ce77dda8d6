package pieces

import "slices"

// maxGuards bounds the guards that eliminating a variable may leave.
const maxGuards = 64

// eliminate removes one variable that no coordinate depends on, where what is left of its guards is exact: Fourier–Motzkin
// elimination, of which each pair of a lower bound a·v ≥ -f and an upper bound b·v ≤ g leaves a·g + b·f ≥ 0. That is exact where a or
// b is 1, and there is always a whole number between the two where a·g + b·f ≥ (a - 1)(b - 1) (W. Pugh, "The Omega Test", 1991). ok is
// false where nothing is left.
func (s *system) eliminate() (done, ok bool) {
	for v := range s.lo {
		if slices.ContainsFunc(s.cells, func(f form) bool { return f.c[v] != 0 }) || !s.used(v) {
			continue
		}
		if guards, exact := s.without(v); exact && len(guards) <= maxGuards {
			s.guards, s.lo[v], s.hi[v] = guards, 0, 0
			return true, true
		}
	}
	return false, true
}

// without gives guards that hold exactly where the system's hold for some value of a variable.
func (s *system) without(v int) (guards []form, exact bool) {
	lower := []form{s.variable(v, 1, -s.lo[v])}
	upper := []form{s.variable(v, -1, s.hi[v])}
	for _, g := range s.guards {
		switch {
		case g.c[v] > 0:
			lower = append(lower, g)
		case g.c[v] < 0:
			upper = append(upper, g)
		default:
			guards = append(guards, g)
		}
	}
	for _, l := range lower {
		for _, u := range upper {
			a, b := l.c[v], -u.c[v]
			f, ok := s.plus(l, b, u, a)
			if !ok {
				return nil, false
			}
			lo, _ := s.span(f)
			switch {
			case a == 1 || b == 1:
				if lo < 0 {
					guards = append(guards, f)
				}
			case big(a, b) || lo < (a-1)*(b-1):
				return nil, false
			}
		}
	}
	return guards, true
}

// straighten makes a variable of a coordinate that shares variables with another or has guards of its own form: with y = f, a
// variable of f that has the factor 1 or -1 is a form of y and the others. It says whether it did.
func (s *system) straighten() bool {
	for _, f := range s.cells {
		if f.variables() < 2 || !s.entangled(f) {
			continue
		}
		for v, a := range f.c {
			if magnitude(a) != 1 || slices.ContainsFunc(s.cells, func(g form) bool { return g.c[v] != 0 && g.variables() == 1 }) {
				continue
			}
			if s.substitute(v, f) {
				return true
			}
		}
	}
	return false
}

func (f form) variables() (n int) {
	for _, a := range f.c {
		if a != 0 {
			n++
		}
	}
	return n
}

// entangled says whether a form shares variables with a guard or with another coordinate.
func (s *system) entangled(f form) bool {
	n := 0
	for _, list := range [][]form{s.guards, s.cells} {
		for _, g := range list {
			for i, a := range f.c {
				if a != 0 && g.c[i] != 0 {
					n++
					break
				}
			}
		}
	}
	return n > 1
}

// substitute puts a new variable y = f in the place of v, whose factor in f is 1 or -1, and keeps v's bounds as guards.
func (s *system) substitute(v int, f form) bool {
	t := s.clone()
	lo, hi := s.span(f)
	t.lo, t.hi = append(t.lo, lo), append(t.hi, hi)
	a := f.c[v]
	by := form{make([]int64, len(t.lo)), -a * f.k} // v = a·(y - rest)
	for i, c := range f.c {
		by.c[i] = -a * c
	}
	by.c[v], by.c[len(s.lo)] = 0, a
	for _, list := range [][]form{t.guards, t.cells} {
		for i, g := range list {
			g.c = append(g.c, 0)
			factor := g.c[v]
			g.c[v] = 0
			out, ok := t.plus(g, 1, by, factor)
			if !ok {
				return false
			}
			list[i] = out
		}
	}
	low, okL := t.plus(by, 1, form{make([]int64, len(t.lo)), -s.lo[v]}, 1)
	high, okH := t.plus(by, -1, form{make([]int64, len(t.lo)), s.hi[v]}, 1)
	if !okL || !okH {
		return false
	}
	t.guards = append(t.guards, low, high)
	t.lo[v], t.hi[v] = 0, 0
	*s = *t
	return true
}
