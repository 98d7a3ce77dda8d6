package search

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Options say how long and with what a search runs.
type Options struct {
	Seed    uint64
	Rounds  int            // at most; below 0 until more search is worth nothing
	Until   time.Time      // after which no round begins; the zero time is never
	Workers int            // that price trials; 0 is one
	Trials  int            // of a round; 0 is DefaultTrials
	Fuel    map[string]int // how often mutators may be used, by name; those that are not there always may
	Near    float64        // a part of costs that is worth nothing: Frontier.Near
	Resume  []Point        // points to begin with
	Memory  *Memory        // of an earlier search whose frontier Resume is: it goes on; nil begins anew
	Bare    bool           // without the trials that the space knows
	Watch   func(*State)   // is told of every round
}

// DefaultTrials is how many trials a round has.
const DefaultTrials = 256

// State is how far a search is.
type State struct {
	Frontier Frontier
	Round    int
	Tried    int // trials that were priced
	Restarts int
	Rates    []Rate
	Why      string  // it ended
	Fault    error   // why it failed: what of a round came before is not taken in
	Memory   *Memory // with which it can go on, once it has ended
}

// Rate is what is known of a mutator. Part is its part of the trials of the next round.
type Rate struct {
	Mutator       Mutator
	Used, Applied int
	Gained        float64 // points that came on the frontier; earlier ones count less
	Weight        float64 // uses that this is of; the same
	Part          float64
	drawn         int // in this round
}

// The numbers of a search: how many points beside the frontier are parents, how many rounds without gain lead to a restart, how many restarts without
// gain end it, and how large a frontier grows.
const (
	poolSize       = 192
	patience       = 10
	idleRestarts   = 6
	frontierLimit  = 512
	neverBelow     = 0.25 // of an even part, which every mutator keeps
	priorTrials    = 64.0 // that count as if half of an average mutator's had gained
	forgetting     = 0.98 // of what counts, from round to round
	distanceScale  = 0.25 // of a parent from the frontier, on logarithmic scales, that makes it e times rarer
	worthOfRestart = 0.02 // of the frontier's points, which a restart has to renew to count
)

// engine is one search.
type engine struct {
	State
	space    Space
	genes    []int
	options  Options
	pool     []Point // parents beside the frontier: near it, or outside the limits
	seen     seen
	progress progress
}

// progress is what says when to begin again elsewhere, and when to end.
type progress struct {
	idle    int     // rounds without gain
	barren  int     // restarts without gain
	renewed int     // points that came on the frontier since the restart
	beyond  float64 // of the point nearest to the limits, while none is inside
	started bool    // there is such a point
}

// Run searches a space. A context that ends ends it after the round: what was found is given.
func Run(ctx context.Context, s Space, o Options) *State {
	e := &engine{space: s, genes: s.Genes(), options: o, seen: newSeen(s)}
	e.Frontier.Near = o.Near
	for _, m := range append(own(e), mutatorsOf(s)...) {
		e.Rates = append(e.Rates, Rate{Mutator: m, Gained: priorTrials / 4, Weight: priorTrials})
	}
	if o.Memory != nil {
		e.recall(o.Memory, o.Resume)
	} else {
		e.begin()
	}
	for e.Why = e.ended(ctx); e.Why == ""; e.Why = e.ended(ctx) {
		e.round()
		if o.Watch != nil {
			o.Watch(&e.State)
		}
	}
	e.Memory = e.memory()
	return &e.State
}

func mutatorsOf(s Space) []Mutator {
	if m, ok := s.(Mutating); ok {
		return m.Mutators()
	}
	return nil
}

// begin prices the trials to begin with: those that the space knows, those of an earlier search, and random ones.
func (e *engine) begin() {
	var first []child
	for _, p := range e.options.Resume {
		if len(p.Trial) == len(e.genes) {
			first = append(first, child{trial: p.Trial, from: -1, word: p.From})
		}
	}
	if s, ok := e.space.(Seeded); ok && !e.options.Bare {
		for _, t := range s.Seeds() {
			first = append(first, child{trial: t, from: -1, word: "known"})
		}
	}
	r := e.random(0)
	for range max(e.trials()/8, 1) {
		first = append(first, child{trial: random(r, e.genes), from: -1, word: "random"})
	}
	e.merge(first, e.price(first))
	e.forget()
}

