package shard_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/ir/zspace"
)

const images = `tapc 1
%x = tensor float32 [0:2, 0:3, 0:12, 0:12]
%w = tensor float32 [0:4, 0:3, 0:3, 0:3]
%y = tensor float32 [0:2, 0:4, 0:12, 0:12]
%conv = operation op:conv {pads: [1, 1]} (W: %w, X: %x) -> (Y: %y)
`

// boxes gives the blocks of the applications of an operation, sorted.
func boxes(g *ir.Graph, n ir.NodeID) (list []zspace.Range) {
	for _, a := range application.ByOperation(g)[n] {
		list = append(list, tensorops.IndexOf(g.Node(a)).Range)
	}
	slices.SortFunc(list, func(a, b zspace.Range) int { return slices.Compare(a.Start, b.Start) })
	return list
}

// Applications that are cut further and joined again are those that there were; between, they satisfy the constraints of the dialect, and so do those that
// are joined by any numbers.
func TestRefineAndCoarsen(t *testing.T) {
	lib, rnd := kernels.Builtin(), rand.New(rand.NewPCG(18, 11))
	for range 60 {
		g, err := text.Read([]byte(images), "g.tap", dialects.Registry())
		if err != nil {
			t.Fatal(err)
		}
		var n *ir.Node
		for m := range g.Nodes() {
			if m.Body.Kind() == tensorops.OperationKind {
				n = m
			}
		}
		counts := func(most ...int64) (out []int64) {
			for _, k := range most {
				out = append(out, 1+rnd.Int64N(k))
			}
			return out
		}
		first := cut.Grid(counts(2, 1, 2, 3, 3)...) // leaves blocks that are cut in as many parts by what is behind
		apps, err := cut.Operation(g, lib, n, "first", first)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range apps {
			application.Place(g.Node(a), []int64{int64(i % 7)})
		}
		before := boxes(g, n.ID)
		finer := cut.Grid(counts(1, 1, 2, 4, 4)...)
		if apps, err = cut.Refine(g, lib, n, apps, "finer", finer); err != nil {
			t.Fatal(err)
		}
		verified(t, g)
		if len(apps) == len(before) {
			continue
		}
		if apps, err = cut.Coarsen(g, lib, n, apps, "coarser", finer); err != nil {
			t.Fatal(err)
		}
		verified(t, g)
		if after := boxes(g, n.ID); !slices.EqualFunc(before, after, zspace.Range.Equal) {
			t.Fatalf("%v, cut by %v: %v, and joined again %v", first, finer, before, after)
		}
		if _, err = cut.Coarsen(g, lib, n, apps, "coarser", cut.Grid(counts(2, 1, 2, 3, 3)...)); err == nil {
			verified(t, g)
		}
	}
}

func verified(t *testing.T, g *ir.Graph) {
	t.Helper()
	if found := application.Environment().Verify(t.Context(), g); found.HasErrors() {
		t.Fatal(found)
	}
}
