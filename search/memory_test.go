package search

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A search that ended after any round and went on is the search that never ended: frontier, counts, rates and what is remembered, also while nothing is inside
// the limits and when more trials came than are remembered.
func TestResumedIsUninterrupted(t *testing.T) {
	for _, c := range []struct {
		name          string
		limit         float64
		rounds, every int
	}{{"free", 0, 60, 17}, {"nothing is inside", 1e-6, 12, 5}, {"more than is remembered", 0, 300, 290}} {
		s := newChain(6, slices.Repeat([]int{6}, 14), 2)
		s.limit = c.limit
		o := Options{Seed: 5, Rounds: c.rounds, Near: 0.002, Workers: 2}
		want := Run(context.Background(), s, o)
		var got *State
		for o.Rounds = c.every; ; o.Rounds = min(o.Rounds+c.every, c.rounds) {
			got = Run(context.Background(), s, o)
			if o.Resume, o.Memory = got.Frontier.Points, got.Memory; got.Round == c.rounds {
				break
			}
		}
		if diff := cmp.Diff(text(want), text(got)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if n := len(want.Memory.Seen); c.rounds == 300 && n != remembered {
			t.Errorf("%d trials are remembered", n)
		}
	}
}

// text is all that a search ended with.
func text(s *State) (lines []string) {
	lines = append(lines, fmt.Sprint(s.Round, s.Tried, s.Restarts, s.Why), fmt.Sprint(s.Frontier.Points))
	for _, r := range s.Rates {
		lines = append(lines, fmt.Sprint(r.Mutator.Name, r.Used, r.Applied, r.Gained, r.Weight, r.Part))
	}
	m := s.Memory
	return append(lines, fmt.Sprint(m.Parents), fmt.Sprint(m.Idle, m.Barren, m.Renewed, m.Nearest, m.Started), fmt.Sprint(m.Seen))
}
