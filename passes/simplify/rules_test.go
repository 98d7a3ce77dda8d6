package simplify_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/simplify"
)

// TestEveryRule runs every rule of the language on random instances of its own pattern and compares the observed values
// before and after, bit by bit. A rule that never fires on them fails.
func TestEveryRule(t *testing.T) {
	for i, r := range simplify.Rules() {
		if r.Source == "Go" {
			continue // has a test of its own
		}
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			fired := 0
			for seed := uint64(0); seed < 20000 && fired < 60; seed++ {
				fired += tryRule(t, r, rand.New(rand.NewPCG(seed, uint64(i))))
			}
			if fired < 5 {
				t.Errorf("fired %d times", fired)
			}
		})
	}
}

func tryRule(t *testing.T, r rewrite.Rule, rnd *rand.Rand) int {
	g, ok := r.Instance(rnd)
	if !ok {
		return 0
	}
	if rnd.IntN(2) == 0 {
		sign(t, g)
	}
	before := dump(g)
	in := inputsOf(t, g, rnd)
	old := g.Clone()
	stats, err := rewrite.Run(context.Background(), g, []rewrite.Rule{r}, rewrite.Options{Verify: true})
	if err != nil {
		t.Fatalf("%v\n%s", err, before)
	}
	if stats.Applied == 0 {
		return 0
	}
	if err := sameValues(evaluate(t, old, in), evaluate(t, g, in)); err != nil {
		t.Fatalf("%v\nbefore\n%s\nafter\n%s", err, before, dump(g))
	}
	mustBeValid(t, tensorops.Environment(), g)
	if err := tagsAgree(g); err != nil {
		t.Fatalf("%v\nbefore\n%s\nafter\n%s", err, before, dump(g))
	}
	return 1
}

// TestRuleTexts checks what a reader relies on: every rule has an identity, and a text rule the form NAME as in files.
func TestRuleTexts(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range simplify.Rules() {
		if seen[r.Name] || r.Because == "" || r.Text == "" || r.Source == "" {
			t.Errorf("rule %q: %+v", r.Name, fmt.Sprint(r.Text, r.Because, r.Source))
		}
		seen[r.Name] = true
	}
}
