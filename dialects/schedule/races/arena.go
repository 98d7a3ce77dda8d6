package races

import (
	"cmp"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/waits"
)

// Arena is the constraint that buffers have the same bytes of an arena only one after the other.
var Arena = check.Constraint{
	ID: "ArenaOverlapConstraint",
	Doc: "The life of an arena buffer, from step First to step Last in the order of the schedule, covers every step that touches it, or a buffer over it. No " +
		"two buffers of a device that are alive at the same step share a byte of its arena. Where a buffer takes over bytes, every " +
		"step that writes it waits for every step that touched the buffer that had them before: numbers alone order nothing.",
	Requires: []string{"ScheduleOrderConstraint"},
	Codes: []check.Code{
		{ID: "TAP0391", Meaning: "a step touches an arena buffer outside its life"},
		{ID: "TAP0392", Meaning: "two arena buffers share bytes while both are alive"},
		{ID: "TAP0393", Meaning: "a step writes bytes and does not wait for one that still uses them for another buffer"},
	},
	Check: func(c *check.Context) {
		lives := livesOf(c)
		if !c.Go() {
			return
		}
		for i := 0; i < len(lives); {
			n := 1
			for i+n < len(lives) && lives[i+n].b.Device == lives[i].b.Device {
				n++
			}
			checkArena(c, lives[i:i+n])
			i += n
		}
	},
}

// life is an arena buffer with bytes that some step touches, with what lies over it.
type life struct {
	id      ir.NodeID
	b       *schedule.Buffer
	users   []int32 // numbers of the steps that touch it, ascending
	writers []int32
}

// livesOf lists the lives by device, then by their first step, and reports the touches outside them.
func livesOf(c *check.Context) []*life {
	t, s := trafficOf(c), stepsOf(c)
	var lives, all []*life
	of := map[ir.NodeID]*life{}
	for _, id := range t.buffers {
		under := schedule.Underlying(c.Graph(), id)
		b := schedule.BufferOf(c.Graph(), under)
		if b.Space != schedule.Arena {
			continue
		}
		l := of[under]
		if l == nil {
			l = &life{id: under, b: b}
			of[under], all = l, append(all, l)
		}
		for _, x := range t.of[id] {
			l.users = append(l.users, s.number[x.step])
			if x.write {
				l.writers = append(l.writers, s.number[x.step])
			}
		}
	}
	for _, l := range all {
		for _, list := range []*[]int32{&l.users, &l.writers} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		checkLife(c, l)
		if l.b.Bytes > 0 && len(l.users) > 0 {
			lives = append(lives, l)
		}
	}
	slices.SortStableFunc(lives, func(a, b *life) int {
		return cmp.Or(cmp.Compare(a.b.Device, b.b.Device), cmp.Compare(a.b.First, b.b.First), cmp.Compare(a.id, b.id))
	})
	return lives
}

func checkLife(c *check.Context, l *life) {
	g, s := c.Graph(), stepsOf(c)
	for _, u := range l.users {
		if int64(u) >= l.b.First && int64(u) <= l.b.Last {
			continue
		}
		c.Report(c.Error("TAP0391", g.Node(l.id), "/body/first", "%s touches %s outside its life", g.Name(s.ids[u]), g.Name(l.id)).
			Want(fmt.Sprintf("steps %d to %d", l.b.First, l.b.Last), fmt.Sprintf("step %d", u)).
			WithNote(c.At(g.Node(s.ids[u]), ""), "the step"))
		return
	}
}

// checkArena checks the lives on one device, which come in the order of their first steps.
func checkArena(c *check.Context, lives []*life) {
	a, s := newArena(lives), stepsOf(c)
	var pairs []waits.Pair
	var of [][2]*life
	flush := func() {
		reported := map[[2]*life]bool{}
		for _, i := range s.order.Unordered(pairs, c.Go) {
			if !reported[of[i]] {
				reported[of[i]] = true
				reportReuse(c, of[i][0], of[i][1], pairs[i])
			}
		}
		pairs, of = pairs[:0], of[:0]
	}
	for i, l := range lives {
		if !c.Go() {
			return
		}
		for _, before := range a.take(int32(i)) {
			old := lives[before]
			if old.b.Last >= l.b.First {
				reportShared(c, old, l)
				continue
			}
			for _, u := range trailing(s, old.users) {
				for _, w := range leading(s, l.writers) {
					pairs, of = append(pairs, waits.Pair{A: u, B: w}), append(of, [2]*life{old, l})
				}
			}
		}
		if len(pairs) >= maxPairs {
			flush()
		}
	}
	flush()
}

// leading gives those of some steps that wait for no other of them directly: what they wait for, all do.
func leading(s *steps, of []int32) []int32 {
	if len(of) == 1 {
		return of
	}
	return slices.DeleteFunc(slices.Clone(of), func(x int32) bool {
		return slices.ContainsFunc(s.after[x], func(a int32) bool { return a != x && among(of, a) })
	})
}

