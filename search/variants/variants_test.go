package variants_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/layouts"
	"tensortapestry.org/tapc/search/variants"
)

// chain is a graph of choices one after the other, each between a value that is negated twice and the value: the second branch is better.
func chain(rows ...int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tapc 1\n%%x0 = tensor float32 [0:%d, 0:512]\n", rows[0])
	for i, n := range rows {
		for _, t := range []string{"p", "m", "n"} {
			fmt.Fprintf(&b, "%%%s%d = tensor float32 [0:%d, 0:512]\n", t, i, rows[0])
		}
		fmt.Fprintf(&b, "%%x%d = tensor float32 [0:%d, 0:512]\n%%w%d = tensor float32 [0:512, 0:512]\n", i+1, rows[0], i)
		fmt.Fprintf(&b, "%%mul%d = operation op:matmul (X: %%x%d, Y: %%w%d) -> (Z: %%p%d)\n", i, i, i, i)
		fmt.Fprintf(&b, "%%neg%d = operation op:neg (tensor: %%p%d) -> (result: %%m%d)\n%%gen%d = operation op:neg (tensor: %%m%d) -> (result: %%n%d)\n", i, i, i, i, i, i)
		fmt.Fprintf(&b, "%%c%d = operation op:choice {names: \"long%d,short%d\"} (branches: [%%n%d, %%p%d]) -> (result: %%x%d)\n", i, n, n, i, i, i+1)
	}
	return b.String()
}

func space(t *testing.T, graph string, parts ...string) (*variants.Space, error) {
	t.Helper()
	g, err := text.Read([]byte(graph), "g.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	m, err := machine.Preset("8xh100")
	if err != nil {
		t.Fatal(err)
	}
	return variants.New(t.Context(), g, kernels.Builtin(), layouts.Settings{Machine: m, Devices: 2, Objectives: layouts.Objectives[:2], Allow: permission.Reassociate, Parts: parts})
}

// The search finds the branches that were made to be the best, without what dynamic programming knows, and nearly all of what going through all plans of all
// variants finds; dynamic programming proves the same.
func TestPlantedBranches(t *testing.T) {
	x, err := space(t, chain(1024, 1, 2), variants.Choices)
	if err != nil {
		t.Fatal(err)
	}
	all, _, tried, ok := x.Enumerate(200_000)
	if !ok || len(all.Points) == 0 {
		t.Fatalf("%d plans", tried)
	}
	worst := slices.Clone(all.Points[0].Price.Costs)
	for _, p := range all.Points {
		for k, c := range p.Price.Costs {
			worst[k] = max(worst[k], 1.1*c)
		}
	}
	gained := 0
	for seed := range uint64(6) {
		s := search.Run(t.Context(), x, search.Options{Seed: seed, Rounds: 40, Trials: 64, Bare: true})
		if part := s.Frontier.Volume(worst) / all.Volume(worst); part < 0.99 {
			t.Errorf("seed %d: %.4f of the volume", seed, part)
		}
		if words := x.Decided(s.Frontier.Points[s.Frontier.Best(0)].Trial); words != "x1: short1024, x2: short1, x3: short2" {
			t.Errorf("seed %d: the fastest plan takes %s", seed, words)
		}
		for _, r := range s.Rates {
			if r.Mutator.Name == "branch" {
				gained += r.Applied
			}
		}
	}
	if gained == 0 {
		t.Error("taking another branch gained nothing")
	}
	p := x.Prove(1)
	if fast := all.Points[all.Best(0)].Price.Costs[0]; !p.Exact || math.Abs(p.Bounds[0]-fast) > 1e-9*fast {
		t.Errorf("proven %v, the fastest plan takes %v", p.Bounds[0], fast)
	}
	plan, err := x.Plan(all.Points[0].Trial, kernels.Builtin())
	if err != nil || len(plan.Choices) != 3 || plan.Choices[1].Choice != "x2" || plan.Choices[1].Branch != "short1" {
		t.Errorf("%v: %+v", err, plan)
	}
}

// Without choices in the space the first branches are taken; too many choices are made alike where they are alike; what is too many then takes the first branch. What
// a plan can not name is refused.
func TestWhatIsDecided(t *testing.T) {
	first, err := space(t, chain(64, 64))
	if err != nil {
		t.Fatal(err)
	}
	if d := first.Describe(); !strings.HasSuffix(d, "2 choices made as the first branch says") || first.Decided(make(search.Trial, len(first.Genes()))) != "" {
		t.Error(d)
	}
	alike, err := space(t, chain(64, 64, 64, 64, 64, 64), variants.Choices)
	if err != nil {
		t.Fatal(err)
	}
	last := make(search.Trial, len(alike.Genes()))
	last[0] = 1
	if plan, err := alike.Plan(last, kernels.Builtin()); err != nil || len(plan.Choices) != 6 || alike.Genes()[0] != 2 || plan.Choices[5].Branch != "short64" {
		t.Errorf("%v: %+v", err, plan)
	}
	many, err := space(t, chain(64, 1, 2, 3, 4, 5), variants.Choices)
	if err != nil {
		t.Fatal(err)
	}
	if d := many.Describe(); !strings.Contains(d, "32 variants of the graph, by 5 decisions") || !strings.HasSuffix(d, "1 choice made as the first branch says") {
		t.Error(d)
	}
	if first.Digest() == alike.Digest() || alike.Digest() == many.Digest() {
		t.Error("spaces have one digest")
	}
	nameless := strings.NewReplacer("%c0 = ", "", "%x1", "%1", "%c1 = ", "").Replace(chain(64))
	if _, err := space(t, nameless, variants.Choices); err == nil || !strings.Contains(err.Error(), "TAP2991") {
		t.Error(err)
	}
}
