package tile

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
)

// Buffers gives the buffers of a graph by their nodes.
func Buffers(g *ir.Graph) map[ir.NodeID]*schedule.Buffer {
	out := map[ir.NodeID]*schedule.Buffer{}
	for n := range g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok {
			out[n.ID] = b
		}
	}
	return out
}

// Stored says whether a buffer is a constant in row-major order, whose elements are put in panels when the program is built.
func Stored(b *schedule.Buffer) bool { return b.Space == schedule.Constant && b.RowMajor() }

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
