package zspace_test

import (
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/zspace"
)

// Generators of small values whose cells can be counted one by one.

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
