package search

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// chain is a space of genes in a row: each has costs of its own, and each pair of neighbours has.
type chain struct {
	genes []int
	own   [][][]float64 // of each gene and value, each objective
	pair  [][][]float64
	limit float64 // of the last objective; 0 is none
}

func newChain(seed uint64, genes []int, objectives int) *chain {
	r := rand.New(rand.NewPCG(seed, 5))
	c := &chain{genes: genes}
	table := func(n int) (rows [][]float64) {
		for range n {
			row := make([]float64, objectives)
			for k := range row {
				row[k] = math.Exp(2 * r.NormFloat64())
			}
			rows = append(rows, row)
		}
		return rows
	}
	for i, n := range genes {
		c.own = append(c.own, table(n))
		if i > 0 {
			c.pair = append(c.pair, table(n*genes[i-1]))
		}
	}
	return c
}

func (c *chain) Genes() []int { return c.genes }

func (c *chain) Price(t Trial) Price {
	p := Price{Costs: make([]float64, len(c.own[0][0]))}
	for k := range p.Costs {
		for i, v := range t {
			p.Costs[k] += c.own[i][v][k]
			if i > 0 {
				p.Costs[k] += c.pair[i-1][int(t[i-1])*c.genes[i]+int(v)][k]
			}
		}
	}
	if last := p.Costs[len(p.Costs)-1]; c.limit > 0 && last > c.limit {
		p.Beyond = math.Log(last / c.limit)
	}
	return p
}

// The frontier of points is what no other one dominates, and the hypervolume that of the boxes that they dominate, counted cell by cell.
func TestFrontierAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(0, 9).Draw(t, "points"), rapid.IntRange(1, 3).Draw(t, "objectives")
		var f Frontier
		var all [][]float64
		for range n {
			costs := make([]float64, k)
			for i := range costs {
				costs[i] = math.Exp(float64(rapid.IntRange(0, 6).Draw(t, "cost")))
			}
			all = append(all, costs)
			f.Add(Point{Price: Price{Costs: costs}})
		}
		var want [][]float64
		for i, a := range all {
			if !slices.ContainsFunc(all, func(b []float64) bool { return dominates(b, a) }) &&
				!slices.ContainsFunc(all[:i], func(b []float64) bool { return slices.Equal(a, b) }) {
				want = append(want, a)
			}
		}
		slices.SortFunc(want, slices.Compare)
		var got [][]float64
		for _, p := range f.Points {
			got = append(got, p.Price.Costs)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		reference := slices.Repeat([]float64{math.Exp(6)}, k)
		if v, w := f.Volume(reference), cells(all, k, 6); math.Abs(v-w) > 1e-9*max(1, w) {
			t.Fatalf("the volume of %v is %v, counted %v", all, v, w)
		}
	})
}

// cells counts the unit cells below n in each dimension that points dominate, which lie on corners on a logarithmic scale.
func cells(points [][]float64, k, n int) float64 {
	count := 0
	for c := range int(math.Pow(float64(n), float64(k))) {
		if slices.ContainsFunc(points, func(p []float64) bool {
			rest := c
			for i := range k {
				if math.Log(p[i]) > float64(rest%n)+1e-9 {
					return false
				}
				rest /= n
			}
			return true
		}) {
			count++
		}
	}
	return float64(count)
}

// What a search finds is a function of seed and rounds, whatever the number of workers, and another seed goes another way.
func TestWorkersChangeNothing(t *testing.T) {
	s := newChain(1, slices.Repeat([]int{6}, 14), 2)
	text := func(o Options) string {
		var b strings.Builder
		x := Run(context.Background(), s, o)
		fmt.Fprintln(&b, x.Round, x.Tried, x.Restarts)
		for _, p := range x.Frontier.Points {
			fmt.Fprintln(&b, p)
		}
		for _, r := range x.Rates {
			fmt.Fprintln(&b, r.Mutator.Name, r.Used, r.Applied, r.Part)
		}
		return b.String()
	}
	want := text(Options{Seed: 3, Rounds: 40, Workers: 1})
	for _, workers := range []int{2, 8} {
		if got := text(Options{Seed: 3, Rounds: 40, Workers: workers}); got != want {
			t.Errorf("with %d workers: %s", workers, cmp.Diff(want, got))
		}
	}
	if text(Options{Seed: 4, Rounds: 40, Workers: 1}) == want {
		t.Error("another seed gives the same trials")
	}
}

