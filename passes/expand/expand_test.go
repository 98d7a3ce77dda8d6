package expand_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/choose"
	"tensortapestry.org/tapc/passes/expand"
	"tensortapestry.org/tapc/passes/rewrite"
)

// TestEveryRule runs every rule on random instances: every branch of the choices that it makes gives the values of the operation, bit by bit if the
// rule needs no permission, NaN, infinities and signed zeros too. A rule that hardly ever fires on them fails.
func TestEveryRule(t *testing.T) {
	for i, r := range expand.Rules() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			fired, empty, most, short := 0, false, 40, testing.Short()
			if short { // and tensors without elements are not waited for
				most = 5
			}
			for seed := uint64(0); seed < 20000 && (fired < most || !empty && !short && (seed < 3000 || !filled[r.Name])); seed++ {
				rnd := rand.New(rand.NewPCG(seed, uint64(i)))
				g, ok := instance(t, r, rnd)
				if by := steps[r.Name]; by != "" && fired >= most {
					g, ok = made(t, by, rnd)
				}
				if ok {
					none := hasEmpty(g)
					if fired >= most && !none {
						continue
					}
					n := tryRule(t, r, g, rnd)
					fired, empty = fired+n, empty || n > 0 && none
				}
			}
			if fired < 5 || !short && empty == filled[r.Name] {
				t.Errorf("fired %d times, on tensors without elements: %v", fired, empty)
			}
		})
	}
}

// steps are rules whose random instances have elements everywhere, with those that make instances of them that have none.
var steps = map[string]string{"steps-softmax": "softmax-steps", "steps-log-softmax": "log-softmax-steps", "one-sweep-log-softmax": "log-softmax-one-sweep",
	"one-sweep-softmax": "softmax-one-sweep", "steps-variance": "variance-steps"}

// filled are rules that leave tensors without elements alone.
var filled = map[string]bool{"parts-of-concat": true, "parts-of-interleave": true, "joined-results": true}

// hasEmpty says whether some tensor of a graph has no elements.
func hasEmpty(g *ir.Graph) bool {
	for n := range g.Nodes() {
		if x, ok := n.Body.(*tensorops.Tensor); ok && x.Range.Empty() {
			return true
		}
	}
	return false
}

func tryRule(t *testing.T, r rewrite.Rule, g *ir.Graph, rnd *rand.Rand) int {
	t.Helper()
	before, old := dump(g), g.Clone()
	n, err := expand.Run(t.Context(), g, []rewrite.Rule{r}, expand.Settings{Depth: 1, Limit: 10}, options)
	if err != nil {
		t.Fatalf("%v\n%s", err, before)
	}
	if n == 0 {
		return 0
	}
	mustBeValid(t, g)
	of := specials
	if r.Allow != 0 && rnd.IntN(2) == 0 {
		of = tame // whose sums the bound is narrow for
	}
	in := inputsOf(t, old, rnd, of)
	want := evaluate(t, old, in)
	for branch := range 3 {
		c := g.Clone()
		take(t, c, branch)
		mustBeValid(t, c)
		if err := same(want, evaluate(t, c, in), r.Allow == 0); err != nil {
			t.Fatalf("branch %d: %v\nbefore\n%s\nafter\n%s", branch, err, before, dump(c))
		}
	}
	return 1
}

// TestAnyBranches expands random operations several times over, takes any branch of every choice, and compares the values.
func TestAnyBranches(t *testing.T) {
	kernels := []string{"linear", "matmul", "conv", "softmax", "log_softmax", "layer_norm", "attention", "relu", "sum", "reduce_max"}
	turn, made, seen := testkit.Turns(t, 8), 0, map[string]bool{}
	for seed := range uint64(2400) {
		if !turn() {
			continue
		}
		rnd := rand.New(rand.NewPCG(seed, 77))
		name := kernels[rnd.IntN(len(kernels))]
		g, ok := sampled(rnd, name)
		if name == "conv" {
			g, ok = convolution(rnd), true
		}
		if !ok {
			continue
		}
		in := inputsOf(t, g, rnd, tame)
		want := evaluate(t, g, in)
		for range 1 + rnd.IntN(2) {
			n, err := expand.Run(t.Context(), g, someOf(rnd), expand.Settings{Depth: 1 + rnd.IntN(3), Limit: 20}, options)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			made += n
			mustBeValid(t, g)
			takeAny(t, g, rnd, seen, rnd.IntN(2) == 0)
		}
		takeAny(t, g, rnd, seen, false)
		if err := same(want, evaluate(t, g, in), false); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, dump(g))
		}
	}
	if made < 40 || len(seen) < 15 {
		t.Errorf("%d choices, of %d names: this tests too little", made, len(seen))
	}
}

func someOf(rnd *rand.Rand) []rewrite.Rule {
	var out []rewrite.Rule
	for _, r := range expand.Rules() {
		if rnd.IntN(3) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// takeAny makes choices at random, all or some of them, one after the other.
func takeAny(t *testing.T, g *ir.Graph, rnd *rand.Rand, seen map[string]bool, leave bool) {
	t.Helper()
	for _, c := range choicesOf(t, g) {
		if tensorops.OperationOf(g, c.Op) == nil || leave && rnd.IntN(2) == 0 {
			continue
		}
		branch := rnd.IntN(len(c.Names))
		seen[c.Names[branch]] = true
		if _, err := choose.Run(t.Context(), g, map[ir.NodeID]int{c.Op: branch}, rewrite.Options{Verify: true}); err != nil {
			t.Fatal(err)
		}
	}
	mustBeValid(t, g)
}

// TestRuleTexts checks what a reader relies on: every rule has an identity and a name of its own.
func TestRuleTexts(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range expand.Rules() {
		if seen[r.Name] || r.Because == "" || r.Text == "" || r.Source == "" {
			t.Errorf("rule %q: %+v", r.Name, fmt.Sprint(r.Text, r.Because, r.Source))
		}
		seen[r.Name] = true
	}
}
