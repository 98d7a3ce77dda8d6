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
			fired, empty, most, short := 0, false, 60, testing.Short()
			if short { // and tensors without elements are not waited for
				most = 5
			}
			for seed := uint64(0); seed < 20000 && (fired < most || !empty && !short); seed++ {
				n, none := tryRule(t, r, rand.New(rand.NewPCG(seed, uint64(i))))
				fired, empty = fired+n, empty || none
			}
			if fired < 5 || !short && !empty {
				t.Errorf("fired %d times, on tensors without elements: %v", fired, empty)
			}
		})
	}
}

// tryRule applies a rule to a random instance, and compares values. It gives the number of instances, 0 or 1, and whether that one has a tensor without elements.
func tryRule(t *testing.T, r rewrite.Rule, rnd *rand.Rand) (fired int, empty bool) {
	t.Helper()
	g, ok := r.Instance(rnd)
	if !ok {
		return 0, false
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
		return 0, false
	}
	if err := sameValues(evaluate(t, old, in), evaluate(t, g, in)); err != nil {
		t.Fatalf("%v\nbefore\n%s\nafter\n%s", err, before, dump(g))
	}
	mustBeValid(t, tensorops.Environment(), g)
	if err := tagsAgree(g); err != nil {
		t.Fatalf("%v\nbefore\n%s\nafter\n%s", err, before, dump(g))
	}
	for n := range old.Nodes() {
		x, ok := n.Body.(*tensorops.Tensor)
		empty = empty || ok && x.Range.Empty()
	}
	return 1, empty
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