func (e *engine) trials() int {
	if e.options.Trials > 0 {
		return e.options.Trials
	}
	return DefaultTrials
}

// random gives the numbers of one trial: they depend on the seed, the round and the trial alone.
func (e *engine) random(trial int) *rand.Rand {
	return rand.New(rand.NewPCG(e.options.Seed, uint64(e.Round)<<32|uint64(trial)))
}

// ended says why no further round begins, if none does.
func (e *engine) ended(ctx context.Context) string {
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case e.Fault != nil:
		return "failed"
	case e.options.Rounds >= 0 && e.Round >= e.options.Rounds:
		return "rounds"
	case !e.options.Until.IsZero() && !time.Now().Before(e.options.Until):
		return "time"
	case e.options.Rounds < 0 && e.progress.barren >= idleRestarts:
		return "settled"
	}
	return ""
}

// child is a trial that a round prices. From is the mutator that made it, -1 for none.
type child struct {
	trial Trial
	from  int
	word  string
	seed  uint64 // of a mutator that changes many trials at a time and has not changed this one yet
}

// round makes trials of parents, prices them, and takes them in, in their order.
func (e *engine) round() {
	e.Round++
	if e.progress.idle >= patience {
		e.restart()
	}
	list := make([]child, 0, e.trials())
	for i := range e.Rates {
		e.Rates[i].drawn = 0
	}
	for i := range e.trials() {
		if c, ok := e.make(e.random(i + 1)); ok {
			list = append(list, c)
		}
	}
	list = e.batches(list)
	prices := e.price(list)
	if e.Fault != nil {
		e.Round-- // it is done again by a search that goes on
		return
	}
	if e.merge(list, prices) == 0 {
		e.progress.idle++
	} else {
		e.progress.idle = 0
	}
	e.forget()
}

// restart leaves the frontier alone and takes other parents beside it: random trials.
func (e *engine) restart() {
	if e.Restarts++; float64(e.progress.renewed) <= worthOfRestart*float64(len(e.Frontier.Points)) {
		e.progress.barren++
	} else {
		e.progress.barren = 0
	}
	e.progress.idle, e.progress.renewed, e.pool = 0, 0, nil
	r := e.random(0)
	var list []child
	for range poolSize / 2 {
		list = append(list, child{trial: random(r, e.genes), from: -1, word: "restart"})
	}
	e.merge(list, e.price(list))
}

// attempts is how often a mutator is drawn until one applies and gives a trial that was not priced yet.
const attempts = 8

// make draws a parent and mutators until there is a new trial.
func (e *engine) make(r *rand.Rand) (child, bool) {
	for range attempts {
		parent, ok := e.parent(r)
		if !ok {
			return child{trial: random(r, e.genes), from: -1, word: "random"}, true
		}
		t := slices.Clone(parent.Trial)
		m := e.draw(r)
		if m >= 0 && e.fuelled(m) && e.Rates[m].Mutator.Batch != nil {
			e.Rates[m].drawn++
			return child{t, m, e.Rates[m].Mutator.Name, r.Uint64()}, true
		}
		if m >= 0 && e.fuelled(m) && e.Rates[m].Mutator.Mutate(r, t) && !e.seen.has(t) {
			e.Rates[m].drawn++
			return child{trial: t, from: m, word: e.Rates[m].Mutator.Name}, true
		}
	}
	return child{}, false
}

// fuelled says whether a mutator may be used once more.
func (e *engine) fuelled(m int) bool {
	x := &e.Rates[m]
	fuel, bounded := e.options.Fuel[x.Mutator.Name]
	return !bounded || x.Used+x.drawn < fuel
}

// parent draws one on the frontier, of which the ends of the objectives come oftener, or one near it.
func (e *engine) parent(r *rand.Rand) (Point, bool) {
	f := e.Frontier.Points
	n := len(f) + len(e.pool)
	switch {
	case n == 0:
		return Point{}, false
	case len(e.pool) == 0 || len(f) > 0 && r.IntN(10) < 6:
		if r.IntN(8) == 0 {
			return f[e.Frontier.Best(r.IntN(len(f[0].Price.Costs)))], true
		}
		return f[r.IntN(len(f))], true
	}
	return e.pool[r.IntN(len(e.pool))], true
}

