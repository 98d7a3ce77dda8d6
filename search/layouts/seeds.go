package layouts

import (
	"math"
	"slices"
	"sync"

	"tensortapestry.org/tapc/search"
)

// Proof is what dynamic programming found of a space: for each objective, a cost that no plan goes below, and the trials that it knows. Exact says that it
// went through all meshes, so that the bound of time is the optimum.
type Proof struct {
	Bounds []float64
	Exact  bool
	Trials []search.Trial
}

// maxProven is how many meshes dynamic programming goes through.
const maxProven = 80

// Prove finds the plans that are best in weighted sums of the objectives, and bounds of each objective.
func (x *Space) Prove(workers int) *Proof {
	type found struct {
		trials []search.Trial
		bounds [3]float64
		exact  bool
	}
	all := make([]found, min(len(x.meshes), maxProven))
	var wait sync.WaitGroup
	workers = max(1, min(workers, len(all)))
	for w := range workers {
		wait.Go(func() {
			for i := w; i < len(all); i += workers {
				f := &all[i]
				f.trials, f.bounds, f.exact = x.proveMesh(i)
			}
		})
	}
	wait.Wait()
	p := &Proof{Exact: len(all) == len(x.meshes)}
	bounds := [3]float64{math.Inf(1), math.Inf(1), math.Inf(1)}
	for _, f := range all {
		p.Exact = p.Exact && f.exact
		p.Trials = append(p.Trials, f.trials...)
		for k := range bounds {
			bounds[k] = min(bounds[k], f.bounds[k])
		}
	}
	if len(all) < len(x.meshes) {
		bounds = [3]float64{} // nothing is known of the other meshes
	}
	for _, c := range x.costs {
		p.Bounds = append(p.Bounds, bounds[c])
	}
	return p
}

// slopes are the weights of memory against time that are tried, in parts of the fastest plan's.
var slopes = []float64{0.01, 0.1, 0.3, 1, 3, 30}

// proveMesh does it for one mesh. Of time and of what is sent the optimum is a bound; where it takes too long to find, and of memory, each operation and tensor by
// itself gives one.
func (x *Space) proveMesh(mesh int) (trials []search.Trial, bounds [3]float64, exact bool) {
	bounds = x.alone(mesh)
	fast, time, exact := x.best(mesh, weights{time: 1})
	if !exact {
		return nil, bounds, false
	}
	if bounds[0] = time; fast == nil {
		return nil, [3]float64{math.Inf(1), math.Inf(1), math.Inf(1)}, true
	}
	trials = append(trials, fast)
	p := x.plan(fast)
	memory, sent := p.memory(), max(p.sent(), 1)
	if slices.Contains(x.costs, 2) {
		if _, least, ok := x.best(mesh, weights{sent: 1}); ok {
			bounds[2] = max(least, 1)
		}
		if quiet, _, ok := x.best(mesh, weights{sent: 1, time: 1e-3 * sent / time}); ok && quiet != nil {
			trials = append(trials, quiet)
		}
	}
	if len(x.meshes) > 1 {
		return trials, bounds, true
	}
	for _, s := range slopes {
		per := s * time / memory
		for _, w := range []weights{{time: 1, always: per}, {time: 1, always: per, between: per / 8}, {time: 1, always: per, between: per}} {
			if t, _, ok := x.best(mesh, w); ok && t != nil {
				trials = append(trials, t)
			}
		}
	}
	return trials, bounds, true
}

// alone gives bounds of each objective from each operation and each tensor by itself.
func (x *Space) alone(mesh int) (bounds [3]float64) {
	t := x.tables[mesh]()
	for i, o := range x.ops {
		bounds[0] += o.count * slices.Min(t.time[i])
	}
	for i, y := range x.tensors {
		if y.leaf {
			bounds[1] += y.count * slices.Min(t.bytes[i])
		}
	}
	most := 0.0
	for _, s := range x.spots {
		now := 0.0
		for _, l := range s.live {
			now += l.count * slices.Min(t.bytes[l.tensor])
		}
		most = max(most, now)
	}
	bounds[1] += most
	return bounds
}
