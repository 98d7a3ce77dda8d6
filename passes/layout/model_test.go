package layout

import (
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// TestWeighed: buffers that kernels connect are weighed together, also where a later kernel joins two groups, with each of their kernels once; kernels of other buffers are in none.
func TestWeighed(t *testing.T) {
	g := ir.New()
	var ids []ir.NodeID
	for range 6 {
		ids = append(ids, g.Add(&schedule.Buffer{Space: schedule.Constant, Range: zspace.MustShape(2, 3)}, "").ID)
	}
	kernels := map[*schedule.Kernel]int{}
	for i, of := range [][]int{{0, 1}, {2, 3, 2}, {4}, {5}, {3, 1}} {
		k := &schedule.Kernel{}
		for _, b := range of {
			k.Operands = append(k.Operands, schedule.Operand{Buffer: ids[b]})
		}
		kernels[k] = i
		g.Add(k, "")
	}
	c := &chooser{g: g}
	var got [][2][]int
	for _, w := range c.weighed(ids[:5]) {
		var x [2][]int
		for _, b := range w.buffers {
			x[0] = append(x[0], slices.Index(ids, b))
		}
		for _, k := range w.kernels {
			x[1] = append(x[1], kernels[k])
		}
		slices.Sort(x[1])
		if len(w.buffers)+len(w.kernels) > 0 {
			got = append(got, x)
		}
	}
	want := [][2][]int{{{0, 1, 2, 3}, {0, 1, 4}}, {{4}, {2}}}
	if !slices.EqualFunc(got, want, func(a, b [2][]int) bool { return slices.Equal(a[0], b[0]) && slices.Equal(a[1], b[1]) }) {
		t.Errorf("found %v, expected %v", got, want)
	}
}