// draw draws a mutator by its part.
func (e *engine) draw(r *rand.Rand) int {
	at := r.Float64()
	for i, m := range e.Rates {
		if at -= m.Part; at < 0 {
			return i
		}
	}
	return len(e.Rates) - 1
}

// price prices trials on all workers.
func (e *engine) price(list []child) []Price {
	out := make([]Price, len(list))
	workers := max(1, min(e.options.Workers, len(list)))
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for i := w; i < len(list); i += workers {
				out[i] = e.space.Price(list[i].trial)
			}
		})
	}
	wait.Wait()
	if s, ok := e.space.(charging); ok {
		trials := make([]Trial, len(list))
		for i, c := range list {
			trials[i] = c.trial
		}
		if err := s.Charge(trials, out); err != nil {
			e.Fault = err
			for i := range out {
				out[i].Beyond = math.Inf(1) // no plan
			}
		}
	}
	return out
}

// batches lets mutators that change many trials at a time change those that they were drawn for. Those that it does not apply to, or changes into what was tried, go.
func (e *engine) batches(list []child) (out []child) {
	gone := make([]bool, len(list))
	for m := range e.Rates {
		var trials []Trial
		var seeds []uint64
		var at []int
		for i, c := range list {
			if c.from == m && e.Rates[m].Mutator.Batch != nil {
				trials, seeds, at = append(trials, c.trial), append(seeds, c.seed), append(at, i)
			}
		}
		if len(at) == 0 {
			continue
		}
		applied, err := e.Rates[m].Mutator.Batch(trials, seeds)
		if err != nil {
			e.Fault = err
			return nil
		}
		for k, i := range at {
			gone[i] = !applied[k] || e.seen.has(list[i].trial)
		}
	}
	for i, c := range list {
		if !gone[i] {
			out = append(out, c)
		}
	}
	return out
}

// merge takes priced trials in, and gives how many came on the frontier.
func (e *engine) merge(list []child, prices []Price) (gained int) {
	var near []Point
	for i, c := range list {
		if e.Tried++; !e.seen.add(c.trial) {
			continue
		}
		p := Point{c.trial, prices[i], c.word, e.Round}
		on := e.Frontier.Add(p)
		if !on && !math.IsInf(p.Price.Beyond, 1) {
			near = append(near, p)
		}
		if on = on || e.closer(p); on {
			gained++
		}
		e.note(c.from, on)
	}
	e.progress.renewed += gained
	e.thin()
	e.keep(near)
	return gained
}

// closer says whether a point is nearer to the limits than all before, while none is inside them.
func (e *engine) closer(p Point) bool {
	if len(e.Frontier.Points) > 0 || e.progress.started && p.Price.Beyond >= e.progress.beyond || math.IsInf(p.Price.Beyond, 1) {
		return false
	}
	e.progress.started, e.progress.beyond = true, p.Price.Beyond
	return true
}

// note counts what a mutator contributed.
func (e *engine) note(m int, on bool) {
	if m < 0 {
		return
	}
	e.Rates[m].Used++
	e.Rates[m].Weight++
	if on {
		e.Rates[m].Gained++
		e.Rates[m].Applied++
	}
}

// forget lets what mutators gained so far count a little less.
func (e *engine) forget() {
	for i := range e.Rates {
		m := &e.Rates[i]
		m.Weight = max(m.Weight*forgetting, 1)
		m.Gained = max(m.Gained*forgetting, priorTrials/64)
	}
	e.shares()
}

// shares gives each mutator its part of the next round: by what it gained of each use, with a floor, and nothing to one without fuel.
func (e *engine) shares() {
	sum, on := 0.0, 0
	for i := range e.Rates {
		m := &e.Rates[i]
		m.Part = m.Gained / m.Weight
		if fuel, bounded := e.options.Fuel[m.Mutator.Name]; bounded && m.Used >= fuel {
			m.Part = 0
		} else {
			on++
		}
		sum += m.Part
	}
	for i := range e.Rates {
		if m := &e.Rates[i]; m.Part > 0 {
			m.Part = (1-neverBelow)*m.Part/sum + neverBelow/float64(on)
		}
	}
}
