package search

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Enumerate prices every trial of a space, in the order of their choices, and gives the frontier and the worst of each cost inside the limits. A
// space with more trials than limit gives false.
func Enumerate(s Space, limit int) (f Frontier, worst []float64, ok bool) {
	genes := s.Genes()
	if Size(s, limit) > limit {
		return f, nil, false
	}
	t := make(Trial, len(genes))
	for {
		if p := s.Price(t); p.Beyond == 0 {
			if f.Add(Point{Trial: t, Price: p, From: "all"}) {
				t = slices.Clone(t)
			}
			if worst == nil {
				worst = slices.Clone(p.Costs)
			}
			for k, c := range p.Costs {
				worst[k] = max(worst[k], c)
			}
		}
		i := len(t) - 1
		for ; i >= 0; i-- {
			if t[i]++; int(t[i]) < genes[i] {
				break
			}
			t[i] = 0
		}
		if i < 0 {
			return f, worst, true
		}
	}
}

// Random prices random trials.
func Random(s Space, seed uint64, trials int) (f Frontier) {
	r, genes := rand.New(rand.NewPCG(seed, 1)), s.Genes()
	for range trials {
		t := random(r, genes)
		f.Add(Point{Trial: t, Price: s.Price(t), From: "random"})
	}
	return f
}

// Climb is hill climbing: from random trials, each towards the least of a random weighting of the objectives, one gene at a time, until so many
// tries in turn gained nothing.
func Climb(s Space, seed uint64, trials int) (f Frontier) {
	return walk(s, rand.New(rand.NewPCG(seed, 2)), trials, 4*len(s.Genes())+16, func(int) float64 { return 0 })
}

// Anneal is simulated annealing: as Climb, but what is worse is taken with a probability that falls with the temperature, from a tenth of the
// logarithm of the cost to a thousandth.
func Anneal(s Space, seed uint64, trials int) (f Frontier) {
	const walks = 4
	steps := max(trials/walks, 1)
	return walk(s, rand.New(rand.NewPCG(seed, 3)), trials, trials, func(step int) float64 {
		return 0.1 * math.Pow(0.01, float64(step%steps)/float64(steps))
	})
}

// walk goes from a random trial to neighbours, and begins again when so many in turn were not taken.
func walk(s Space, r *rand.Rand, trials, idle int, temperature func(step int) float64) (f Frontier) {
	genes := s.Genes()
	var here Trial
	var at float64
	var weights []float64
	for step, refused := 0, 0; step < trials; step++ {
		t := slices.Clone(here)
		if here == nil || refused > idle || temperature(step) > temperature(max(step-1, 0)) {
			t, here, refused, weights = random(r, genes), nil, 0, nil
		} else if i := r.IntN(len(t)); genes[i] > 1 {
			t[i] = uint16((int(t[i]) + 1 + r.IntN(genes[i]-1)) % genes[i])
		}
		p := s.Price(t)
		f.Add(Point{Trial: t, Price: p, From: "walk"})
		if weights == nil {
			weights = weighting(r, len(p.Costs))
		}
		cost := weighted(p, weights)
		if here == nil || cost <= at || r.Float64() < math.Exp((at-cost)/max(temperature(step), 1e-300)) {
			here, at, refused = t, cost, 0
		} else {
			refused++
		}
	}
	return f
}

// weighting draws weights that add up to 1.
func weighting(r *rand.Rand, n int) []float64 {
	w, sum := make([]float64, n), 0.0
	for k := range w {
		w[k] = r.ExpFloat64()
		sum += w[k]
	}
	for k := range w {
		w[k] /= sum
	}
	return w
}

// weighted is the weighted sum of a price's logarithms, and what it is beyond the limits.
func weighted(p Price, weights []float64) float64 {
	sum := 0.0
	for k, c := range p.Costs {
		sum += weights[k] * scale(c)
	}
	return sum + 10*p.Beyond
}
