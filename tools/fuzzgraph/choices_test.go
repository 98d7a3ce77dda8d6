package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/choose"
	"tensortapestry.org/tapc/passes/expand"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/simplify"
)

// TestRandomChoices takes graphs of the kernels that rules of expand begin at, and of those that they make, through random sequences of rules: some
// rules open choices, any branch of any of them is taken, the graph is simplified, and again. It has the values of the graph, to the bit where no rule
// needed a permission.
func TestRandomChoices(t *testing.T) {
	names := []string{"exp", "log", "sub", "div", "max", "slice", "permute", "reshape", "concat", "interleave"}
	for _, r := range expand.Rules() {
		names = append(names, r.Roots...)
	}
	graphs := uint64(60)
	if testkit.Full() {
		graphs = 3000
	}
	taken := map[string]bool{}
	for seed := range graphs {
		g, err := generate(seed, 14, names...)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		allow := permission.Set(0)
		if seed%2 == 1 {
			allow = permission.Reassociate
		}
		run := func(ctx context.Context, g *graph) (map[string]tensorfile.Tensor, error) {
			return runChoices(ctx, g, allow, taken)
		}
		if allow == 0 {
			_, in := g.build()
			x, _ := g.build()
			got, err := run(context.Background(), g)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			same(t, seed, evaluated(t, x, in), got)
		} else if err := g.try(context.Background(), run, nil); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if len(taken) < 15 {
		t.Errorf("only %d different branches were taken: %v", len(taken), taken)
	}
}

// runChoices evaluates a graph after random rules and choices.
func runChoices(ctx context.Context, g *graph, allow permission.Set, taken map[string]bool) (map[string]tensorfile.Tensor, error) {
	x, in := g.build()
	rnd := rand.New(rand.NewPCG(g.seed, 0xc401ce))
	for range 1 + rnd.IntN(3) {
		rules := slices.DeleteFunc(expand.Rules(), func(rewrite.Rule) bool { return rnd.IntN(3) == 0 })
		if _, err := expand.Run(ctx, x, rules, expand.Settings{Depth: 1 + rnd.IntN(2), Limit: 20}, rewrite.Options{Verify: true, Allow: allow}); err != nil {
			return nil, err
		}
		var open []ir.NodeID
		for n := range x.Nodes() {
			if op, ok := n.Body.(*tensorops.Operation); ok && op.IsChoice() {
				open = append(open, n.ID)
			}
		}
		for _, id := range open {
			if tensorops.OperationOf(x, id) == nil {
				continue // it was in a branch that was not taken
			}
			c, bad := tensorops.ChoiceOf(x, id)
			if bad != nil {
				return nil, bad
			}
			branch := rnd.IntN(len(c.Names))
			taken[c.Names[branch]] = true
			if _, err := choose.Run(ctx, x, map[ir.NodeID]int{id: branch}, rewrite.Options{Verify: true}); err != nil {
				return nil, err
			}
		}
		if g.simplify {
			if _, err := simplify.Run(ctx, x, nil, rewrite.Options{Verify: true}); err != nil {
				return nil, err
			}
		}
		if list := tensorops.Environment().Verify(ctx, x); list.HasErrors() {
			return nil, fmt.Errorf("the graph breaks constraints: %w", list)
		}
	}
	var inline constants.Loader
	ev := reference.Evaluator{Library: kernels.Builtin(), Constants: inline.Load}
	return ev.Evaluate(ctx, x, in)
}
