// Package whole tells what a shard is cut from: the kernel of the whole operation, and buffers of all of its tensors.
//
// The order of a sum depends on how a kernel is carried out: as a contraction, and of what, or as rows of vectors, and along what. That is
// chosen by the whole operation, so that every shard of it adds in the same order.
// Read next: dialects/schedule/nest.
package whole

import (
	"cmp"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Of gives the kernel that a shard is cut from: its loops are those of the whole operation, and where buffers hold parts of tensors, its operands
// are all of these. cut is false if it is whole already.
func Of(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) (all *schedule.Kernel, cut bool) {
	if !slices.ContainsFunc(k.Loops, func(l schedule.Loop) bool { return len(l.Of) == 2 }) {
		return k, false
	}
	w := *k
	w.Loops, w.Operands = slices.Clone(k.Loops), slices.Clone(k.Operands)
	for i, l := range w.Loops {
		if len(l.Of) == 2 {
			w.Loops[i].Start, w.Loops[i].End, w.Loops[i].Of = l.Of[0], l.Of[1], nil
		}
	}
	for i, o := range w.Operands {
		if b := buffers[o.Buffer]; b != nil && buffers[b.Tensor] != nil && !b.Range.Equal(buffers[b.Tensor].Range) {
			w.Operands[i].Buffer = b.Tensor
		}
	}
	return &w, true
}

// Single says whether a loop has one value, in the whole operation too.
func Single(l schedule.Loop) bool { return l.Extent() == 1 && len(l.Of) == 0 }

// Buffers gives the buffers of a graph by their nodes. Under the node of a tensor of which a buffer holds a part, as a device's does, is one of all
// of it, in the same order: that which a whole operation would read. It is that of the buffer with most of the tensor, for the order of a dimension of which a buffer has one value is
// not to be seen.
func Buffers(g *ir.Graph) map[ir.NodeID]*schedule.Buffer {
	out := map[ir.NodeID]*schedule.Buffer{}
	most := map[ir.NodeID]*schedule.Buffer{} // by tensor
	parts := ir.NodeSet{}                    // tensors of which a buffer holds a part
	for n := range g.Nodes() {
		b, ok := n.Body.(*schedule.Buffer)
		if !ok {
			continue
		}
		out[n.ID] = b
		t := tensorops.TensorOf(g, b.Tensor)
		if t == nil || t.Range.Rank() != b.Range.Rank() {
			continue
		}
		if !t.Range.Equal(b.Range) {
			parts.Add(b.Tensor)
		}
		if m := most[b.Tensor]; m == nil || values(m) < values(b) {
			most[b.Tensor] = b
		}
	}
	for id := range parts.All {
		out[id] = allOf(most[id], tensorops.TensorOf(g, id).Range)
	}
	return out
}

// values is how many elements a buffer has.
func values(b *schedule.Buffer) int64 {
	n, _ := b.Range.Size() // more than fit in 64 bits are refused before
	return n
}

// allOf gives a buffer of a larger box, whose dimensions are in the order of a buffer's.
func allOf(b *schedule.Buffer, box zspace.Range) *schedule.Buffer {
	out, shape := *b, box.Shape()
	dims, extents := make([]int, len(shape)), make([]int64, len(shape))
	for d := range dims {
		dims[d] = d
	}
	slices.SortStableFunc(dims, func(x, y int) int { return cmp.Compare(b.Strides[y], b.Strides[x]) })
	for i, d := range dims {
		extents[i] = shape[d]
	}
	out.Range, out.Strides = box, make([]int64, len(shape))
	for i, step := range zspace.RowMajor(extents) {
		out.Strides[dims[i]] = step
	}
	return &out
}
