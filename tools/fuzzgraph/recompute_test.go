package main

import (
	"context"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/recompute"
)

// TestRandomRecomputation computes some tensors of random graphs again for each reader: what comes of it is valid and has the values of the graph, to the bit.
func TestRandomRecomputation(t *testing.T) {
	copies, graphs := 0, uint64(200)
	if testkit.Full() {
		graphs = 3000
	}
	for seed := range graphs {
		g, err := generate(seed, 14)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		x, in := g.build()
		want, rnd := evaluated(t, x, in), rand.New(rand.NewPCG(seed, 0x4eac))
		made := recompute.Of(x)
		var requests []recompute.Request
		for n := range x.Nodes() {
			if _, ok := n.Body.(*tensorops.Tensor); !ok || rnd.IntN(3) == 0 {
				continue
			}
			if op, why := made.Maker(n.ID); op != ir.NoNode && why == "" && n.Label != "" {
				requests = append(requests, recompute.Request{Tensor: n.Label})
			}
		}
		done, err := recompute.Shared(x, requests)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		copies += len(done)
		if list := tensorops.Environment().Verify(context.Background(), x); list.HasErrors() {
			t.Fatalf("seed %d: %v\n%v", seed, list, requests)
		}
		same(t, seed, want, evaluated(t, x, in))
	}
	if copies < 40 {
		t.Errorf("only %d tensors were computed again", copies)
	}
}
