package layout

import (
	"maps"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/ir"
)

// constants puts the dimension of a constant innermost along which all kernels that read it write neighbours, as the filters of a
// convolution channel by channel have it, or that its lanes follow then (lanes): vectors are then loaded in one piece. Factors of products have an order of their own anyway.
func (c *chooser) constants() (changed []ir.NodeID) {
	buffers := whole.Buffers(c.g)
	inner := map[ir.NodeID]int{} // -1 where kernels disagree
	for n := range c.g.Nodes() {
		k, ok := n.Body.(*schedule.Kernel)
		if !ok {
			continue
		}
		lane := lane(k, buffers)
		var filter *schedule.Operand
		if nest.FewFilters(k) {
			_, filter, _, _ = windowed(k)
		}
		product := ordersFactors(nest.Classify(k, buffers).Allowed(k.Allow))
		for i := range k.Operands {
			o := &k.Operands[i]
			b := buffers[o.Buffer]
			if b.Space != schedule.Constant || c.fixed.Has(o.Buffer) || c.ordered.Has(c.all(o.Buffer)) || c.onGrid(b) || !b.RowMajor() || smaller(b) {
				continue
			}
			dim := -1
			if lane >= 0 && !product {
				dim = only(k, o, lane)
			}
			if o == filter {
				if d := c.lanes(k, o, buffers); d >= 0 {
					dim = d
				}
			}
			if old, ok := inner[o.Buffer]; ok && old != dim {
				dim = -1
			}
			inner[o.Buffer] = dim
		}
	}
	for _, id := range slices.Sorted(maps.Keys(inner)) {
		if b, dim := buffers[id], inner[id]; dim >= 0 && b.Strides[dim] != 1 {
			innermost(b, dim)
			changed = append(changed, id)
		}
	}
	return changed
}

// ordersFactors says whether a kernel is a contraction whose factors are put in an order of their own: all but those that are computed, of vectors of columns.
func ordersFactors(forms nest.Forms) bool {
	c, product := nest.Of[*nest.Contraction](forms)
	product = product && c.Computed == nil
	_, narrow := nest.Of[*nest.LowPrecision](forms)
	return product || narrow
}

// lane gives the loop of more than one value along which a kernel writes neighbours, or -1.
func lane(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) int {
	views := nest.Views(k, buffers)
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
