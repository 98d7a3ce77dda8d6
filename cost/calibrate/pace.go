package calibrate

import (
	"context"
	"slices"
	"time"
)

// Limits of paces: by which factor a computation takes longer or shorter than it usually does where the cores are in another state, how long is waited for them at a time, between looks, and what may be measured between two.
const (
	unusual  = 1.15
	patience = 3 * time.Second
	interval = 50 * time.Millisecond
	between  = 500 * time.Millisecond
)

// paceRuns is how often the program of a pace runs.
const paceRuns = 8

// Pace gives the seconds that a product of matrices takes now on all cores. Those of a virtual machine may take twice as long while other machines compute on the same processor.
func (r *Run) Pace(ctx context.Context) (float64, error) {
	var of *probe
	for i := range r.probes {
		if p := &r.probes[i]; p.what == products && p.dtype == "float32" && (of == nil || p.threads > of.threads) {
			of = p
		}
	}
	if of == nil {
		return 0, nil
	}
	t, err := Time(ctx, of.program, paceRuns, of.threads)
	if err == nil {
		at, _ := slices.BinarySearch(r.paces, t)
		r.paces = slices.Insert(r.paces, at, t)
	}
	return t, err
}

// Unusual says whether cores that take so long for that product are slower or faster than they mostly are when nobody else uses them much: a quarter of the paces of this run are shorter.
func (r *Run) Unusual(pace float64) bool {
	if len(r.paces) == 0 {
		return false
	}
	usual := r.paces[len(r.paces)/4]
	return pace > unusual*usual || pace*unusual < usual
}

// Settle waits until cores are as they usually are, while there is time for it, and gives their pace.
func (r *Run) Settle(ctx context.Context) (float64, error) {
	for end := time.Now().Add(min(patience, r.wait)); ; {
		begin := time.Now()
		pace, err := r.Pace(ctx)
		if err != nil || !r.Unusual(pace) || !begin.Before(end) {
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

// usual gives the times of a probe that were measured while cores were as they usually are; all if they never were.
func (r *Run) usual(p *probe) (out []float64) {
	for i, t := range p.times {
		if !r.Unusual(p.paces[i][0]) && !r.Unusual(p.paces[i][1]) {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return p.times
	}
	return out
}
