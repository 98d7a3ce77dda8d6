// Package nest analyses scheduled kernels: how operands are read along loops, and which known computation a kernel is. A kernel is a
// contraction (of numbers that instructions take in groups, or of a convolution that may be transformed, among others), two back to back,
// rows of vectors, or none of these. All is found from the kernel and the buffers of its operands, never from names, and for a shard it is what it is
// for the whole operation, so that it adds in the same order.
//
// The package finds what is so; which of it pays, and how large pieces are, is for passes/tile. Thresholds below which a form is
// not worth its code are here as long as a recogniser gives one form of several. Read next: passes/tile.
package nest

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
)

// Prepackable says whether a buffer is a constant in row-major order, whose elements are put in panels when the program is built.
func Prepackable(b *schedule.Buffer) bool { return b.Space == schedule.Constant && b.RowMajor() }

// View says which element of its buffer an operand is: number Base + sum of Steps[l]·(value of loop l), in elements.
type View struct {
	Base  int64
	Steps []int64 // for each loop of the kernel
}

// ViewOf follows an operand's access through its buffer's strides.
func ViewOf(k *schedule.Kernel, operand int, buffers map[ir.NodeID]*schedule.Buffer) View {
	o := k.Operands[operand]
	b := buffers[o.Buffer]
	v := View{Steps: make([]int64, len(k.Loops))}
	for d, stride := range b.Strides {
		v.Base += (o.Access.Offset[d] - b.Range.Start[d]) * stride
		for l, f := range o.Access.Projection[d] {
			v.Steps[l] += f * stride
		}
	}
	return v
}

// Views gives the view of every operand.
func Views(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) []View {
	out := make([]View, len(k.Operands))
	for i := range out {
		out[i] = ViewOf(k, i, buffers)
	}
	return out
}

// OperandBytes is the size of the buffers of a kernel's operands.
func OperandBytes(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) float64 {
	sum := 0.0
	for _, o := range k.Operands {
		if b := buffers[o.Buffer]; b != nil {
			sum += float64(b.Bytes)
		}
	}
	return sum
}

// Followed gives those of some dimensions that a view follows, or those that it does not.
func Followed(dims []Dim, v View, follows bool) []Dim {
	return slices.DeleteFunc(slices.Clone(dims), func(d Dim) bool { return (d.Step(v) != 0) != follows })
}

// Points is how many points some dimensions have together, up to 2^40, where a dimension of none counts as one of one.
func Points(dims []Dim) int64 {
	n := int64(1)
	for _, d := range dims {
		n = SaturatingProduct(n, d.Extent)
	}
	return n
}

// SaturatingProduct multiplies extents, up to 2^40; one of 0 counts as 1.
func SaturatingProduct(factors ...int64) int64 {
	n := int64(1)
	for _, f := range factors {
		if f = max(f, 1); n > (1<<40)/f {
			return 1 << 40
		}
		n *= f
	}
	return n
}