// A search finds nearly all that going through everything does, and more than random trials do.
func TestSearchAgainstAll(t *testing.T) {
	for objectives := 2; objectives <= 3; objectives++ {
		for seed := range uint64(4) {
			s := newChain(seed, []int{5, 4, 6, 3, 5, 4, 5}, objectives)
			all, worst, ok := Enumerate(s, 100000)
			if !ok {
				t.Fatal("the space is not small")
			}
			for k := range worst {
				worst[k] *= 1.1
			}
			x := Run(context.Background(), s, Options{Seed: seed, Rounds: -1})
			found := x.Frontier.Volume(worst) / all.Volume(worst)
			other := Random(s, seed, x.Tried)
			if found < 0.99 || x.Why != "settled" || other.Volume(worst)/all.Volume(worst) > found {
				t.Errorf("%d objectives, seed %d: %.4f of the volume, random trials %.4f; it ended because of %s after %d trials", objectives, seed, found,
					other.Volume(worst)/all.Volume(worst), x.Why, x.Tried)
			}
		}
	}
}

// Trials outside a hard limit lead inside, and none of them is on the frontier.
func TestLimitsAreReached(t *testing.T) {
	s := newChain(2, slices.Repeat([]int{8}, 12), 2)
	free := Run(context.Background(), s, Options{Rounds: 60})
	s.limit = free.Frontier.Points[free.Frontier.Best(1)].Price.Costs[1] * 1.05
	inside := 0
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		if s.Price(random(r, s.genes)).Beyond == 0 {
			inside++
		}
	}
	x := Run(context.Background(), s, Options{Rounds: 150})
	if inside > 0 || len(x.Frontier.Points) == 0 {
		t.Fatalf("%d of 2000 random trials are inside the limit; the search found %d", inside, len(x.Frontier.Points))
	}
	for _, p := range x.Frontier.Points {
		if p.Price.Beyond > 0 || p.Price.Costs[1] > s.limit {
			t.Errorf("%v is on the frontier, beyond %v", p, s.limit)
		}
	}
}

// strait is a space of two shores: the more genes are 1 the less time a trial takes, but one that is half of this and half of that has more memory than there is. Bridged says
// whether what is outside the limit is a plan at all.
type strait struct {
	genes   int
	bridged bool
}

func (s strait) Genes() []int   { return slices.Repeat([]int{2}, s.genes) }
func (s strait) Seeds() []Trial { return []Trial{make(Trial, s.genes)} }

func (s strait) Price(t Trial) Price {
	ones := 0
	for _, v := range t {
		ones += int(v)
	}
	p := Price{Costs: []float64{math.Exp(-float64(ones) / 10), 1 + float64(min(ones, s.genes-ones))/20}}
	if p.Beyond = max(0, math.Log(p.Costs[1]/1.1)); p.Beyond > 0 && !s.bridged {
		p.Beyond = math.Inf(1)
	}
	return p
}

// A search goes through trials outside a hard limit to what is inside it on the other side, where no change of one trial inside it leads; it never gets there where what is outside is no plan.
func TestLimitsAreCrossed(t *testing.T) {
	for seed := range uint64(5) {
		for _, bridged := range []bool{true, false} {
			s := strait{24, bridged}
			x := Run(context.Background(), s, Options{Rounds: 120, Seed: seed})
			across := false
			for _, p := range x.Frontier.Points {
				across = across || !slices.Contains(p.Trial, 0)
			}
			if across != bridged {
				t.Errorf("seed %d: the other shore was reached: %v, though what is between is a plan: %v", seed, across, bridged)
			}
		}
	}
}

