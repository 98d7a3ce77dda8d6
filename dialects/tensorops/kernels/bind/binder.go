package bind

import (
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/scalar"
)

// binder makes an instance of what a call decides.
type binder struct {
	decl     *declaration.Kernel
	args     *infer.Arguments
	sizes    *infer.Sizes
	in       *instance.Instance
	dims     map[string][]int        // numbers of the instance's dims, by dimension or group
	box      affine.Box              // of the dims, once they are numbered
	literals map[string]*scalar.Expr // local values that are numbers without a type
	missing  error                   // a parameter that the body turned out to need
	entry    int                     // the selection of a variadic operand that is read or computed now
}

func newBinder(sizes *infer.Sizes, g *ir.Graph) *binder {
	args := sizes.Arguments()
	in := &instance.Instance{Decl: args.Kernel, Params: args.Params, Graph: g, Cost: -1}
	for _, o := range args.Operands {
		in.Operands = append(in.Operands, instance.Operand{Operand: o})
	}
	return &binder{decl: args.Kernel, args: args, sizes: sizes, in: in, dims: map[string][]int{}, literals: map[string]*scalar.Expr{}}
}
