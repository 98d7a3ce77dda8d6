package split

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// wholeVectors is a number of results of which vectors of any processor have no lane left over, so that lanes follow results
// with anything else fused with the sum.
const wholeVectors = 16

// treeOf gives the tree by which a CPU sums along a dim of an operation, if that is the one dimension that it sums along: as a product, or with lanes of
// vectors along its results, which are whole vectors. Where lanes follow what is summed, the tree is the processor's and no graph's.
func treeOf(in *instance.Instance, dim int, typeOf func(ir.NodeID) zspace.Range) (t tree, ok bool) {
	k, buffers := kernelOf(in, typeOf)
	for _, form := range nest.Classify(k, buffers).Allowed(0) {
		switch f := form.(type) {
		case *nest.Contraction:
			return tree{product: true}, alone(f.Reduction, dim)
		case *nest.Rows:
			return tree{}, f.Free && f.Lane.Extent%wholeVectors == 0 && alone(f.Reduction, dim)
		default:
			return tree{}, false
		}
	}
	return tree{}, false
}

// alone says whether a dim is the only one that has more than one value.
func alone(dims []nest.Dim, dim int) bool {
	return len(dims) == 1 && slices.Equal(dims[0].Loops, []int{dim})
}

// kernelOf gives the kernel that an operation is scheduled as if it is fused with nothing, and its buffers.
func kernelOf(in *instance.Instance, rangeOf func(ir.NodeID) zspace.Range) (*schedule.Kernel, map[ir.NodeID]*schedule.Buffer) {
	k, buffers := &schedule.Kernel{}, map[ir.NodeID]*schedule.Buffer{}
	for _, d := range in.Dims {
		k.Loops = append(k.Loops, schedule.Loop{Name: d.Name, End: d.Extent, Levels: []schedule.Level{{Tile: 1}}})
	}
	for _, o := range in.Operands {
		mode := schedule.Read
		if o.Decl.Out {
			mode = schedule.Write
		}
		box := rangeOf(o.Sel.Tensor)
		buffers[o.Sel.Tensor] = &schedule.Buffer{Tensor: o.Sel.Tensor, DType: o.Type.String(), Range: box, Strides: zspace.RowMajor(box.Shape())}
		k.Operands = append(k.Operands, schedule.Operand{Buffer: o.Sel.Tensor, DType: o.Type.String(), Mode: mode, Access: o.Access})
	}
	for _, s := range in.Statements {
		over := make([]int64, len(s.Over))
		for i, d := range s.Over {
			over[i] = int64(d)
		}
		k.Statements = append(k.Statements, schedule.Statement{Name: s.Name, Over: over, Store: int64(s.Store), Value: s.Value})
	}
	return k, buffers
}
