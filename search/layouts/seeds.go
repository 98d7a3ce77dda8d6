package layouts

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"tensortapestry.org/tapc/search"
)

// Proof is what dynamic programming found of a space: for each objective, a cost that no plan inside the limits goes below, and the trials that it knows.
// Exact says that it went through all meshes, so that without a limit of memory the bound of time is the optimum.
type Proof struct {
	Bounds []float64
	Exact  bool
	Trials []search.Trial
}

// maxProven is how many meshes dynamic programming goes through.
const maxProven = 1024

// proven is what was found of one mesh.
type proven struct {
	trials []search.Trial
	bounds [3]float64
	exact  bool
	spot   int // where its fastest plan holds most
}

// Prove finds the plans that are best in weighted sums of the objectives, and bounds of each objective. What it finds does not depend on the number of workers.
func (x *Space) Prove(workers int) *Proof {
	all := make([]proven, min(len(x.meshes), maxProven))
	each(workers, len(all), func(i int) { all[i] = x.proveMesh(i) })
	x.fitting(workers, all)
	p := &Proof{Exact: len(all) == len(x.meshes)}
	bounds := [3]float64{math.Inf(1), math.Inf(1), math.Inf(1)}
	for _, f := range all {
		p.Exact = p.Exact && f.exact
		p.Trials = append(p.Trials, f.trials...)
		for k := range bounds {
			bounds[k] = min(bounds[k], f.bounds[k])
		}
	}
	if len(all) < len(x.meshes) || math.IsInf(bounds[0], 1) {
		bounds = [3]float64{} // nothing is known of the other meshes, or there is no plan
	}
	for _, c := range x.costs {
		p.Bounds = append(p.Bounds, bounds[c])
	}
	return p
}

// each does work by its numbers on so many workers.
func each(workers, n int, work func(i int)) {
	var wait sync.WaitGroup
	var next atomic.Int64
	for range max(1, min(workers, n)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	wait.Wait()
}

// slopes are the weights of memory against time that are tried, in parts of the fastest plan's.
var slopes = []float64{0.01, 0.1, 0.3, 1, 3, 30}

// proveMesh does it for one mesh. Of time and of what is sent the optimum is a bound, and of memory the least that is held at one spot; where that takes too long
// to find, each operation and tensor by itself gives one.
func (x *Space) proveMesh(mesh int) (f proven) {
	f.bounds = x.alone(mesh)
	fast, time, exact := x.best(mesh, weights{time: 1})
	if !exact {
		return f
	}
	if f.exact, f.bounds[0] = true, time; fast == nil {
		f.bounds = [3]float64{math.Inf(1), math.Inf(1), math.Inf(1)}
		return f
	}
	f.trials = append(f.trials, fast)
	p := x.plan(fast)
	memory, spot := p.peak()
	sent := max(p.sent(), 1)
	f.spot = spot
	if slices.Contains(x.costs, 2) {
		if _, least, ok := x.best(mesh, weights{sent: 1}); ok {
			f.bounds[2] = max(least, 1)
		}
		if quiet, _, ok := x.best(mesh, weights{sent: 1, time: 1e-3 * sent / time}); ok && quiet != nil {
			f.trials = append(f.trials, quiet)
		}
	}
	lean(x, mesh, &f, 1e-6*memory/time)
	if len(x.meshes) > 1 {
		return f
	}
	for _, s := range slopes {
		per := s * time / memory
		for _, w := range []weights{{time: 1, always: per}, {time: 1, always: per, between: per / 8}, {time: 1, always: per, between: per}} {
			if t, _, ok := x.best(mesh, w); ok && t != nil {
				f.trials = append(f.trials, t)
			}
		}
	}
	return f
}

// lean looks for a plan that holds least: at one spot and, where there is one mesh, if it holds more at another, at both. A second is worth so many bytes.
func lean(x *Space, mesh int, f *proven, second float64) {
	most := 4 // spots
	if len(x.meshes) > 1 {
		most = 1
	}
	for spots := []int{f.spot}; ; spots = append(spots, f.spot) {
		t, _, ok := x.best(mesh, weights{held: 1, time: second, spots: spots})
		if !ok || t == nil {
			return
		}
		f.trials = append(f.trials, t)
		p := x.plan(t)
		if _, f.spot = p.peak(); len(spots) == most || slices.Contains(spots, f.spot) {
			for _, s := range [][]int{{f.spot}, spots}[:min(2, len(spots))] {
				if _, least, ok := x.best(mesh, weights{held: 1, spots: s}); ok {
					f.bounds[1] = max(f.bounds[1], least)
				}
			}
			return
		}
	}
}

// fitting looks for the fastest plans that the memory of a device has room for, where the fastest of all takes more: mesh by mesh, in the order of what is
// known of their time, until no other mesh can have a faster one.
func (x *Space) fitting(workers int, all []proven) {
	const together = 8 // meshes, whatever the number of workers, of which what comes out may not depend
	best := math.Inf(1)
	var order []int
	for i, f := range all {
		if len(f.trials) > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[a].bounds[0], all[b].bounds[0]) })
	for n := 0; n < len(order) && all[order[n]].bounds[0] < best; n += together {
		batch := order[n:min(n+together, len(order))]
		times := make([]float64, len(batch))
		each(workers, len(batch), func(i int) { times[i] = all[batch[i]].fit(x, batch[i]) })
		best = min(best, slices.Min(times))
	}
}

