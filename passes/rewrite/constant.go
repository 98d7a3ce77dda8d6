package rewrite

import (
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// MaxConstant bounds the elements of a constant that a rule makes, for a constant is data of the program.
const MaxConstant = 1 << 16

// Constant makes an operation for a constant with an inline value: one for every element, or lists nested as the shape.
func (s *Site) Constant(value ir.AttrValue, dtype string, r zspace.Range) Operand {
	return Operand{New: &Op{Kernel: s.Name("constant"), Params: ir.Attrs{{Name: "value", Value: value}},
		Outputs: []Output{{Port: "result", DType: dtype, Range: r}}}}
}

// Name puts the name of a kernel of tapc's into the namespace of the site's kernel, if tapc has that; one with a namespace stays.
func (s *Site) Name(kernel string) string {
	if strings.Contains(kernel, ":") || s.kernel.decl == nil {
		return kernel
	}
	if kernel == s.kernel.name {
		return s.Op.Kernel
	}
	if strings.Contains(s.kernel.name, ":") { // none of tapc's, whose namespace has no others
		return kernels.ID(kernel)
	}
	if space, _, ok := strings.Cut(s.Op.Kernel, ":"); ok {
		return space + ":" + kernel
	}
	return kernel
}

// Splat gives the value of every cell of a selection, if a constant with one inline value produces its tensor.
func (s *Site) Splat(sel ir.Selection) (scalar.Value, bool) {
	v, ok := s.Inline(sel)
	if !ok || v.Kind == ir.AttrList {
		return scalar.Value{}, false
	}
	return Inline(v, s.Type(sel))
}

// Inline gives the inline value of the constant that produces a selection's tensor: a number, a boolean, or lists of
// them nested as the tensor's shape.
func (s *Site) Inline(sel ir.Selection) (ir.AttrValue, bool) {
	p := s.driver.index.producer[sel.Tensor]
	op := tensorops.OperationOf(s.Graph, p)
	if op == nil || op.Inputs.Len() > 0 || !s.driver.index.kernelOf(p).constant || len(op.Params) != 1 {
		return ir.AttrValue{}, false
	}
	return op.Params.Get("value")
}

// Inline reads one inline value of a constant as an element of a type. It is false for a value that the type does not have
// exactly, but a float is rounded to a narrower float type.
func Inline(v ir.AttrValue, d scalar.DType) (scalar.Value, bool) {
	const exact = 1 << 53
	switch {
	case v.Kind == ir.AttrBool && d.IsBool():
		return scalar.BoolValue(v.Int != 0), true
	case v.Kind == ir.AttrInt && d.IsInt():
		x := scalar.IntValue(d, v.Int)
		return x, x.I == v.Int && v.Int > -exact && v.Int < exact
	case v.Kind == ir.AttrInt && d.IsFloat():
		return scalar.FloatValue(d, float64(v.Int)), v.Int > -exact && v.Int < exact
	case v.Kind == ir.AttrFloat && d.IsFloat():
		return scalar.FloatValue(d, v.Num), true
	}
	return scalar.Value{}, false
}

// InlineOf writes an element as the inline value of a constant. It is false for what has no such form: NaN, infinities,
// integers that a float64 can not hold, complex numbers.
func InlineOf(v scalar.Value) (ir.AttrValue, bool) {
	const exact = 1 << 53
	switch d := v.DType; {
	case d.IsBool():
		return ir.BoolAttr(v.Bool()), true
	case d.IsInt():
		return ir.IntAttr(v.I), v.I > -exact && v.I < exact
	case d.IsFloat():
		return ir.FloatAttr(v.F), v.F-v.F == 0
	}
	return ir.AttrValue{}, false
}
