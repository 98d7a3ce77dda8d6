package propagate

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// joins says whether an operation passes partial sums on if what it adds to them joins the first part: a sum or a difference of partial tensors and others, such as a bias. With
//
//	t0 + t1 + b  =  (t0 + b) + t1
//
// the other parts go on as they are. One of the partial tensors has the shape of the result, which the others are stretched to.
func joins(op *tensorops.Operation, in *instance.Instance, by scalar.Op, partial func(tensor ir.NodeID) bool) bool {
	if by != scalar.Add || op.Kernel != "op:add" && op.Kernel != "op:sub" || len(op.Params) > 0 || op.Outputs.Len() != 1 || len(op.Outputs.At(0).Sel) != 1 {
		return false
	}
	shape, found := op.Outputs.At(0).Sel[0].Range().Shape(), false
	op.Inputs.All(func(_, _ int, s *ir.Selection) {
		found = found || partial(s.Tensor) && slices.Equal(s.Range().Shape(), shape)
	})
	return found && (op.Kernel == "op:add" && op.Inputs.Len() == 1 || op.Kernel == "op:sub" && op.Inputs.Len() == 2) &&
		reduced.Distributes(in, by, func(*instance.Operand) bool { return true })
}
