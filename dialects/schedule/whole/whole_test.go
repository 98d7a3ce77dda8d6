package whole

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

func box(bounds ...int64) zspace.Range {
	var r zspace.Range
	for i := 0; i < len(bounds); i += 2 {
		r.Start, r.End = append(r.Start, bounds[i]), append(r.End, bounds[i+1])
	}
	return r
}

// TestOf: a shard's loops and the buffers of its device become those of the whole operation; a buffer of a whole tensor stays.
func TestOf(t *testing.T) {
	part := &schedule.Buffer{Tensor: 9, Range: box(2, 4, 0, 3, 0, 5), Strides: []int64{15, 1, 3}}
	buffers := map[ir.NodeID]*schedule.Buffer{1: part, 2: {Tensor: 8, Range: box(0, 5), Strides: []int64{1}}, 9: allOf(part, box(0, 6, 0, 4, 0, 5))}
	if d := cmp.Diff([]int64{20, 1, 4}, buffers[9].Strides); d != "" {
		t.Errorf("strides of all: %s", d)
	}
	k := &schedule.Kernel{Loops: []schedule.Loop{{Start: 2, End: 4, Of: []int64{0, 6}}, {End: 5}}, Operands: []schedule.Operand{{Buffer: 1}, {Buffer: 2}}}
	all, cut := Of(k, buffers)
	if !cut || all.Loops[0].Start != 0 || all.Loops[0].End != 6 || all.Loops[0].Of != nil || all.Operands[0].Buffer != 9 || all.Operands[1].Buffer != 2 {
		t.Errorf("%+v of %+v, cut %v", all, k, cut)
	}
	if k.Operands[0].Buffer != 1 || k.Loops[0].End != 4 {
		t.Error("the shard changed")
	}
	if same, cut := Of(all, buffers); cut || same != all {
		t.Error("a whole operation is cut from another")
	}
}

// TestBuffersOrder: the order of a tensor's dimensions is that of the buffer with most of it; where a buffer has one value of a dimension, its order is not to be seen.
func TestBuffersOrder(t *testing.T) {
	g := ir.New()
	tensor := g.Add(&tensorops.Tensor{DType: "float32", Range: box(0, 2, 0, 8, 0, 4, 0, 3)}, "").ID
	one := &schedule.Buffer{Tensor: tensor, Range: box(0, 2, 7, 8, 0, 4, 0, 3), Strides: []int64{12, 1, 3, 1}}
	most := &schedule.Buffer{Tensor: tensor, Range: box(0, 2, 0, 7, 0, 4, 0, 3), Strides: []int64{84, 1, 21, 7}}
	g.Add(one, "")
	g.Add(most, "")
	if d := cmp.Diff([]int64{96, 1, 24, 8}, Buffers(g)[tensor].Strides); d != "" {
		t.Errorf("strides of all: %s", d)
	}
}
