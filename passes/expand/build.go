package expand

import (
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
)

// builder makes operations whose types follow from their kernels' declarations.
type builder struct {
	s      *rewrite.Site
	failed bool // some kernel does not take its operands
}

// port is an input port with what it takes.
func port(name string, args ...rewrite.Operand) rewrite.Input {
	return rewrite.Input{Port: name, Args: args}
}

// at is a value that is there.
func at(s ir.Selection) rewrite.Operand { return rewrite.Operand{Sel: s} }

// op makes an operation with one output; ports are sorted by name.
func (b *builder) op(kernel, out string, params ir.Attrs, in ...rewrite.Input) rewrite.Operand {
	op := &rewrite.Op{Kernel: b.s.Name(kernel), Params: params, Inputs: in, Outputs: []rewrite.Output{{Port: out}}}
	b.failed = b.failed || !b.s.Infer(op)
	if b.failed {
		op.Outputs[0].DType, op.Outputs[0].Range = scalar.Float32.String(), zspace.MustShape()
	}
	return rewrite.Operand{New: op}
}

// one is an operation of a kernel on one tensor.
func (b *builder) one(kernel string, params ir.Attrs, x rewrite.Operand) rewrite.Operand {
	return b.op(kernel, "result", params, port("tensor", x))
}

// two is an operation of a kernel with the operands a and b.
func (b *builder) two(kernel string, x, y rewrite.Operand) rewrite.Operand {
	return b.op(kernel, "result", nil, port("a", x), port("b", y))
}

// many is an operation of a kernel on any number of tensors.
func (b *builder) many(kernel string, params ir.Attrs, list ...rewrite.Operand) rewrite.Operand {
	return b.op(kernel, "result", params, port("tensors", list...))
}

// product is a product of matrices.
func (b *builder) product(x, y rewrite.Operand) rewrite.Operand {
	return b.op("matmul", "Z", nil, port("X", x), port("Y", y))
}

// number is a constant without dimensions.
func (b *builder) number(v ir.AttrValue, dtype string) rewrite.Operand {
	return b.s.Constant(v, dtype, zspace.MustShape())
}

// shape gives the extents of a value.
func (b *builder) shape(x rewrite.Operand) zspace.Point {
	if x.New != nil {
		return x.New.Outputs[x.Out].Range.Shape()
	}
	return x.Sel.Range().Shape()
}

// done makes the result of a rule, if all kernels take their operands and it has the element type and the shape of the site's.
func (b *builder) done(x rewrite.Operand) (rewrite.Result, bool) {
	out, ok := b.s.Result()
	if b.failed || !ok || x.New == nil || x.New.Outputs[0].DType != b.s.Tensor(out.Tensor).DType || !b.shape(x).Equal(out.Range().Shape()) {
		return rewrite.Result{}, false
	}
	return rewrite.One(x), true
}

// ints is a parameter that is a list.
func ints(name string, list ...int64) ir.Attrs { return ir.Attrs{}.With(name, ir.IntsAttr(list...)) }

// input gives the only selection of an input port by one of its names.
func input(s *rewrite.Site, names ...string) (ir.Selection, bool) {
	for _, name := range names {
		if p := s.Op.Inputs.Get(name); p != nil && len(p.Sel) == 1 {
			return p.Sel[0], true
		}
	}
	return ir.Selection{}, false
}
