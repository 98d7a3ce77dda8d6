package calibrate

import (
	"cmp"
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Limits of paces: by which factor those of one state of a core are apart, of how many paces one must be of a state that counts, how long is waited for that state at a time, between looks, and what may be measured between two.
const (
	alikePaces = 1.2
	often      = 4
	patience   = 3 * time.Second
	interval   = 20 * time.Millisecond
	between    = 10 * time.Millisecond
)

// mostTries is how often something is measured at most in a round, and beforehand how long paces are taken before anything is, so that it is known which states there are.
const (
	mostTries  = 10
	beforehand = 2 * time.Second
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
			pace[i], err = timeOn(measuring, r.cores[i:i+1], r.probes[at].program, paceRuns, 1)
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

// note counts a pace. Usual is the fastest state in which as many cores as are looked at together all are in a quarter of all paces; if there is none, the one in which they are most often.
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
		if found == 0 && often*most >= r.counted {
			found = t
		}
	}
}

// Unusual says whether one of the cores that so many threads run on was slower or faster than cores usually are.
func (r *Run) Unusual(pace Pace, threads int64) bool {
	return slices.ContainsFunc(pace[:min(threads, int64(len(pace)))], func(t float64) bool { return t < r.fastest || t/alikePaces > r.fastest })
}

// unusual says whether they were, before or behind something on so many threads.
func (r *Run) unusual(paces [2]Pace, threads int64) bool {
	return r.Unusual(paces[0], threads) || r.Unusual(paces[1], threads)
}

// census takes paces before anything is measured.
func (r *Run) census(ctx context.Context) error {
	if r.counted > 0 {
		return nil
	}
	for end := time.Now().Add(beforehand); time.Now().Before(end); {
		pace, err := r.pace(ctx)
		if err != nil || pace == nil {
			return err
		}
	}
	return nil
}

// steady measures something on so many threads between two paces, of which the first may be known. While there is time for it, what was measured of unusual cores is measured again.
func (r *Run) steady(ctx context.Context, before Pace, threads int64, measure func() error) (paces [2]Pace, err error) {
	for range mostTries {
		if before = r.order(before); before == nil || r.Unusual(before, threads) {
			if before, err = r.settle(ctx, threads); err != nil {
				return paces, err
			}
		}
		begin := time.Now()
		if err := measure(); err != nil {
			return paces, err
		}
		after, err := r.pace(ctx)
		paces = [2]Pace{before, after}
		if err != nil || r.wait <= 0 || !r.unusual(paces, threads) {
			return paces, err
		}
		before = after
		r.wait -= time.Since(begin)
	}
	return paces, nil
}

// settle waits until the cores that so many threads run on are as they usually are, while there is time for it, and gives their pace.
func (r *Run) settle(ctx context.Context, threads int64) (Pace, error) {
	for end := time.Now().Add(min(patience, r.wait)); ; {
		begin := time.Now()
		pace, err := r.pace(ctx)
		if pace = r.order(pace); err != nil || !r.Unusual(pace, threads) || !begin.Before(end) {
			return pace, err
		}
		select {
		case <-ctx.Done():
			return pace, ctx.Err()
		case <-time.After(interval):
		}
		r.wait -= time.Since(begin)
	}
}

// usual gives the times of a probe that were measured while the cores were as they usually are; all if they never were.
func (r *Run) usual(p *probe) (out []float64) {
	for i, t := range p.times {
		if !r.unusual(p.paces[i], p.threads) {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return p.times
	}
	return out
}
