package application

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

// sharding is a random box, cut into the blocks of a grid.
type sharding struct {
	whole zspace.Range
	parts []zspace.Range
}

func drawSharding(t *rapid.T) sharding {
	rank := rapid.IntRange(1, 3).Draw(t, "rank")
	var s sharding
	counts := make([]int64, rank)
	for i := range rank {
		at, extent := rapid.Int64Range(-5, 5).Draw(t, "start"), rapid.Int64Range(1, 9).Draw(t, "extent")
		s.whole.Start, s.whole.End = append(s.whole.Start, at), append(s.whole.End, at+extent)
		counts[i] = rapid.Int64Range(1, min(extent, 4)).Draw(t, "count")
	}
	parts, err := s.whole.Grid(counts)
	if err != nil {
		t.Fatal(err)
	}
	s.parts = rapid.Permutation(parts).Draw(t, "order")
	return s
}

// graph makes an operation over the box as its index, with the identity as its projection, and an application for each part.
func (s sharding) graph() *ir.Graph {
	g := ir.New()
	rank := s.whole.Rank()
	y := g.Add(&tensorops.Tensor{DType: "int8", Range: s.whole}, "y")
	ports := func(r zspace.Range) ir.Ports {
		return ir.PortsOf([]ir.Port{{Name: "y", Sel: []ir.Selection{ir.Select(y.ID, r)}}})
	}
	one := make(zspace.Point, rank)
	for i := range one {
		one[i] = 1
	}
	identity := zspace.ProjectionMap{AffineMap: zspace.AffineMap{Projection: zspace.Identity(rank), Offset: make(zspace.Point, rank)}, Shape: one}
	op := g.Add(&tensorops.Operation{Kernel: "test:fill", Outputs: ports(s.whole)}, "op")
	op.SetTag(&tensorops.Index{Range: s.whole})
	op.SetTag(&tensorops.Signature{Outputs: ir.PortMaps{{Name: "y", Maps: []zspace.ProjectionMap{identity}}}})
	for i, p := range s.parts {
		a := g.Add(&Application{Operation: op.ID, Outputs: ports(p)}, fmt.Sprint("part ", i))
		a.SetTag(&tensorops.Index{Range: p})
	}
	return g
}

func (s sharding) verify() diag.List { return Environment().Verify(context.Background(), s.graph()) }

func TestGridsAreAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if found := drawSharding(t).verify(); found != nil {
			t.Fatal(found.Error())
		}
	})
}

func TestADroppedShardIsRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSharding(t)
		i := rapid.IntRange(0, len(s.parts)-1).Draw(t, "dropped")
		s.parts = append(s.parts[:i:i], s.parts[i+1:]...)
		checkRefused(t, s)
	})
}

func TestAShiftedShardIsRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSharding(t)
		i := rapid.IntRange(0, len(s.parts)-1).Draw(t, "shifted")
		by := make(zspace.Point, s.whole.Rank())
		by[rapid.IntRange(0, len(by)-1).Draw(t, "dim")] = rapid.SampledFrom([]int64{-1, 1}).Draw(t, "by")
		moved, err := s.parts[i].Translate(by)
		if err != nil {
			t.Fatal(err)
		}
		s.parts = append(append(s.parts[:i:i], moved), s.parts[i+1:]...)
		checkRefused(t, s)
	})
}

// checkRefused checks that the sharding is refused and that a box named as a witness really shows the fault.
func checkRefused(t *rapid.T, s sharding) {
	found := s.verify()
	if !found.HasErrors() {
		t.Fatalf("accepted: %v as %v", s.whole, s.parts)
	}
	if len(s.parts) == 0 {
		return
	}
	fault, err := tiling.Check(s.whole, s.parts)
	if err != nil || fault == nil {
		t.Fatalf("not at fault: %v, %v", fault, err)
	}
	for _, d := range found {
		if d.Severity != diag.Error {
			continue
		}
		checkWitness(t, s, d)
	}
}

// checkWitness counts the parts at every cell of the box that an error names last.
func checkWitness(t *rapid.T, s sharding, d diag.Diagnostic) {
	box := lastBox(t, d.Found)
	want := map[string]func(parts int, inside bool) bool{
		"TAP0208": func(_ int, inside bool) bool { return !inside },
		"TAP0209": func(parts int, inside bool) bool { return parts == 0 && inside },
		"TAP0221": func(parts int, inside bool) bool { return parts > 1 && inside },
		"TAP0222": func(parts int, inside bool) bool { return parts == 0 && inside },
	}[d.Code]
	if want == nil || box.Empty() {
		t.Fatalf("unexpected %v", d)
	}
	for p := range box.Points() {
		parts := 0
		for _, r := range s.parts {
			if r.ContainsPoint(p) {
				parts++
			}
		}
		if !want(parts, s.whole.ContainsPoint(p)) {
			t.Fatalf("%v: cell %v is in %d parts", d, p, parts)
		}
	}
}

// lastBox reads the last range of a text.
func lastBox(t *rapid.T, text string) zspace.Range {
	i := strings.LastIndex(text, "zr[")
	if i < 0 {
		t.Fatalf("no box in %q", text)
	}
	text = text[i:]
	r, err := zspace.ParseRange(text[:strings.IndexByte(text, ']')+1])
	if err != nil {
		t.Fatal(err)
	}
	return r
}
