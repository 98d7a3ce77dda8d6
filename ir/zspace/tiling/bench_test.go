package tiling_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

// grid cuts a box of the given rank into about n blocks of extent 3, shuffled.
func grid(t testing.TB, rank, n int) (zspace.Range, []zspace.Range) {
	t.Helper()
	side := int64(1)
	for pow(side+1, rank) <= int64(n) {
		side++
	}
	shape, counts := make([]int64, rank), make([]int64, rank)
	for i := range shape {
		shape[i], counts[i] = 3*side, side
	}
	whole := zspace.MustShape(shape...)
	parts, err := whole.Grid(counts)
	if err != nil {
		t.Fatal(err)
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return whole, parts
}

func pow(b int64, n int) int64 {
	p := int64(1)
	for range n {
		p *= b
	}
	return p
}

// bricks cuts a box into n bricks of which no two rows have equal joints, so that
// few faces cancel.
func bricks(t testing.TB, rows, perRow int64) (zspace.Range, []zspace.Range) {
	t.Helper()
	whole := zspace.MustShape(2*rows, 1000*perRow)
	var parts []zspace.Range
	for i := range rows {
		row := zspace.Range{Start: zspace.Point{2 * i, 0}, End: zspace.Point{2*i + 2, 1000 * perRow}}
		sizes := make([]int64, perRow)
		for j := range sizes {
			sizes[j] = 1000
		}
		sizes[0] -= i % 997
		sizes[perRow-1] += i % 997
		cut, err := row.SplitSizes(1, sizes)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, cut...)
	}
	return whole, parts
}

func BenchmarkCheck(b *testing.B) {
	for _, rank := range []int{1, 2, 4} {
		for _, n := range []int{1_000, 10_000, 100_000} {
			whole, parts := grid(b, rank, n)
			b.Run(fmt.Sprintf("grid/rank=%d/parts=%d", rank, n), func(b *testing.B) { checkAll(b, whole, parts, true) })
		}
	}
	whole, parts := bricks(b, 1000, 100)
	b.Run("bricks/parts=100000", func(b *testing.B) { checkAll(b, whole, parts, true) })
	whole, parts = grid(b, 2, 100_000)
	b.Run("gap/parts=99999", func(b *testing.B) { checkAll(b, whole, slices.Delete(slices.Clone(parts), 777, 778), false) })
}

func checkAll(b *testing.B, whole zspace.Range, parts []zspace.Range, want bool) {
	for b.Loop() {
		fault, err := tiling.Check(whole, parts)
		if err != nil || (fault == nil) != want {
			b.Fatal(fault, err)
		}
	}
}

func BenchmarkSubtract(b *testing.B) {
	whole, parts := grid(b, 2, 100_000)
	parts = slices.Delete(parts, 777, 778)
	for b.Loop() {
		if rest, ok := tiling.Subtract(whole, parts, 10); len(rest) == 0 || !ok {
			b.Fatal(rest, ok)
		}
	}
}
