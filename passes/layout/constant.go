package layout

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/tile"
)

// constants puts the dimension of a constant innermost along which all kernels that read it write neighbours, as the filters of a
// convolution channel by channel have it: vectors are then loaded in one piece. Factors of products have an order of their own anyway.
func (c *chooser) constants() int {
	buffers := tile.Buffers(c.g)
	inner := map[ir.NodeID]int{} // -1 where kernels disagree
	for n := range c.g.Nodes() {
		k, ok := n.Body.(*schedule.Kernel)
		if !ok {
			continue
		}
		lane := lane(k, buffers)
		_, product := tile.FindContraction(k, buffers)
		_, narrow := tile.FindNarrow(k, buffers)
		for i := range k.Operands {
			o := &k.Operands[i]
			b := buffers[o.Buffer]
			if b.Space != schedule.Constant || c.fixed[o.Buffer] || c.ordered[o.Buffer] || !c.onCPU(b) || !b.RowMajor() || smaller(b) {
				continue
			}
			dim := -1
			if lane >= 0 && !product && !narrow {
				dim = only(k, o, lane)
			}
			if old, ok := inner[o.Buffer]; ok && old != dim {
				dim = -1
			}
			inner[o.Buffer] = dim
		}
	}
	changed := 0
	for id, dim := range inner {
		if b := buffers[id]; dim >= 0 && b.Strides[dim] != 1 {
			innermost(b, dim)
			changed++
		}
	}
	return changed
}

// lane gives the loop of more than one value along which a kernel writes neighbours, or -1.
func lane(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) int {
	views := tile.Views(k, buffers)
	for i, o := range k.Operands {
		for l := range k.Loops {
			if o.Mode == schedule.Write && k.Loops[l].Extent() > 1 && views[i].Steps[l] == 1 {
				return l
			}
		}
	}
	return -1
}

// only gives the dimension of an operand that follows a loop, one value for one, and no other loop; or -1.
func only(k *schedule.Kernel, o *schedule.Operand, loop int) int {
	dim := -1
	for d, row := range o.Access.Projection {
		if row[loop] == 0 {
			continue
		}
		if loops := loopsOf(k, o, d); row[loop] != 1 || dim >= 0 || len(loops) != 1 {
			return -1
		}
		dim = d
	}
	return dim
}

// smaller says whether a buffer's elements share bytes.
func smaller(b *schedule.Buffer) bool {
	n, err := b.Range.Size()
	return err != nil || b.Bytes < n
}
