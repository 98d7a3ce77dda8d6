// Package meshes is the meshes of a number of devices, and along which dimensions their axes go.
//
// A mesh has at most three axes; each goes along one dimension of an operation or of a tensor, or along none. It knows no graphs and no prices: search/layouts makes plans of it.
package meshes

import (
	"iter"
	"slices"

	"tensortapestry.org/tapc/dialects/application/planfile"
)

// MaxAxes is how many axes a mesh has at most.
const MaxAxes = 3

// Of gives the meshes of so many devices: that of the prime factors, which has all others in it, if they are few, or else all of three axes, which
// have those of fewer in them: where axes cut one dimension, they are one.
func Of(n int64) (list [][]int64) {
	var primes []int64
	for p, rest := int64(2), n; rest > 1; p++ {
		for ; rest%p == 0; rest /= p {
			primes = append(primes, p)
		}
	}
	if len(primes) <= MaxAxes {
		return [][]int64{primes}
	}
	for a := int64(2); a < n; a++ {
		for b := int64(2); n%a == 0 && b < n/a; b++ {
			if n/a%b == 0 {
				list = append(list, []int64{a, b, n / a / b})
			}
		}
	}
	return list
}

// Product is how many devices a mesh has.
func Product(mesh []int64) int64 {
	n := int64(1)
	for _, size := range mesh {
		n *= size
	}
	return n
}

// Assignment says along which dimension each axis goes, -1 for none.
type Assignment [MaxAxes]int8

// Along gives the axes that cut a dimension.
func (a Assignment) Along(k int) (axes planfile.Axes) {
	for axis, d := range a {
		if d == int8(k) {
			axes = append(axes, axis)
		}
	}
	return axes
}

// Assignments gives all assignments of so many axes to dimensions that fit: each is among the free, and is not cut into more parts than it has
// cells in every mesh.
func Assignments(meshes [][]int64, extents []int64, free func(d int) bool) (list []Assignment) {
	axes := len(meshes[0])
	a := Assignment{-1, -1, -1}
	var fill func(axis int)
	fill = func(axis int) {
		if axis == axes {
			if slices.ContainsFunc(meshes, func(m []int64) bool { return Fits(m, a, extents) }) {
				list = append(list, a)
			}
			return
		}
		for d := -1; d < len(extents); d++ {
			if d < 0 || free(d) {
				a[axis] = int8(d)
				fill(axis + 1)
			}
		}
		a[axis] = -1
	}
	fill(0)
	return list
}

// Parts gives into how many parts an assignment cuts each dimension.
func Parts(mesh []int64, a Assignment, rank int) []int64 {
	p := slices.Repeat([]int64{1}, rank)
	for d, n := range Cuts(mesh, a) {
		p[d] = n
	}
	return p
}

// Cuts are the dimensions that an assignment cuts, and into how many parts.
func Cuts(mesh []int64, a Assignment) iter.Seq2[int, int64] {
	return func(yield func(d int, parts int64) bool) {
		for axis, size := range mesh {
			d := a[axis]
			if d < 0 || slices.Contains(a[:axis], d) {
				continue
			}
			for other := axis + 1; other < len(mesh); other++ {
				if a[other] == d {
					size *= mesh[other]
				}
			}
			if size > 1 && !yield(int(d), size) {
				return
			}
		}
	}
}

// Fits says whether each part has a cell.
func Fits(mesh []int64, a Assignment, extents []int64) bool {
	for d, n := range Cuts(mesh, a) {
		if n > extents[d] {
			return false
		}
	}
	return true
}
