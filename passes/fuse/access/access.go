// Package access works with how the loops of kernels lead to elements: accesses are composed and inverted, followed through memory, and made
// even by cutting loops where quotients jump. It knows one kernel at a time, and decides nothing. Read next: passes/fuse.
package access

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Unit gives the loop that a row of an access follows, if it is one loop with factor 1; loops of one value do not count.
func Unit(row []int64, loops []schedule.Loop) (int, bool) {
	at := -1
	for j, a := range row {
		switch {
		case a == 0 || loops[j].Extent() == 1:
		case a != 1 || at >= 0:
			return 0, false
		default:
			at = j
		}
	}
	return at, true
}

// Part gives the loop of one value, cut from one of more, that a row of an access follows with factor 1, or -1.
func Part(row []int64, loops []schedule.Loop) int {
	for j, l := range loops {
		if row[j] == 1 && l.Extent() == 1 && len(l.Of) == 2 {
			return j
		}
	}
	return -1
}

// Inverse gives the loops of a kernel from the coordinates of what it writes, if each coordinate follows one loop evenly.
func Inverse(k *schedule.Kernel, a zspace.AffineMap) (zspace.AffineMap, bool) {
	out := zspace.AffineMap{Projection: make(zspace.Matrix, len(k.Loops)), Offset: make(zspace.Point, len(k.Loops))}
	for l := range k.Loops {
		out.Projection[l] = make([]int64, len(a.Projection))
		out.Offset[l] = k.Loops[l].Start
	}
	known := make([]bool, len(k.Loops))
	for d, row := range a.Projection {
		l, ok := Unit(row, k.Loops)
		if !ok || l >= 0 && known[l] {
			return out, false
		}
		if l < 0 {
			continue
		}
		known[l] = true
		shift := a.Offset[d]
		for j, f := range row { // loops of one value
			if j != l {
				shift += f * k.Loops[j].Start
			}
		}
		out.Projection[l][d], out.Offset[l] = 1, -shift
	}
	for l := range k.Loops {
		if !known[l] && k.Loops[l].Extent() != 1 {
			return out, false
		}
	}
	return out, true
}

// Compose gives a after b.
func Compose(a, b zspace.AffineMap) zspace.AffineMap {
	out := zspace.AffineMap{Projection: make(zspace.Matrix, len(a.Projection)), Offset: a.Offset.Clone()}
	columns := 0
	if len(b.Projection) > 0 {
		columns = len(b.Projection[0])
	}
	for i, row := range a.Projection {
		out.Projection[i] = make([]int64, columns)
		for j, f := range row {
			out.Offset[i] += f * b.Offset[j]
			for x, g := range b.Projection[j] {
				out.Projection[i][x] += f * g
			}
		}
	}
	return out
}

// Step is how far an access moves in memory from one value of a loop to the next, in elements.
func Step(b *schedule.Buffer, a zspace.AffineMap, loop int) int64 {
	n := int64(0)
	for d, row := range a.Projection {
		n += row[loop] * b.Strides[d]
	}
	return n
}

// Neighbours says whether some loop moves an access from one element to the next in memory, so that a product can read vectors.
func Neighbours(b *schedule.Buffer, a zspace.AffineMap) bool {
	for l := range a.Projection[0] {
		if Step(b, a, l) == 1 {
			return true
		}
	}
	return false
}

// FreshName gives a name that no loop and no operand or value of a kernel has.
func FreshName(k *schedule.Kernel, base string) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(k.Loops, func(l schedule.Loop) bool { return l.Name == name }) ||
			slices.ContainsFunc(k.Operands, func(o schedule.Operand) bool { return o.Name == name }) ||
			slices.ContainsFunc(k.Statements, func(s schedule.Statement) bool { return s.Name == name })
	}
	for taken(base) {
		base += "_"
	}
	return base
}

// Folds says whether a kernel folds along a loop.
func Folds(k *schedule.Kernel, loop int) bool {
	return slices.ContainsFunc(k.Statements, func(s schedule.Statement) bool {
		return s.Value.Any(func(e *scalar.Expr) bool {
			return e.Op == scalar.Reduce && (loop == AnyLoop || slices.Contains(e.Over, loop))
		})
	})
}

// AnyLoop stands for every loop of a kernel.
const AnyLoop = -1

// Factor says whether an operand is nothing but a factor of the products that a kernel sums.
func Factor(k *schedule.Kernel, operand int) bool {
	factors, all := 0, 0
	for _, s := range k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			loads := func(e *scalar.Expr) bool {
				if e.Op == scalar.Where && e.Args[2].Op == scalar.Const { // inside the borders of an image
					e = e.Args[1]
				}
				if e.Op == scalar.Cast && e.Args[0].Type == scalar.BFloat16 {
					e = e.Args[0]
				}
				return e.Op == scalar.Load && e.Ref == operand
			}
			switch {
			case e.Op == scalar.Load && e.Ref == operand:
				all++
			case e.Op == scalar.Reduce && e.Monoid == scalar.Add && e.Args[0].Op == scalar.Mul:
				for _, a := range e.Args[0].Args {
					if loads(a) {
						factors++
					}
				}
			}
			return true
		})
	}
	return factors > 0 && factors == all
}

// Reach is the box of the buffer that an operand touches over all loops.
func Reach(k *schedule.Kernel, operand int) (zspace.Range, error) {
	a := k.Operands[operand].Access
	shape := make(zspace.Point, a.Projection.Rows())
	for i := range shape {
		shape[i] = 1
	}
	return zspace.ProjectionMap{AffineMap: a, Shape: shape}.Apply(k.Space())
}

// StoredOver says whether all local values run along loops of the stored result only.
func StoredOver(k *schedule.Kernel) bool {
	parallel := k.Parallel()
	for _, s := range k.Statements {
		if s.Store < 0 && slices.ContainsFunc(s.Over, func(l int64) bool { return !slices.Contains(parallel, int(l)) }) {
			return false
		}
	}
	return true
}