// fit gives the time of the fastest plan of a mesh that was found and fits. A byte that is held at a spot has a price in seconds, which rises until plans fit: what a
// sum of time and of that is at least, less the price of the limit, is a bound of the time of all that fit (Lagrange).
func (f *proven) fit(x *Space, mesh int) float64 {
	limit, best := x.settings.MaxMemory, math.Inf(1)
	low, high, price, spots := 0.0, 0.0, 0.0, []int{f.spot}
	for step := range 10 {
		trial := f.trials[0]
		if step > 0 {
			t, sum, ok := x.best(mesh, weights{time: 1, held: price, spots: spots})
			if !ok || t == nil {
				break
			}
			trial, f.trials = t, append(f.trials, t)
			f.bounds[0] = max(f.bounds[0], sum-price*limit)
		}
		p := x.plan(trial)
		memory, at := p.peak()
		if limit == 0 || memory <= limit {
			best, high = min(best, p.time()), price
		} else {
			low, spots = price, append(spots, at)
		}
		switch {
		case best <= f.bounds[0]*(1+closely):
			return best
		case step == 0:
			price = p.time() / memory
		case high == 0:
			price *= 8
		case low == 0:
			price /= 8
		default:
			price = math.Sqrt(low * high)
		}
	}
	if limit > 0 && math.IsInf(best, 1) {
		if t := repaired(x, f.trials, mesh); t != nil {
			p := x.plan(t)
			best, f.trials = p.time(), append(f.trials, t)
		}
	}
	return best
}

// repaired looks for a plan that fits near the one of some that holds least, by changes that hold no more: of what different spots hold, the average may have no plan between two extremes. It is
// nil if none is found.
func repaired(x *Space, from []search.Trial, mesh int) (t search.Trial) {
	const changes = 2000
	r, mutators, least := rand.New(rand.NewPCG(uint64(mesh), 1)), x.Mutators(), math.Inf(1)
	for _, u := range from {
		p := x.plan(u)
		if m, _ := p.peak(); m < least {
			t, least = u, m
		}
	}
	for range changes {
		u := slices.Clone(t)
		if !mutators[r.IntN(len(mutators))].Mutate(r, u) || int(u[0]) != mesh {
			continue
		}
		p := x.plan(u)
		if m, _ := p.peak(); m <= least && !math.IsInf(p.time(), 1) {
			t, least = u, m
		}
		if least <= x.settings.MaxMemory {
			return t
		}
	}
	return nil
}

// closely is the part of the time of a plan by which no faster one is looked for.
const closely = 1e-4

// alone gives bounds of each objective from each operation and each tensor by itself.
func (x *Space) alone(mesh int) (bounds [3]float64) {
	t := x.tables[mesh]()
	for i, least := range t.least() {
		bounds[0] += x.ops[i].count * least
	}
	for _, s := range x.spots {
		now := 0.0
		for i, y := range x.tensors {
			if y.leaf {
				now += y.at[s.Stage] * slices.Min(t.bytes[i])
			}
		}
		for _, l := range s.Live {
			if !x.tensors[l.Tensor].joined {
				now += l.Count * slices.Min(t.bytes[l.Tensor])
			}
		}
		bounds[1] = max(bounds[1], now)
	}
	return bounds
}
