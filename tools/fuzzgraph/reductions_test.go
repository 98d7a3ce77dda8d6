package main

import (
	"errors"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/split"
)

// TestRandomReductions cuts the operations of small random graphs along several of the dimensions that they reduce, by the names that the operations have for these. What comes
// of it has the values of the whole, but for rounding; what can not be cut so is refused as such (TAP0814).
func TestRandomReductions(t *testing.T) {
	graphs := uint64(700)
	if testkit.Full() {
		graphs = 60_000
	}
	lib := kernels.Builtin()
	several, far := 0, 0
	for seed := range graphs {
		g, err := generate(seed, 1)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		x, in := g.build()
		rnd := rand.New(rand.NewPCG(seed, 0x5917))
		var list []*ir.Node
		for n := range x.Nodes() {
			if _, ok := n.Body.(*tensorops.Operation); ok {
				list = append(list, n)
			}
		}
		before, cuts := written(t, x), 0
		for _, n := range list {
			level, ok := reductionAtRandom(rnd, x, n)
			if !ok {
				continue
			}
			trial := x.Clone()
			_, _, err := split.One(trial, lib, permission.Reassociate, trial.Node(n.ID), cut.Cut{Levels: []cut.Level{level}})
			var d diag.Diagnostic
			switch {
			case err == nil:
				x = trial
				if cuts++; len(level.Names) > 1 {
					several++
				}
			case !errors.As(err, &d) || d.Code != "TAP0814":
				t.Errorf("seed %d: %s along %v: %v\n%s", seed, x.Name(n.ID), level.Names, err, before)
			}
		}
		if cuts > 0 {
			whole, _ := g.build()
			far += apart(t, seed, evaluated(t, whole, in), evaluated(t, x, in))
		}
	}
	t.Logf("%d operations along several dimensions, %d graphs far apart", several, far)
	if several < int(graphs)/100 || far > int(graphs)/200 {
		t.Errorf("%d operations along several dimensions, %d graphs whose values are far apart", several, far)
	}
}

// reductionAtRandom gives cuts along some of the dimensions that an operation reduces.
func reductionAtRandom(rnd *rand.Rand, x *ir.Graph, n *ir.Node) (level cut.Level, ok bool) {
	op := tensorops.OperationOf(x, n.ID)
	in, err := kernels.Builtin().BindOperation(x, n.ID)
	if err != nil || op.IsSource() || op.IsSink() || op.IsCheck() {
		return level, false
	}
	for _, d := range reduced.Dims(in) {
		if extent := in.Dims[d].Extent; extent > 1 && rnd.IntN(4) > 0 {
			level.Names = append(level.Names, in.Dims[d].Name)
			level.Parts = append(level.Parts, []cut.Part{{Count: 2 + rnd.Int64N(min(extent, 4)-1)}, {Size: 1 + rnd.Int64N(extent-1)}}[rnd.IntN(2)])
		}
	}
	return level, level.Names != nil
}
