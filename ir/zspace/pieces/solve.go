package pieces

import "slices"

// solver computes the cells of a system within a number of steps.
type solver struct{ steps int }

// steps bounds the systems that one piece is split into.
const steps = 2048

// maxParts bounds the parts that cells are listed as while they are computed.
const maxParts = 1024

// hull gives the cells as the least box around what the bounds allow: the answer where the exact one takes too long.
func (s *system) hull() part {
	out := make(part, len(s.cells))
	for i, f := range s.cells {
		lo, hi := s.span(f)
		out[i] = progression{lo, 1, hi - lo + 1}
	}
	return out
}

// parts gives the cells of a system as strided boxes; exact is false where they are a hull.
func (v *solver) parts(s *system) (list []part, exact bool) {
	if !s.tighten() {
		return nil, true
	}
	if v.steps--; v.steps < 0 {
		return []part{s.hull()}, false
	}
	s.fix(0)
	if groups := s.groups(); len(groups) > 1 {
		return v.product(s, groups)
	}
	if p, ok := s.simple(); ok {
		return p, true
	}
	for range len(s.lo) {
		done, ok := s.eliminate()
		if !ok {
			return nil, true
		}
		if !done {
			break
		}
		if !s.tighten() {
			return nil, true
		}
	}
	s.fix(0)
	if p, ok := s.simple(); ok {
		return p, true
	}
	if s.straighten() {
		return v.parts(s)
	}
	return v.split(s)
}

// product gives the cells of groups that have no variable in common.
func (v *solver) product(s *system, groups []group) (list []part, exact bool) {
	list, exact = []part{make(part, len(s.cells))}, true
	for _, g := range groups {
		sub := s.clone()
		sub.guards, sub.cells = nil, nil
		for _, i := range g.guards {
			sub.guards = append(sub.guards, s.guards[i])
		}
		for _, i := range g.cells {
			sub.cells = append(sub.cells, s.cells[i])
		}
		parts, whole := v.parts(sub)
		if len(parts) == 0 {
			return nil, true
		}
		exact = exact && whole
		if len(parts)*len(list) > maxParts {
			parts, exact = []part{bounding(parts)}, false
		}
		var next []part
		for _, p := range list {
			for _, q := range parts {
				p := slices.Clone(p)
				for n, i := range g.cells {
					p[i] = q[n]
				}
				next = append(next, p)
			}
		}
		list = next
	}
	return list, exact
}

// group is a part of a system's guards and cells that shares no variable with the rest.
type group struct{ guards, cells []int }

// groups divides a system. Variables that nothing depends on are in none; a cell without variables is one of its own.
func (s *system) groups() []group {
	of := make([]int, len(s.lo)) // the group of each variable, by its least variable
	for i := range of {
		of[i] = i
	}
	join := func(f form) {
		first := -1
		for i, a := range f.c {
			switch {
			case a == 0:
			case first < 0:
				first = of[i]
			case of[i] != first:
				old := of[i]
				for j := range of {
					if of[j] == old {
						of[j] = first
					}
				}
			}
		}
	}
	for _, list := range [][]form{s.guards, s.cells} {
		for _, f := range list {
			join(f)
		}
	}
	var out []group
	at := map[int]int{}
	place := func(f form) *group {
		i := slices.IndexFunc(f.c, func(a int64) bool { return a != 0 })
		if i >= 0 {
			if n, ok := at[of[i]]; ok {
				return &out[n]
			}
			at[of[i]] = len(out)
		}
		out = append(out, group{})
		return &out[len(out)-1]
	}
	for i, f := range s.cells {
		g := place(f)
		g.cells = append(g.cells, i)
	}
	for i, f := range s.guards {
		g := place(f)
		g.guards = append(g.guards, i)
	}
	return out
}

// simple gives the cells where no variable is in two coordinates and nothing is guarded, or where only the one coordinate that
// there is has limits.
func (s *system) simple() ([]part, bool) {
	if len(s.cells) == 0 {
		return []part{{}}, len(s.guards) == 0
	}
	if len(s.guards) > 0 {
		return s.clipped()
	}
	for v := range s.lo {
		n := 0
		for _, f := range s.cells {
			if f.c[v] != 0 {
				n++
			}
		}
		if n > 1 {
			return nil, false
		}
	}
	list := []part{{}}
	for _, f := range s.cells {
		values, ok := s.values(f)
		if !ok || len(values)*len(list) > maxParts {
			return nil, false
		}
		var next []part
		for _, p := range list {
			for _, a := range values {
				next = append(next, append(slices.Clone(p), a))
			}
		}
		list = next
	}
	return list, true
}

