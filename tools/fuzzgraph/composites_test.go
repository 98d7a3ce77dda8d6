package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/inline"
	"tensortapestry.org/tapc/passes/shard"
)

// TestRandomComposites makes connected parts of random graphs definitions, one inside of another too. The graph is valid, has the values that it had to the bit, also where the
// composites are cut at random, of which the cuts leave the graph when they are taken back, and where the shards become shards of the steps, and is the same graph when they are inlined.
func TestRandomComposites(t *testing.T) {
	outlined, nested, cuts, dims, graphs := 0, 0, 0, 0, uint64(60)
	if testkit.Full() {
		graphs = 3000
	}
	for seed := range graphs {
		g, err := generate(seed, 12)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		x, in := g.build()
		before, want := structure(x), evaluated(t, x, in)
		rnd := rand.New(rand.NewPCG(seed, 0xdef))
		for i := range 3 {
			n, err := composite.Outline(x, part(rnd, x), fmt.Sprintf("d%d", i))
			if err != nil {
				continue // no part that has a way out and back, an import or an export
			}
			outlined++
			if n.Label == "" {
				n.Label = fmt.Sprintf("use%d", i)
			}
		}
		if list := tensorops.Environment().Verify(context.Background(), x); list.HasErrors() {
			t.Fatalf("seed %d: %v", seed, list)
		}
		if list := composite.CheckOperations(x, kernels.Builtin(), false); list.HasErrors() {
			t.Fatalf("seed %d: %v", seed, list)
		}
		data := written(t, x)
		if x, err = text.Read(data, "x.tap", dialects.Registry()); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, data)
		}
		same(t, seed, want, evaluated(t, x, in))

		y := x.Clone()
		labelled := map[ir.NodeID]string{}
		var requests []shard.Request
		for n := range y.Nodes() {
			if op, ok := n.Body.(*tensorops.Operation); ok && op.IsComposite() {
				if d, _, err := composite.Signature(y, kernels.Builtin(), n); err == nil {
					dims += d.Index.Rank()
				}
				labelled[n.ID] = n.Label
				n.Label = fmt.Sprintf("composite%d", n.ID)
				if r, ok := randomCut(rnd, y, n, op); ok {
					requests = append(requests, r)
				}
			}
		}
		made, err := shard.Run(y, kernels.Builtin(), requests)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		cuts += made
		apply.Run(y)
		for _, stage := range []string{"cut", "inlined"} {
			if list := application.Environment().Verify(context.Background(), y); list.HasErrors() {
				t.Fatalf("seed %d, %s: %v\n%s", seed, stage, list, written(t, y))
			}
			same(t, seed, want, evaluated(t, y, in))
			if stage == "cut" {
				back := y.Clone()
				for id, label := range labelled {
					back.Node(id).Label = label
				}
				if cut.Undo(back); !bytes.Equal(written(t, back), data) {
					t.Errorf("seed %d: the graph is another when its shards are taken away:\n%s", seed, written(t, back))
				}
				if _, err := inline.Run(y, inline.Options{Library: kernels.Builtin()}); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		}

		s, err := inline.Run(x, inline.Options{Library: kernels.Builtin()})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		nested += max(0, s.Removed-1)
		same(t, seed, want, evaluated(t, x, in))
		if after := structure(x); !slices.Equal(before, after) {
			t.Errorf("seed %d: the graph is another when it is inlined:\n%s", seed, written(t, x))
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, data)
		}
	}
	if outlined < 60 || nested < 10 || cuts < 60 || dims < 60 {
		t.Errorf("%d definitions, %d more in a graph, %d shards, %d dimensions: too little is tested", outlined, nested, cuts, dims)
	}
}

// part gives a connected part of a graph, of one to eight operations.
func part(rnd *rand.Rand, x *ir.Graph) []ir.NodeID {
	flow := ir.NewFlow(x, tensorops.OperationKind)
	list := []ir.NodeID{flow.Ops[rnd.IntN(len(flow.Ops))]}
	for range rnd.IntN(8) {
		op := tensorops.OperationOf(x, list[rnd.IntN(len(list))])
		var near []ir.NodeID
		op.Inputs.All(func(_, _ int, s *ir.Selection) { near = append(near, flow.Producers(s.Tensor)...) })
		op.Outputs.All(func(_, _ int, s *ir.Selection) { near = append(near, flow.Consumers(s.Tensor)...) })
		near = slices.DeleteFunc(near, func(id ir.NodeID) bool {
			op := tensorops.OperationOf(x, id)
			return slices.Contains(list, id) || op.IsImport() || op.IsSink()
		})
		if len(near) > 0 {
			list = append(list, near[rnd.IntN(len(near))])
		}
	}
	return list
}

// structure describes each operation by its kernel, parameters and where its inputs come from, without the numbers, labels and order of the nodes: a sorted list.
func structure(x *ir.Graph) (list []string) {
	flow := ir.NewFlow(x, tensorops.OperationKind)
	of := map[ir.NodeID]string{}
	for _, id := range flow.Order(x) {
		op := tensorops.OperationOf(x, id)
		what := fmt.Sprint(op.Kernel, op.Params)
		op.Inputs.All(func(i, _ int, s *ir.Selection) {
			from, ok := of[s.Tensor]
			if !ok {
				from = x.Node(s.Tensor).Label
			}
			what += fmt.Sprint(op.Inputs.At(i).Name, from, s.Range())
		})
		what = fmt.Sprintf("%s %x", op.Kernel, sha256.Sum256([]byte(what)))
		op.Outputs.All(func(i, entry int, s *ir.Selection) {
			of[s.Tensor] = fmt.Sprint(what, op.Outputs.At(i).Name, entry, tensorops.TensorOf(x, s.Tensor))
		})
		list = append(list, what)
	}
	slices.Sort(list)
	return list
}
