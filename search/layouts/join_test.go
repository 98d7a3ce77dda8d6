package layouts

import (
	"math"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/cost/collective"
	"tensortapestry.org/tapc/cost/reshard"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/fusion"
)

// joinedKernels is what the kernels of a plan take: operations that are joined, all of each together.
func joinedKernels(p *plan) (sum float64) {
	x := p.tables.space
	g, classes := &x.found.joins.groups, x.found.joins.classes
	of := make([]int, len(g.Steps))
	for i := range of {
		of[i] = i
	}
	root := func(i int) int {
		for of[i] != i {
			i = of[i]
		}
		return i
	}
	for i, s := range g.Steps {
		for _, o := range s {
			if maker, made := g.Makers[o.Tensor]; made && !o.Out && g.Unstored[o.Tensor] && p.joined(x.found.tensorOf[ir.NodeID(o.Tensor)]) {
				of[root(i)] = root(maker)
			}
		}
	}
	groups := make([][]fusion.Part, len(of))
	for i := range of {
		groups[root(i)] = append(groups[root(i)], fusion.Part{Step: i, Cut: p.cuts[classes[i]]})
	}
	for _, list := range groups {
		if list != nil {
			sum += p.tables.together(list)
		}
	}
	return sum
}

// What docs/search.md says of fusion, that is no row of the table: no plan is better without it, as nothing that is spared is below zero, and what a plan takes is the sum of its kernels where these are cut alike,
// and near to it elsewhere.
func TestFusionIsNeverWorse(t *testing.T) {
	x := layerSpace(t, 0)
	joined := 0
	for _, y := range x.tensors {
		if y.joined {
			joined++
		}
	}
	if joined < 3 {
		t.Fatalf("%d tensors are not stored", joined)
	}
	r, sums := rand.New(rand.NewPCG(19, 5)), 0
	check := func(name string, trial search.Trial, near float64) {
		p := x.plan(trial)
		moves := 0.0
		for i := range x.edges {
			moves += x.times[i] * p.move(i).time
		}
		own, all := p.time()-moves, joinedKernels(&p)
		if math.IsInf(own, 1) || math.IsNaN(own) {
			return
		}
		sums++
		if math.Abs(own-all) > near*all {
			t.Errorf("%s: %v, and its kernels %v", name, own, all)
		}
	}
	check("the fastest", x.Prove(2).Trials[0], 1e-9)
	check("tensor parallel", tensorParallel(t, x), 0.05)
	for range 200 {
		trial := make(search.Trial, len(x.genes))
		for i, n := range x.genes {
			trial[i] = uint16(r.IntN(n))
		}
		for range 40 {
			fit(x, r, trial)
			rest(x, r, trial)
		}
		check("a plan", trial, 0.05)
	}
	if sums < 50 {
		t.Errorf("%d plans", sums)
	}
	for _, of := range x.tables {
		for e, row := range of().saved {
			for _, s := range row {
				if s < 0 {
					t.Errorf("edge %d spares %v", e, s)
				}
			}
		}
	}
}

// What it says of transfers: all of a collective at once, each sent from where its part is, is one of the algorithms whose fastest a move takes.
func TestCollectivesAreNeverWorse(t *testing.T) {
	x := layerSpace(t, 0)
	place := x.tables[0]().place
	for _, kind := range []collective.Kind{collective.AllGather, collective.ReduceScatter, collective.AllReduce, collective.AllToAll} {
		for _, bytes := range []float64{1, 1e3, 1e6, 1e9} {
			fastest, err := place.Fastest(reshard.Step{Kind: kind, Axes: planfile.Axes{0, 1, 2}, Dim: 0, Bytes: bytes})
			if err != nil {
				t.Fatal(err)
			}
			all, err := collective.Of(place.Layout, kind, place.Devices, bytes)
			if err != nil {
				t.Fatal(err)
			}
			direct := false
			for _, p := range all {
				direct = direct || p.Algorithm == "direct"
				if p.Seconds.Value < fastest.Seconds.Value*(1-1e-9) {
					t.Errorf("%v of %v bytes: %s takes %v, the fastest %v", kind, bytes, p.Algorithm, p.Seconds.Value, fastest.Seconds.Value)
				}
			}
			if !direct {
				t.Errorf("%v has no direct algorithm", kind)
			}
		}
	}
}
