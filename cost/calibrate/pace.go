package calibrate

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Limits of paces: by which factor those of one state of a core are apart, how long is waited for that state at a time, between looks, and what may be measured between two.
const (
	alikePaces = 1.2
	patience   = 3 * time.Second
	interval   = 20 * time.Millisecond
	between    = 200 * time.Millisecond
)

// paceRuns is how often the program of a pace runs.
const paceRuns = 5

// Pace is how many seconds each core took for a product of matrices, all of them at once. A program on n threads runs on the first n.
type Pace []float64

// Pace measures the cores. Those of a virtual machine may take half as long again while another machine computes on the other thread of the same core, each by itself.
func (r *Run) Pace(ctx context.Context) (Pace, error) {
	at := slices.IndexFunc(r.probes, func(p probe) bool { return p.what == products && p.dtype == "float32" && p.threads == 1 })
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

// note counts a pace. Cores are as usual while their paces are in the range that most paces of this run are in; in the faster one of two that are as common.
func (r *Run) note(pace Pace) {
	for _, t := range pace {
		at, _ := slices.BinarySearch(r.paces, t)
		r.paces = slices.Insert(r.paces, at, t)
	}
	most, end := 0, 0
	for i, t := range r.paces {
		for end < len(r.paces) && r.paces[end] <= alikePaces*t {
			end++
		}
		if end-i > most {
			most, r.fastest = end-i, t
		}
	}
}

// Unusual says whether one of the cores that so many threads run on was slower or faster than cores mostly are.
func (r *Run) Unusual(pace Pace, threads int64) bool {
	return slices.ContainsFunc(pace[:min(threads, int64(len(pace)))], func(t float64) bool { return t < r.fastest || t > alikePaces*r.fastest })
}

// Settle waits until the cores that so many threads run on are as they usually are, while there is time for it, and gives their pace.
func (r *Run) Settle(ctx context.Context, threads int64) (Pace, error) {
	for end := time.Now().Add(min(patience, r.wait)); ; {
		begin := time.Now()
		pace, err := r.Pace(ctx)
		if err != nil || !r.Unusual(pace, threads) || !begin.Before(end) {
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
