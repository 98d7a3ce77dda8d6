package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/propagate"
)

// TestRandomLayouts puts some tensors of random graphs on random meshes: the graphs that come of it are valid, have the values of the uncut ones, to
// the bit, and are these again when their shards are taken away.
func TestRandomLayouts(t *testing.T) {
	cuts, moved, graphs := 0, 0, uint64(100)
	if testkit.Full() {
		graphs = 3000
	}
	for seed := range graphs {
		g, err := generate(seed, 10)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		x, in := g.build()
		before, want := written(t, x), evaluated(t, x, in)
		plan := randomPlan(rand.New(rand.NewPCG(seed, 0x1a70)), x)
		n, transfers, err := propagate.Run(x, kernels.Builtin(), plan)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, m := range transfers {
			if moved++; m.Bytes.Sign() <= 0 || m.Reason == "" {
				t.Errorf("seed %d: %+v", seed, m)
			}
		}
		cuts += n
		apply.Run(x)
		if list := application.Environment().Verify(context.Background(), x); list.HasErrors() {
			t.Fatalf("seed %d: %v\n%+v", seed, list, plan)
		}
		same(t, seed, want, evaluated(t, x, in))
		if cut.Undo(x); !bytes.Equal(written(t, x), before) {
			t.Errorf("seed %d: the graph is another when its shards are taken away", seed)
		}
	}
	if cuts < 200 || moved < 100 {
		t.Errorf("only %d shards and %d transfers: too little is tested", cuts, moved)
	}
}

// randomPlan annotates some tensors with axes of a mesh of one or two.
func randomPlan(rnd *rand.Rand, x *ir.Graph) *planfile.Plan {
	p := &planfile.Plan{Mesh: planfile.Mesh{{Name: "a", Size: 2 + rnd.Int64N(2)}, {Name: "b", Size: 1 + rnd.Int64N(3)}}}
	for n := range x.Nodes() {
		body, ok := n.Body.(*tensorops.Tensor)
		if !ok || rnd.IntN(3) == 0 {
			continue
		}
		a := planfile.Annotation{Tensor: n.Label, Priority: rnd.Int64N(2)}
		axes := rnd.Perm(2)
		for _, extent := range body.Range.Shape() {
			var dim planfile.Axes
			if len(axes) > 0 && rnd.IntN(2) == 0 && p.Mesh[axes[0]].Size <= extent {
				dim, axes = planfile.Axes{axes[0]}, axes[1:]
			}
			a.Layout.Dims, a.Layout.Open = append(a.Layout.Dims, dim), append(a.Layout.Open, rnd.IntN(2) == 0)
		}
		p.Tensors = append(p.Tensors, a)
	}
	return p
}
