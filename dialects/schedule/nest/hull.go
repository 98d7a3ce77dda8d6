package nest

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Hull is the least box with all coordinates that the loops of a kernel lead an operand to, beside the range of its buffer.
type Hull struct {
	First, Last zspace.Point
	buffer      zspace.Range
}

// HullOf gives the hull of an operand; ok is false if a loop has no values, or coordinates are beyond int64.
func HullOf(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, operand int) (h Hull, ok bool) {
	o := k.Operands[operand]
	first, last, err := o.Access.Hull(k.Space())
	return Hull{first, last, buffers[o.Buffer].Range}, err == nil
}

// Below says whether the loops lead before the first element of a dimension.
func (h Hull) Below(dim int) bool { return h.First[dim] < h.buffer.Start[dim] }

// Above says whether they lead behind the last one.
func (h Hull) Above(dim int) bool { return h.Last[dim] >= h.buffer.End[dim] }

// Inside says whether all coordinates are those of elements.
func (h Hull) Inside() bool { return h.buffer.Contains(h.box()) }

// Inside says whether the loops never lead an operand out of its buffer.
func Inside(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, operand int) bool {
	h, ok := HullOf(k, buffers, operand)
	return ok && h.Inside()
}

// box gives the hull as a range.
func (h Hull) box() zspace.Range {
	r := zspace.Range{Start: h.First.Clone(), End: h.Last.Clone()}
	for d := range r.End {
		r.End[d]++
	}
	return r
}

// reached gives the box of the elements that the loops lead an operand to; an empty one where all of them are beyond the buffer, as of a shard of a convolution
// that reads nothing but the border.
func reached(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, operand int) zspace.Range {
	h, _ := HullOf(k, buffers, operand)
	if r, ok := h.box().Intersect(h.buffer); ok {
		return r
	}
	return zspace.Range{Start: h.buffer.Start, End: h.buffer.Start}
}
