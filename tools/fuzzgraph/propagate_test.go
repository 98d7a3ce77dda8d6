package main

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/propagate"
	"tensortapestry.org/tapc/passes/split"
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
		plan := randomPlan(rand.New(rand.NewPCG(seed, 0x1a70)), x, 4)
		n, r, err := propagate.Run(x, plan, propagate.Settings{Library: kernels.Builtin()})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, m := range r.Transfers {
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

// TestRandomPartials does so where sums may be cut: what is partial is combined before anything needs all of it, so that values are the same but for
// rounding. Taken back, it is the graph again. Numbers far from each other come of a step, such as a comparison of what was rounded; few graphs have one behind a sum.
func TestRandomPartials(t *testing.T) {
	combined, far, graphs := 0, 0, uint64(200)
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
		plan := randomPlan(rand.New(rand.NewPCG(seed, 0x9a47)), x, 4)
		_, r, err := propagate.Run(x, plan, propagate.Settings{Library: kernels.Builtin(), Allow: permission.Reassociate, Split: split.One})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, m := range r.Transfers {
			if m.Result && strings.Contains(m.From, "partial") {
				combined++
			}
		}
		apply.Run(x)
		if list := application.Environment().Verify(context.Background(), x); list.HasErrors() {
			t.Fatalf("seed %d: %v\n%+v", seed, list, plan)
		}
		far += apart(t, seed, want, evaluated(t, x, in))
		if cut.Undo(x); !bytes.Equal(written(t, x), before) {
			t.Errorf("seed %d: the graph is another when its shards are taken away:\n%s\nfrom\n%s", seed, written(t, x), before)
		}
	}
	if combined < int(graphs)/66 || far > int(graphs)/50 {
		t.Errorf("%d partial results, %d graphs whose values are far apart", combined, far)
	}
}

// apart is 1 if some outputs are further apart than rounding explains. Sums in another order may overflow, or not: numbers that are not finite are not compared.
func apart(t *testing.T, seed uint64, want, got map[string]tensorfile.Tensor) int {
	t.Helper()
	for name, w := range want {
		if bytes.Equal(w.Data, got[name].Data) {
			continue
		}
		size := w.DType.Size()
		most, worst := 0.0, 0.0
		for i := 0; i < len(w.Data); i += size {
			a, b := scalar.Decode(w.DType, w.Data[i:]).Float(), scalar.Decode(w.DType, got[name].Data[i:]).Float()
			if !math.IsNaN(a-a) && !math.IsNaN(b-b) {
				most, worst = max(most, math.Abs(a)), max(worst, math.Abs(a-b))
			}
		}
		if !(worst <= 1e-2*most) {
			t.Logf("seed %d: output %s, up to %g, is %g apart", seed, name, most, worst)
			return 1
		}
	}
	return 0
}

// randomPlan annotates so many of six tensors with axes of a mesh of one or two.
func randomPlan(rnd *rand.Rand, x *ir.Graph, of int) *planfile.Plan {
	p := &planfile.Plan{Mesh: planfile.Mesh{{Name: "a", Size: 2 + rnd.Int64N(2)}, {Name: "b", Size: 1 + rnd.Int64N(3)}}}
	for n := range x.Nodes() {
		body, ok := n.Body.(*tensorops.Tensor)
		if !ok || rnd.IntN(6) >= of {
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
