package search

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// keep chooses the parents beside the frontier: of those that there were and those that came, the nearest to it, where one outside the limits is
// as far as it is beyond them, and of each distance the youngest.
func (e *engine) keep(came []Point) {
	all := append(came, e.pool...)
	type far struct {
		point    Point
		distance float64
	}
	list := make([]far, len(all))
	for i, p := range all {
		list[i] = far{p, e.distance(p.Price)}
	}
	slices.SortStableFunc(list, func(a, b far) int { return cmp.Compare(a.distance, b.distance) })
	// Few of one price, so that a plateau does not fill the pool.
	count := map[string]int{}
	e.pool = e.pool[:0:0]
	for _, x := range list {
		key := priceKey(x.point.Price)
		if count[key] >= 3 || len(e.pool) >= poolSize {
			continue
		}
		count[key]++
		e.pool = append(e.pool, x.point)
	}
}

func priceKey(p Price) string {
	t := make(Trial, 0, 4*len(p.Costs))
	for _, c := range p.Costs {
		b := math.Float64bits(c)
		t = append(t, uint16(b), uint16(b>>16), uint16(b>>32), uint16(b>>48))
	}
	return t.key()
}

// distance says how far a price is from the frontier: the least that would have to be gained in some objective, on a logarithmic scale.
func (e *engine) distance(p Price) float64 {
	nearest := math.Inf(1)
	for _, q := range e.Frontier.Points {
		worst := 0.0
		for k, c := range p.Costs {
			worst = max(worst, scale(c)-scale(q.Price.Costs[k]))
		}
		nearest = min(nearest, worst)
	}
	if math.IsInf(nearest, 1) {
		nearest = 0 // nothing is inside the limits yet
	}
	return nearest + p.Beyond
}

// thin leaves at most so many points on the frontier as are worth keeping: of the two that are nearest to each other the later one goes, but none that is best in an
// objective.
func (e *engine) thin() {
	f := &e.Frontier
	for len(f.Points) > frontierLimit {
		ends := map[int]bool{}
		for k := range f.Points[0].Price.Costs {
			ends[f.Best(k)] = true
		}
		worst, least := -1, math.Inf(1)
		for i := 1; i < len(f.Points); i++ {
			gap := 0.0
			for k, c := range f.Points[i].Price.Costs {
				gap += math.Abs(scale(c) - scale(f.Points[i-1].Price.Costs[k]))
			}
			if !ends[i] && gap < least {
				worst, least = i, gap
			}
		}
		f.Points = slices.Delete(f.Points, worst, worst+1)
	}
}

// Names gives the names of the mutators that a search of a space draws from.
func Names(s Space) (names []string) {
	for _, m := range append(own(nil), mutatorsOf(s)...) {
		names = append(names, m.Name)
	}
	return names
}

// own are the mutators that apply to any space.
func own(e *engine) []Mutator {
	change := func(r *rand.Rand, t Trial, n int) bool {
		changed := false
		for range n {
			if i := r.IntN(len(t)); e.genes[i] > 1 {
				t[i] = uint16((int(t[i]) + 1 + r.IntN(e.genes[i]-1)) % e.genes[i])
				changed = true
			}
		}
		return changed
	}
	return []Mutator{
		{Name: "one", Doc: "choose another value of a gene", On: "any gene", Mutate: func(r *rand.Rand, t Trial) bool { return len(t) > 0 && change(r, t, 1) }},
		{Name: "few", Doc: "choose other values of two to four genes", On: "any genes", Mutate: func(r *rand.Rand, t Trial) bool { return len(t) > 1 && change(r, t, 2+r.IntN(3)) }},
		{Name: "cross", Doc: "take each gene from one of two parents", On: "two trials", Mutate: func(r *rand.Rand, t Trial) bool {
			p, ok := e.parent(r)
			for i := range t {
				if ok && r.IntN(2) == 0 {
					t[i] = p.Trial[i]
				}
			}
			return ok
		}},
		{Name: "splice", Doc: "take a run of neighbouring genes from another parent", On: "two trials", Mutate: func(r *rand.Rand, t Trial) bool {
			p, ok := e.parent(r)
			if !ok || len(t) < 2 {
				return false
			}
			from := r.IntN(len(t))
			copy(t[from:min(len(t), from+1+r.IntN(len(t)))], p.Trial[from:])
			return true
		}},
	}
}
