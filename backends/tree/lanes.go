package tree

import "slices"

// lanes is what the lanes of a block do to memory that they share. None may read what another may write without a barrier between. That two do
// not write the same element is not checked.
type lanes struct {
	env       *env
	divergent map[*Var]bool   // variables that differ from lane to lane
	shifted   map[*Var]*Index // in a later round of a loop
	groups    [][]Access      // asynchronous copies that are not waited for, by group; the last is not committed
	shared    []sharing       // since the last barrier
}

// sharing is an access of shared memory.
type sharing struct {
	Access
	writes bool
}

// rounds is how many rounds of a loop follow the first one, to see what they find of each other: more than the stages of a pipeline.
const rounds = 4

func newLanes(e *env) *lanes {
	return &lanes{env: e, divergent: map[*Var]bool{}, shifted: map[*Var]*Index{}}
}

// begin is the beginning of a loop of lanes.
func (l *lanes) begin() { l.groups = [][]Access{nil} }

// barrier is where all lanes see what the others did.
func (l *lanes) barrier() { l.shared = nil }

// copy notes an asynchronous copy.
func (l *lanes) copy(to Access) {
	last := len(l.groups) - 1
	l.groups[last] = append(l.groups[last], l.now(to))
}

// commit ends a group of copies.
func (l *lanes) commit() { l.groups = append(l.groups, nil) }

// wait is where all but some groups have arrived, which other lanes see behind a barrier.
func (l *lanes) wait(pending int64) {
	done := len(l.groups) - 1 - int(max(pending, 0))
	if done <= 0 {
		return
	}
	for _, g := range l.groups[:done] {
		for _, a := range g {
			l.shared = append(l.shared, sharing{a, true})
		}
	}
	l.groups = l.groups[done:]
}

// pending says whether copies are not waited for.
func (l *lanes) pending() bool {
	return slices.ContainsFunc(l.groups, func(g []Access) bool { return len(g) > 0 })
}

// busy says whether what follows may meet what lanes did.
func (l *lanes) busy() bool { return len(l.shared) > 0 || l.pending() }

// use notes an access, and says what is wrong with it.
func (l *lanes) use(a Access, writes bool) string {
	b := l.now(a)
	hits := func(x Access) bool { return x.Memory == a.Memory && !l.disjoint(x, b) }
	for _, g := range l.groups {
		if !writes && slices.ContainsFunc(g, hits) {
			return "is used while a copy to it may be under way"
		}
	}
	if slices.ContainsFunc(l.shared, func(x sharing) bool { return x.writes != writes && hits(x.Access) }) {
		return "is used by other lanes, and no barrier stands between"
	}
	l.shared = append(l.shared, sharing{b, writes})
	return ""
}

// differs says whether an index differs from lane to lane.
func (l *lanes) differs(x *Index) bool {
	for y, d := range l.divergent {
		if d && x.Uses(y) {
			return true
		}
	}
	return false
}

// now is an access in terms of the present round of loops.
func (l *lanes) now(a Access) Access {
	out := Access{a.Memory, make([]*Index, len(a.At))}
	for i, x := range a.At {
		if x == nil {
			continue
		}
		for _, y := range slices.Backward(l.env.order) { // what Lets name, in terms of loops
			if f := l.env.facts[y]; f.base != nil && f.named && x.Uses(y) {
				x = x.With(y, f.base)
			}
		}
		for y, to := range l.shifted {
			x = x.With(y, to)
		}
		out.At[i] = x
	}
	return out
}

// disjoint says whether two accesses of one memory are of different elements for certain, whichever lanes make them.
func (l *lanes) disjoint(a, b Access) bool {
	for i, x := range a.At {
		if y := b.At[i]; x != nil && y != nil && l.even(x) && l.even(y) && Differ(x, y) {
			return true
		}
	}
	return false
}

// even says whether an index is the same for all lanes, and of loops that are still running.
func (l *lanes) even(x *Index) bool {
	switch {
	case x == nil || x.op == constant:
		return true
	case x.op == variable:
		_, bound := l.env.facts[x.v]
		return bound && !l.divergent[x.v]
	}
	return l.even(x.a) && l.even(x.b)
}
