package zspace_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
	"tensortapestry.org/tapc/ir/zspace/zspacetest"
)

func TestShardableDims(t *testing.T) {
	for _, c := range []struct {
		m, index string
		want     []string // ok or the reason, by dimension
	}{
		{"(d0, d1) -> [d0, d1] + [1, 1]", "[0:9, 0:9]", []string{
			"ok in output dimension 0 a step of d0 moves 1 cells and writes 1",
			"ok in output dimension 1 a step of d1 moves 1 cells and writes 1"}},
		{"(d0, d1) -> [d0] + [1]", "[0:9, 0:9]", []string{
			"ok in output dimension 0 a step of d0 moves 1 cells and writes 1",
			"overlap: the output does not depend on d1, so all shards would write the same cells"}},
		{"(d0, d1) -> [d0] + [1]", "[0:9, 3:4]", []string{
			"ok in output dimension 0 a step of d0 moves 1 cells and writes 1",
			"ok extent 1: nothing to cut"}},
		{"(d0) -> [2*d0] + [1]", "[0:4]", []string{"gap: in output dimension 0 a step of d0 moves 2 cells and writes 1"}},
		{"(d0) -> [2*d0] + [3]", "[0:4]", []string{"overlap: in output dimension 0 a step of d0 moves 2 cells and writes 3"}},
		{"(d0) -> [-3*d0] + [3]", "[0:4]", []string{"ok in output dimension 0 a step of d0 moves 3 cells and writes 3"}},
		{"(d0) -> [d0, d0] + [1, 1]", "[0:4]", []string{
			"gap: d0 moves output dimensions 0 and 1 together, so shards leave corners uncovered"}},
		{"(d0, d1) -> [10*d0 + d1] + [1]", "[0:4, 0:10]", []string{
			"ok in output dimension 0 a step of d0 moves 10 cells and writes 10",
			"overlap: in output dimension 0 a step of d1 moves 1 cells and writes 31"}},
		{"(d0) -> [0] + [0]", "[0:4]", []string{"ok the output has no cells"}},
		{"(d0) -> [d0] + [1]", "[0:0]", []string{"ok the output has no cells"}},
	} {
		for j, v := range proj(t, c.m).ShardableDims(rng(t, c.index)) {
			got := v.Reason
			if v.OK {
				got = "ok " + got
			}
			if v.Dim != j || got != c.want[j] {
				t.Errorf("%s over %s, d%d: %q, want %q", c.m, c.index, j, got, c.want[j])
			}
		}
	}
	verdicts := proj(t, "(d0) -> [d0] + [1]").ShardableDims(zspace.MustShape(2, 2))
	if len(verdicts) != 2 || verdicts[0].OK || !strings.Contains(verdicts[0].Reason, "expected 1 dimensions, found 2") {
		t.Errorf("an index of another rank: %v", verdicts)
	}
}

// A dimension is judged OK exactly when every cut of it is a tiling, and all
// dimensions judged OK can be cut together.
func TestShardableByCutting(t *testing.T) { rapid.Check(t, checkShardable) }

func checkShardable(t *rapid.T) {
	rows, cols := rapid.IntRange(0, 3).Draw(t, "rows"), rapid.IntRange(1, 3).Draw(t, "cols")
	p, index := genProjection(t, rows, cols), zspacetest.Range(t, cols, "index")
	counts := make([]int64, cols)
	for j, v := range p.ShardableDims(index) {
		counts[j] = 1
		if v.OK {
			counts[j] = rapid.Int64Range(1, max(1, v.Extent)).Draw(t, "count")
		}
		for at := int64(1); at < v.Extent; at++ {
			pieces := must(index.SplitSizes(j, []int64{at, v.Extent - at}))
			if fault := tilesAfter(p, index, pieces); (fault == nil) != v.OK {
				t.Fatalf("%v over %v: %+v, but cut at %d: %v", p, index, v, at, fault)
			}
		}
	}
	if slices.Contains(p.Shape, 0) {
		return // cut down to points, it writes nothing
	}
	if fault := tilesAfter(p, index, must(index.Grid(counts))); fault != nil {
		t.Fatalf("%v over %v, grid %v: %v", p, index, counts, fault)
	}
}

func tilesAfter(p zspace.ProjectionMap, index zspace.Range, pieces []zspace.Range) *tiling.Fault {
	var boxes []zspace.Range
	for _, r := range pieces {
		boxes = append(boxes, must(p.Apply(r)))
	}
	return must(tiling.Check(must(p.Apply(index)), boxes))
}