// No mutator dies, and one without fuel is used as often as it has fuel, and no more.
func TestRates(t *testing.T) {
	s := newChain(3, slices.Repeat([]int{6}, 14), 2)
	x := Run(context.Background(), s, Options{Rounds: 100, Fuel: map[string]int{"few": 0, "one": 300}})
	for _, r := range x.Rates {
		if r.Mutator.Name == "one" { // which has fuel for a part of the second round
			if r.Used < 250 || r.Used > 300 {
				t.Errorf("a mutator with fuel for 300 was used %d times", r.Used)
			}
			continue
		}
		if name := r.Mutator.Name; (name == "few") != (r.Part == 0) || (name == "few") != (r.Used == 0) || name != "few" && r.Part < neverBelow/8 {
			t.Errorf("mutator %s: used %d times, has %.3f of the next round", name, r.Used, r.Part)
		}
	}
	if x.Why != "rounds" || x.Round != 100 {
		t.Errorf("it ended in round %d because of %s", x.Round, x.Why)
	}
}

// A context that is over ends a search, which gives what it had; a search goes on from what another found.
func TestInterruptAndResume(t *testing.T) {
	s := newChain(4, slices.Repeat([]int{6}, 14), 2)
	ctx, cancel := context.WithCancel(context.Background())
	x := Run(ctx, s, Options{Rounds: -1, Watch: func(s *State) {
		if s.Round == 7 {
			cancel()
		}
	}})
	if x.Why != "interrupted" || x.Round != 7 || len(x.Frontier.Points) == 0 {
		t.Fatalf("%s in round %d with %d points", x.Why, x.Round, len(x.Frontier.Points))
	}
	on := Run(context.Background(), s, Options{Rounds: 0, Resume: x.Frontier.Points})
	for _, p := range x.Frontier.Points {
		if !slices.ContainsFunc(on.Frontier.Points, func(q Point) bool { return !dominates(p.Price.Costs, q.Price.Costs) }) {
			t.Errorf("%v is lost", p)
		}
	}
	worst := []float64{1e4, 1e4}
	if on.Frontier.Volume(worst) < x.Frontier.Volume(worst) {
		t.Error("the frontier that was resumed is smaller")
	}
}

// Hill climbing and annealing price as many trials as they are given, and are better than random ones on a space with neighbours.
func TestOtherSearches(t *testing.T) {
	s := newChain(5, slices.Repeat([]int{6}, 14), 2)
	worst := []float64{1e4, 1e4}
	const trials = 4000
	climb, anneal, random := Climb(s, 1, trials), Anneal(s, 1, trials), Random(s, 1, trials)
	if climb.Volume(worst) <= random.Volume(worst) || anneal.Volume(worst) <= random.Volume(worst) {
		t.Errorf("random %.3f, climbing %.3f, annealing %.3f", random.Volume(worst), climb.Volume(worst), anneal.Volume(worst))
	}
}

// What is nearly as good as another point is on the frontier while it is the best in an objective, and no longer.
func TestFrontierNear(t *testing.T) {
	f := Frontier{Near: 0.01}
	add := func(costs ...float64) { f.Add(Point{Price: Price{Costs: costs}}) }
	add(1, 100)
	add(1.5, 99.9)
	if len(f.Points) != 2 {
		t.Errorf("%+v: expected the best of the second objective as well", f.Points)
	}
	add(2, 99.8)
	if len(f.Points) != 2 || f.Points[1].Price.Costs[0] != 2 {
		t.Errorf("%+v: expected the best of each objective", f.Points)
	}
	add(3, 90)
	add(4, 80)
	if len(f.Points) != 3 || f.Points[1].Price.Costs[0] != 3 {
		t.Errorf("%+v: expected (2, 99.8) to be gone, and (3, 90), which no other is near, to stay", f.Points)
	}
}