// clipped gives the cells of one coordinate whose guards are limits of it.
func (s *system) clipped() ([]part, bool) {
	if len(s.cells) != 1 {
		return nil, false
	}
	f := s.cells[0]
	lo, hi := s.span(f)
	for _, g := range s.guards {
		up, down := true, true
		for i, a := range f.c {
			up, down = up && g.c[i] == a, down && g.c[i] == -a
		}
		switch {
		case up: // f - f.k + g.k >= 0
			lo = max(lo, f.k-g.k)
		case down:
			hi = min(hi, f.k+g.k)
		default:
			return nil, false
		}
	}
	values, ok := s.values(f)
	if !ok {
		return nil, false
	}
	out := []part{}
	for _, a := range values {
		if a = a.within(lo, hi); a.count > 0 {
			out = append(out, part{a})
		}
	}
	return out, true
}

// values gives the values of a form over the box as progressions.
func (s *system) values(f form) ([]progression, bool) {
	type term struct{ step, count int64 }
	var terms []term
	start := f.k
	for i, a := range f.c {
		if n := s.hi[i] - s.lo[i] + 1; a != 0 {
			if terms = append(terms, term{magnitude(a), n}); a > 0 {
				start += a * s.lo[i]
			} else {
				start += a * s.hi[i]
			}
		}
	}
	slices.SortFunc(terms, func(a, b term) int { return int(min(1, max(-1, a.step-b.step))) })
	starts, p := []int64{start}, term{1, 1}
	for _, t := range terms {
		apart := p
		switch {
		case p.count == 1:
			p = t
			continue
		case t.step%p.step == 0 && t.step/p.step <= p.count:
			p.count += t.step / p.step * (t.count - 1)
			continue
		case p.count <= t.count:
			p = t
		default:
			apart = t
		}
		if int64(len(starts)) > maxParts/apart.count {
			return nil, false
		}
		var next []int64
		for _, s := range starts {
			for i := range apart.count {
				next = append(next, s+i*apart.step)
			}
		}
		starts = next
	}
	slices.Sort(starts)
	var out []progression
	for _, at := range slices.Compact(starts) {
		out = append(out, progression{at, p.step, p.count})
	}
	return out, true
}

// split cuts the box of a variable where a guard comes to hold always, or in two.
func (v *solver) split(s *system) ([]part, bool) {
	variable, at := s.cut()
	if variable < 0 {
		return []part{s.hull()}, false
	}
	low, high := s.clone(), s
	low.hi[variable], high.lo[variable] = at-1, at
	a, okA := v.parts(low)
	b, okB := v.parts(high)
	list := union(a, b)
	if len(list) > maxParts {
		return []part{bounding(list)}, false
	}
	return list, okA && okB
}

// cut chooses a variable and the first value of its upper half: where a guard of it is always true on one side, and the other side
// has few values; else the middle of the variable with the fewest values.
func (s *system) cut() (variable int, at int64) {
	variable = -1
	least, decided := int64(0), false
	for _, g := range s.guards {
		lo, _ := s.span(g)
		for i, a := range g.c {
			if a == 0 || s.lo[i] == s.hi[i] {
				continue
			}
			n, first := s.undecided(i, a, lo)
			if whole := n > s.hi[i]-s.lo[i]; !whole && (!decided || n < least) {
				variable, at, least, decided = i, first, n, true
			}
		}
	}
	if decided {
		return variable, at
	}
	for i := range s.lo {
		n := s.hi[i] - s.lo[i] + 1
		if n > 1 && s.used(i) && (variable < 0 || n < least) {
			variable, at, least = i, s.lo[i]+n/2, n
		}
	}
	return variable, at
}

// undecided gives how many values of a variable leave a guard open whose least value is lo, and the first value of the upper of the
// two halves that open and decided values make.
func (s *system) undecided(v int, a, lo int64) (n, first int64) {
	if a > 0 { // always true from lo[v] + n on
		n = -floorDiv(lo, a)
		return n, s.lo[v] + n
	}
	n = -floorDiv(lo, -a)
	return n, s.hi[v] - n + 1
}
