package calibrate

import (
	"cmp"
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Limits of states: by which factor paces and hops of one are apart, which part of all paces must be of a state that counts, how long is waited for that state at a time, between looks, and what may be measured between two.
const (
	alikePaces = 1.2
	alikeHops  = 1.5
	often      = 0.25
	patience   = 3 * time.Second
	interval   = 5 * time.Millisecond
	between    = 10 * time.Millisecond
)

// mostTries is how often something is measured at most in a round, and beforehand how long paces are taken before anything is, so that it is known which states there are.
const (
	mostTries  = 10
	beforehand = 2 * time.Second
)

// hopRuns is how often the program of a hop runs, and hopEvery how far in time those are apart whose median is usual: what is waited for would be looked at less often than what is not.
const (
	hopRuns  = 200
	hopEvery = 200 * time.Millisecond
)

// paceRuns is how often the program of a pace runs.
const paceRuns = 3000

// Pace is how many seconds each core took for arithmetic in its first cache, all of them at once. A program on n threads runs on the first n.
type Pace []float64

// pace measures the cores. Those of a virtual machine may take half as long again while another machine computes on the other thread of the same core, each by itself.
func (r *Run) pace(ctx context.Context) (Pace, error) {
	at := slices.IndexFunc(r.probes, func(p probe) bool { return p.what == arithmetic && p.dtype == "float32" && p.threads == 1 })
	if at < 0 {
		return nil, nil
	}
	pace := make(Pace, len(r.cores))
	group, measuring := errgroup.WithContext(ctx)
	for i := range r.cores {
		group.Go(func() (err error) {
			pace[i], err = timeOn(measuring, r.cores[i:i+1], r.probes[at].program, paceRuns, 1, warmUp)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	r.note(pace)
	return pace, nil
}

// order puts the core first that is fastest now: what runs on one thread runs on the first. Of cores that are looked at together it is the slowest, for which the others wait.
func (r *Run) order(pace Pace) (ordered Pace) {
	at := make([]int, len(pace))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(i, j int) int {
		if r.options.Together > 1 {
			i, j = j, i
		}
		return cmp.Compare(pace[i], pace[j])
	})
	cores := slices.Clone(r.cores)
	for to, from := range at {
		ordered, r.cores[to] = append(ordered, pace[from]), cores[from]
	}
	return ordered
}

// note counts a pace. Usual is the fastest state in which as many cores as are looked at together all are in as many of all paces as the options ask for; if there is none, the one in which they are
// most often.
func (r *Run) note(pace Pace) {
	r.counted++
	together := slices.Sorted(slices.Values(pace))[:min(max(r.options.Together, 1), len(pace))]
	if len(together) == 0 || slices.Max(together)/alikePaces > slices.Min(together) {
		return
	}
	insert := func(list []float64, t float64) []float64 {
		at, _ := slices.BinarySearch(list, t)
		return slices.Insert(list, at, t)
	}
	r.from, r.to = insert(r.from, slices.Max(together)/alikePaces), insert(r.to, slices.Min(together))
	most, past, found := 0, 0, 0.0
	for i, t := range r.from { // these are where a state may begin that so many paces were of; those past have their end before
		for r.to[past] < t {
			past++
		}
		if found > 0 && t > alikePaces*found {
			return
		}
		if n := i + 1 - past; n > most {
			most, r.fastest = n, t
		}
		if found == 0 && float64(most) >= cmp.Or(r.options.Often, often)*float64(r.counted) {
			found = t
		}
	}
}

// State is what the cores were like at a moment: how fast each was, and for several threads the seconds of a program in which one core waits for another again and again: those of a virtual
// machine may be moved, and cores that have a cache in common are another machine than cores that have none. The latter is 0 for one thread.
type State struct {
	Pace Pace
	Hop  float64
}

// look gives the state of the cores for so many threads.
func (r *Run) look(ctx context.Context, threads int64) (s State, err error) {
	if s.Pace, err = r.pace(ctx); err != nil || threads == 1 {
		return s, err
	}
	at := slices.IndexFunc(r.probes, func(p probe) bool { return p.what == handing })
	if at < 0 {
		return s, nil
	}
	p := &r.probes[at]
	s.Hop, err = timeOn(ctx, r.first(p.threads), p.program, hopRuns, p.threads, warmUp)
	if now := time.Now(); err == nil && now.Sub(r.hopped) > hopEvery {
		r.hops, r.hopped = append(r.hops, s.Hop), now
		r.apart = Median(r.hops)
	}
	return s, err
}

// Unusual says whether the cores were not as they usually are for so many threads: one that these run on slower or faster, or, of several, farther apart or nearer.
func (r *Run) Unusual(s State, threads int64) bool {
	if threads > 1 && max(s.Hop, r.apart) > alikeHops*min(s.Hop, r.apart) {
		return true
	}
	return slices.ContainsFunc(s.Pace[:min(threads, int64(len(s.Pace)))], func(t float64) bool { return t < r.fastest || t/alikePaces > r.fastest })
}

// unusual says whether they were, before or behind something on so many threads.
func (r *Run) unusual(states [2]State, threads int64) bool {
	return r.Unusual(states[0], threads) || r.Unusual(states[1], threads)
}

// census looks before anything is measured.
func (r *Run) census(ctx context.Context) error {
	if r.counted > 0 {
		return nil
	}
	for end := time.Now().Add(beforehand); time.Now().Before(end); {
		s, err := r.look(ctx, int64(len(r.cores)))
		if err != nil || s.Pace == nil {
			return err
		}
	}
	return nil
}

// steady measures something on so many threads between two states, of which the first may be known. While there is time for it, what was measured of unusual cores is measured again.
func (r *Run) steady(ctx context.Context, before State, threads int64, measure func() error) (states [2]State, err error) {
	for range mostTries {
		if before.Pace = r.order(before.Pace); before.Pace == nil || threads > 1 && before.Hop == 0 || r.Unusual(before, threads) {
			if before, err = r.settle(ctx, threads); err != nil {
				return states, err
			}
		}
		begin := time.Now()
		if err := measure(); err != nil {
			return states, err
		}
		after, err := r.look(ctx, threads)
		states = [2]State{before, after}
		if err != nil || r.wait <= 0 || !r.unusual(states, threads) {
			return states, err
		}
		before = after
		r.wait -= time.Since(begin)
	}
	return states, nil
}

// settle waits until the cores are as they usually are for so many threads, while there is time for it, and gives their state.
func (r *Run) settle(ctx context.Context, threads int64) (State, error) {
	for end := time.Now().Add(min(patience, r.wait)); ; {
		begin := time.Now()
		s, err := r.look(ctx, threads)
		if s.Pace = r.order(s.Pace); err != nil || !r.Unusual(s, threads) || !begin.Before(end) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(interval):
		}
		r.wait -= time.Since(begin)
	}
}

// usual gives the times of a probe that were measured while the cores were as they usually are; all if they never were.
func (r *Run) usual(p *probe) (out []float64) {
	for i, t := range p.times {
		if !r.unusual(p.states[i], p.threads) {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return p.times
	}
	return out
}
