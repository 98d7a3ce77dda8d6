package search

import (
	"hash/fnv"
	"slices"
)

// Memory is what a search knows beside the points of its frontier: with both, Run goes on as if it had never ended.
type Memory struct {
	Round, Tried, Restarts int
	Parents                []Point // beside the frontier, in their order
	Rates                  []Rate  // by the names of their mutators, with Weight
	Idle, Barren, Renewed  int     // rounds without gain, restarts without, and points that came since the last
	Nearest                float64 // how far beyond limits the point is that is nearest to them, while none is inside
	Started                bool    // there is such a point
	Seen                   []uint64
}

// newSeen remembers nothing of a space yet.
func newSeen(s Space) seen {
	if x, ok := s.(Shared); ok {
		return seen{used: x.Used, in: map[uint64]bool{}}
	}
	return seen{used: func(t Trial) Trial { return t }, in: map[uint64]bool{}}
}

// remembered is how many trials are not priced twice: the last ones.
const remembered = 1 << 16

// seen remembers trials by their hashes, in the order in which they came.
type seen struct {
	used  func(t Trial) Trial
	in    map[uint64]bool
	order []uint64
	from  int // the oldest, once the ring is full
}

func (s *seen) has(t Trial) bool { return s.in[s.used(t).hash()] }

// add says whether a trial is new.
func (s *seen) add(t Trial) bool {
	h := s.used(t).hash()
	if s.in[h] {
		return false
	}
	if len(s.order) < remembered {
		s.order = append(s.order, h)
	} else {
		delete(s.in, s.order[s.from])
		s.order[s.from] = h
		s.from = (s.from + 1) % remembered
	}
	s.in[h] = true
	return true
}

// list gives what is remembered, the oldest first.
func (s *seen) list() []uint64 { return slices.Concat(s.order[s.from:], s.order[:s.from]) }

func (t Trial) hash() uint64 {
	h := fnv.New64a()
	h.Write([]byte(t.key()))
	return h.Sum64()
}

// memory gives what is known beside the frontier.
func (e *engine) memory() *Memory {
	p := &e.progress
	return &Memory{Round: e.Round, Tried: e.Tried, Restarts: e.Restarts, Parents: e.pool, Rates: e.Rates, Idle: p.idle, Barren: p.barren, Renewed: p.renewed,
		Nearest: p.beyond, Started: p.started, Seen: e.seen.list()}
}

// recall goes on from what another search knew. Its trials are priced again: what costs were is not believed.
func (e *engine) recall(m *Memory, frontier []Point) {
	e.Round, e.Tried, e.Restarts = m.Round, m.Tried, m.Restarts
	e.progress = progress{m.Idle, m.Barren, m.Renewed, m.Nearest, m.Started}
	for i := range e.Rates {
		r := &e.Rates[i]
		for _, was := range m.Rates {
			if was.Mutator.Name == r.Mutator.Name {
				r.Used, r.Applied, r.Gained, r.Weight = was.Used, was.Applied, was.Gained, was.Weight
			}
		}
	}
	for _, h := range m.Seen[max(0, len(m.Seen)-remembered):] {
		e.seen.in[h] = true
		e.seen.order = append(e.seen.order, h)
	}
	priced := e.again(slices.Concat(frontier, m.Parents))
	near := e.Frontier.Near
	e.Frontier.Near = 0 // those that are near each other were let in before
	for _, p := range priced[:len(frontier)] {
		e.Frontier.Add(p)
	}
	e.Frontier.Near, e.pool = near, priced[len(frontier):]
	e.shares()
}

// again prices points.
func (e *engine) again(points []Point) []Point {
	list, out := make([]child, len(points)), slices.Clone(points)
	for i, p := range points {
		list[i].trial = p.Trial
	}
	for i, p := range e.price(list) {
		out[i].Price = p
	}
	return out
}