// trailing gives those of some steps that no other of them waits for directly: who waits for them, waits for all.
func trailing(s *steps, of []int32) []int32 {
	waited := map[int32]bool{}
	for _, x := range of {
		for _, a := range s.after[x] {
			if len(of) > 1 && among(of, a) {
				waited[a] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(of), func(x int32) bool { return waited[x] })
}

// among says whether a number is one of some ascending ones.
func among(list []int32, x int32) bool {
	_, found := slices.BinarySearch(list, x)
	return found
}

func reportShared(c *check.Context, a, b *life) {
	g := c.Graph()
	from, to := max(a.b.Offset, b.b.Offset), min(a.b.Offset+a.b.Bytes, b.b.Offset+b.b.Bytes)
	c.Report(c.Error("TAP0392", g.Node(b.id), "/body/offset", "%s and %s share bytes while both are alive", g.Name(a.id), g.Name(b.id)).
		Want("bytes of their own", fmt.Sprintf("bytes %d to %d in steps %d to %d", from, to, b.b.First, min(a.b.Last, b.b.Last))).
		WithNote(c.At(g.Node(a.id), ""), "%s has bytes %d to %d in steps %d to %d", g.Name(a.id), a.b.Offset, a.b.Offset+a.b.Bytes, a.b.First, a.b.Last).
		WithNote(c.At(g.Node(b.id), ""), "%s has bytes %d to %d in steps %d to %d", g.Name(b.id), b.b.Offset, b.b.Offset+b.b.Bytes, b.b.First, b.b.Last))
}

func reportReuse(c *check.Context, old, l *life, p waits.Pair) {
	g, s := c.Graph(), stepsOf(c)
	user, writer := s.ids[p.A], s.ids[p.B]
	c.Report(c.Error("TAP0393", g.Node(writer), "/body/after", "%s writes %s over %s and does not wait for %s, which uses that", g.Name(writer), g.Name(l.id), g.Name(old.id), g.Name(user)).
		Want(g.Name(writer)+" after "+g.Name(user), "they may run at the same time").
		WithNote(c.At(g.Node(old.id), ""), "%s has bytes %d to %d", g.Name(old.id), old.b.Offset, old.b.Offset+old.b.Bytes).
		WithNote(c.At(g.Node(l.id), ""), "%s has bytes %d to %d", g.Name(l.id), l.b.Offset, l.b.Offset+l.b.Bytes))
}

// arena remembers which life had each byte last: a tree over the pieces into which all buffers cut the arena. A piece of the
// tree belongs to one life, to none, or to several, which the pieces below tell apart.
type arena struct {
	lives []*life
	cuts  []int64
	owner []int32 // by tree node: a life, none or several
	found []int32
}

const (
	none    int32 = -1
	several int32 = -2
)

func newArena(lives []*life) *arena {
	a := &arena{lives: lives}
	for _, l := range lives {
		a.cuts = append(a.cuts, l.b.Offset, l.b.Offset+l.b.Bytes)
	}
	slices.Sort(a.cuts)
	a.cuts = slices.Compact(a.cuts)
	a.owner = make([]int32, 4*len(a.cuts))
	for i := range a.owner {
		a.owner[i] = none
	}
	return a
}

// take gives the bytes of a life to it, and names the lives that had them, ascending.
func (a *arena) take(l int32) []int32 {
	b := a.lives[l].b
	from, _ := slices.BinarySearch(a.cuts, b.Offset)
	to, _ := slices.BinarySearch(a.cuts, b.Offset+b.Bytes)
	a.found = a.found[:0]
	a.walk(1, 0, len(a.cuts)-1, from, to, l)
	slices.Sort(a.found)
	a.found = slices.Compact(a.found)
	return a.found
}

// walk visits the tree node for pieces lo to hi and gives those from from to to to a life. Each visit below a node that it
// takes whole makes that node uniform, so all visits together are about pieces times their logarithm.
func (a *arena) walk(node, lo, hi, from, to int, l int32) {
	if from >= hi || to <= lo || lo >= hi {
		return
	}
	whole := from <= lo && hi <= to
	if a.owner[node] != several && whole {
		a.meet(a.owner[node])
		a.owner[node] = l
		return
	}
	if a.owner[node] != several { // push down
		a.owner[2*node], a.owner[2*node+1] = a.owner[node], a.owner[node]
	}
	mid := (lo + hi) / 2
	a.walk(2*node, lo, mid, from, to, l)
	a.walk(2*node+1, mid, hi, from, to, l)
	a.owner[node] = several
	if whole {
		a.owner[node] = l
	}
}

func (a *arena) meet(l int32) {
	if l != none {
		a.found = append(a.found, l)
	}
}
