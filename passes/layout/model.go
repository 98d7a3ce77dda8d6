package layout

import (
	"slices"

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
	buffers, users := whole.Buffers(c.g), map[ir.NodeID][]*schedule.Kernel{}
	for n := range c.g.Nodes() {
		if k, ok := n.Body.(*schedule.Kernel); ok {
			for _, o := range k.Operands {
				if slices.Contains(reordered, o.Buffer) && !slices.Contains(users[o.Buffer], k) {
					users[o.Buffer] = append(users[o.Buffer], k)
				}
			}
		}
	}
	for len(reordered) > 0 {
		group, kernels := reordered[:1:1], users[reordered[0]]
		reordered = reordered[1:]
		for i := 0; i < len(kernels); i++ { // more come to the end
			for _, o := range kernels[i].Operands {
				if at := slices.Index(reordered, o.Buffer); at >= 0 {
					group, reordered = append(group, o.Buffer), slices.Delete(slices.Clone(reordered), at, at+1)
					for _, k := range users[o.Buffer] {
						if !slices.Contains(kernels, k) {
							kernels = append(kernels, k)
						}
					}
				}
			}
		}
		seconds := func() (sum float64) {
			for _, k := range kernels {
				d, _ := c.g.Node(k.Device).Body.(*schedule.Device)
				e, bad := model.Estimate(d.Type, nest.Analyze(k, buffers))
				if bad != nil {
					err = bad
				}
				sum += e.Seconds
			}
			return sum
		}
		after, strides := seconds(), make([][]int64, len(group))
		for i, id := range group {
			strides[i] = buffers[id].Strides
			buffers[id].Strides = zspace.RowMajor(buffers[id].Range.Shape())
		}
		if before := seconds(); err != nil || before >= after {
			for i, id := range group {
				buffers[id].Strides = strides[i]
			}
		} else {
			taken += len(group)
		}
		if err != nil {
			return taken, err
		}
	}
	return taken, nil
}
