package pipeline

import (
	"context"
	"math"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/ir"
)

// culprit finds the first rewrite of a step that changes a value, by running the step with less and less fuel on the graph before it.
// It is nil where the step counts no rewrites.
func culprit(ctx context.Context, r *run, s *Step, before *ir.Graph) *Application {
	all, err := some(ctx, r, s, before, math.MaxInt)
	if err != nil || all.Applied == 0 {
		return nil
	}
	good, bad, found := 0, all.Applied, all.Last
	for good+1 < bad {
		n := (good + bad + 1) / 2
		x, err := some(ctx, r, s, before, n)
		if err != nil {
			return nil
		}
		if r.Values.Equal(ctx, before, x.Graph, r.Values.Seed).HasErrors() {
			bad, found = n, x.Last
		} else {
			good = n
		}
		if context.Cause(ctx) != nil {
			return nil
		}
	}
	return &found
}

// some runs a step with so much fuel on a graph, which stays as it is.
func some(ctx context.Context, r *run, s *Step, before *ir.Graph, fuel int) (*Result, error) {
	x := newRun(&Runner{NoVerify: true, Disable: r.Disable, Fuel: &fuel, Dir: r.Dir, Load: r.Load}, Pipeline{}, before.Clone())
	x.result.Stage = max(x.result.Stage, s.Pass.Needs)
	err := x.step(ctx, s)
	return x.result, err
}

// Supplied says whether a rule is from a file that a step's settings name: the user's, not the pass's own.
func (s *Step) Supplied(a Application) bool {
	for _, x := range s.Settings {
		if x.Value != "" && strings.HasPrefix(a.Source, filepath.ToSlash(x.Value)+":") {
			return true
		}
	}
	return false
}
