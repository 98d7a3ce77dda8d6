package zspace_test

import (
	"slices"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/zspace"
)

// Generators of small values whose cells can be counted one by one.

func genRange(t *rapid.T, rank int, name string) zspace.Range {
	start, end := make(zspace.Point, rank), make(zspace.Point, rank)
	for i := range rank {
		start[i] = rapid.Int64Range(-3, 3).Draw(t, name+" start")
		end[i] = start[i] + rapid.Int64Range(0, 4).Draw(t, name+" extent")
	}
	return must(zspace.NewRange(start, end))
}

func genProjection(t *rapid.T, rows, cols int) zspace.ProjectionMap {
	m, off, shape := make(zspace.Matrix, rows), make(zspace.Point, rows), make(zspace.Point, rows)
	for k := range rows {
		m[k] = make([]int64, cols)
		for j := range cols {
			m[k][j] = rapid.Int64Range(-4, 4).Draw(t, "entry")
		}
		off[k] = rapid.Int64Range(-5, 5).Draw(t, "offset")
		shape[k] = rapid.Int64Range(0, 4).Draw(t, "shape")
	}
	return must(zspace.NewProjectionMap(must(zspace.NewAffineMap(m, off)), shape))
}

// genTiling cuts whole at random planes, so that the parts tile it, and shuffles.
func genTiling(t *rapid.T, whole zspace.Range) []zspace.Range {
	parts := []zspace.Range{whole}
	for range rapid.IntRange(0, 6).Draw(t, "cuts") {
		i := rapid.IntRange(0, len(parts)-1).Draw(t, "which")
		if whole.Rank() == 0 {
			break
		}
		d := rapid.IntRange(0, whole.Rank()-1).Draw(t, "dim")
		at := rapid.Int64Range(parts[i].Start[d], parts[i].End[d]).Draw(t, "at")
		low, high := parts[i].Clone(), parts[i].Clone()
		low.End[d], high.Start[d] = at, at
		parts = append(slices.Delete(parts, i, i+1), low, high)
	}
	return rapid.Permutation(parts).Draw(t, "order")
}

func genPerm(t *rapid.T, n int) []int {
	perm := make([]int, n)
	for i := range perm {
		perm[i] = i
	}
	return rapid.Permutation(perm).Draw(t, "permutation")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// cells lists the cells of a range as texts.
func cells(r zspace.Range) []string {
	var out []string
	for p := range r.Points() {
		out = append(out, p.String())
	}
	return out
}

// count counts how many of the parts hold each cell.
func count(parts []zspace.Range) map[string]int {
	n := map[string]int{}
	for _, r := range parts {
		for _, c := range cells(r) {
			n[c]++
		}
	}
	return n
}
