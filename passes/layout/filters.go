package layout

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/ir"
)

// leastUses is how often each element of filters must be used for a copy of them to pay: it is written once, one by one, as they are read without it in each use.
const leastUses = 16

// copied is filters in another order.
type copied struct {
	filters ir.NodeID
	inner   int // the dimension that is innermost
}

// filters gives convolutions of few filters, as depthwise ones are, whose filters are no constants and whose lanes follow a dimension of these, a copy of them with that dimension innermost:
// vectors of it are then loaded in one piece, as those of constants are. It gives the number of copies. Sums have the order that they have, as it follows no layout there (nest.FewFilters).
func (c *chooser) filters() (int, error) {
	buffers := whole.Buffers(c.g)
	copies, order := map[copied][]*schedule.Operand{}, []copied(nil)
	readers, writers := map[*schedule.Operand]*schedule.Kernel{}, map[ir.NodeID][]ir.NodeID{}
	for n := range c.g.Nodes() {
		schedule.Touches(n, func(buffer ir.NodeID, write bool) {
			if write {
				writers[buffer] = append(writers[buffer], n.ID)
			}
		})
		k, ok := n.Body.(*schedule.Kernel)
		if !ok || !nest.FewFilters(k) {
			continue
		}
		_, filter, _, ok := windowed(k)
		if !ok || buffers[filter.Buffer].Space == schedule.Constant {
			continue
		}
		if dim := c.lanes(k, filter, buffers); dim >= 0 {
			of := copied{filter.Buffer, dim}
			if copies[of] == nil {
				order = append(order, of)
			}
			copies[of] = append(copies[of], filter)
			readers[filter] = k
		}
	}
	for _, of := range order {
		b := *c.g.Node(of.filters).Body.(*schedule.Buffer)
		n, _ := b.Range.Size() // which lanes has asked for
		b.Space, b.Over, b.Bytes = schedule.Arena, ir.NoNode, n*int64(b.Type().Size())
		innermost(&b, of.inner)
		from := c.g.Node(of.filters)
		label, copying := "", ""
		if from.Label != "" {
			label = fmt.Sprintf("%s.by%d", from.Label, of.inner)
			copying = label + ".copy"
		}
		to := c.g.Add(&b, label)
		t := c.g.Add(&schedule.Transfer{From: of.filters, To: to.ID, After: slices.Clone(writers[of.filters])}, copying)
		to.Pos, t.Pos = from.Pos, from.Pos
		for _, o := range copies[of] {
			o.Buffer = to.ID
			readers[o].After = append(readers[o].After, t.ID)
		}
	}
	if len(order) == 0 {
		return 0, nil
	}
	return len(order), schedule.Place(c.g, "layout")
}

// lanes gives the dimension of filters that the lanes of their convolution follow if it is innermost, or -1 if it is so already, if there is none, if the convolution
// reads them otherwise, too, or if another order does not pay.
func (c *chooser) lanes(k *schedule.Kernel, filter *schedule.Operand, buffers map[ir.NodeID]*schedule.Buffer) int {
	b, at, others := buffers[filter.Buffer], 0, 0
	for i := range k.Operands {
		if o := &k.Operands[i]; o == filter {
			at = i
		} else if o.Buffer == filter.Buffer {
			others++
		}
	}
	n, err := b.Range.Size()
	points, bad := k.Space().Size()
	if err != nil || bad != nil || others > 0 || c.onGrid(b) || smaller(b) || points/leastUses < n {
		return -1
	}
	old := b.Strides
	defer func() { b.Strides = old }()
	for dim, extent := range b.Range.Shape() {
		if extent < 2 || old[dim] == 1 {
			continue
		}
		innermost(b, dim)
		forms := nest.Classify(k, buffers).Allowed(k.Allow)
		if len(forms) == 0 {
			return -1
		}
		if r, ok := forms[0].(*nest.Rows); ok && r.Free && r.Lane.Step(r.Views[at]) == 1 {
			return dim
		}
		b.Strides = old
	}
	return -1
}
