package layout

import (
	"cmp"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// weigh takes back the orders of constants, and of what is computed of them, with which kernels take longer than row-major, as a model has it: those that kernels have in common
// together. No other order is weighed, for sums follow them: values depend on no machine.
func (c *chooser) weigh(model cost.Model, reordered []ir.NodeID) (taken int, err error) {
	buffers := whole.Buffers(c.g)
	for _, w := range c.weighed(reordered) {
		seconds := func() (sum float64) {
			for _, k := range w.kernels {
				if d, ok := c.g.Node(k.Device).Body.(*schedule.Device); ok {
					e, bad := model.Estimate(d.Type, nest.Analyze(k, buffers))
					err = cmp.Or(err, bad)
					sum += e.Seconds
				}
			}
			return sum
		}
		chosen, strides := seconds(), make([][]int64, len(w.buffers))
		for i, id := range w.buffers {
			strides[i] = buffers[id].Strides
			buffers[id].Strides = zspace.RowMajor(buffers[id].Range.Shape())
		}
		rowMajor := seconds()
		if err != nil {
			return taken, err
		}
		if rowMajor < chosen {
			taken += len(w.buffers)
			continue
		}
		for i, id := range w.buffers {
			buffers[id].Strides = strides[i]
		}
	}
	return taken, nil
}

// weighed is buffers whose orders are weighed together, and the kernels that read or write them.
type weighed struct {
	buffers []ir.NodeID
	kernels []*schedule.Kernel
}

// weighed groups buffers that kernels connect, in the order of the first of each group.
func (c *chooser) weighed(reordered []ir.NodeID) []weighed {
	group := map[ir.NodeID]int{} // of a buffer, the number of one of its group
	for i, id := range reordered {
		group[id] = i
	}
	users := map[ir.NodeID][]*schedule.Kernel{} // by the first of a kernel's buffers
	for n := range c.g.Nodes() {
		k, ok := n.Body.(*schedule.Kernel)
		if !ok {
			continue
		}
		first := ir.NoNode
		for _, o := range k.Operands {
			at, ok := group[o.Buffer]
			switch {
			case !ok:
			case first == ir.NoNode:
				first = o.Buffer
				users[first] = append(users[first], k)
			case at != group[first]:
				least, other := min(at, group[first]), max(at, group[first])
				for id, g := range group {
					if g == other {
						group[id] = least
					}
				}
			}
		}
	}
	all := make([]weighed, len(reordered))
	for _, id := range reordered {
		w := &all[group[id]]
		w.buffers, w.kernels = append(w.buffers, id), append(w.kernels, users[id]...)
	}
	return all
}
