package simplify

import (
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/rewrite"
)

// batchNormWeights makes the factors and terms of a batch normalization a part of the filters before it. What a filter's cell and its
// factor multiply to is rounded once, and the sum is no longer rounded before it is scaled: so it needs a permission.
var batchNormWeights = rewrite.Rule{
	Name: "batch-norm-weights", Source: "Go", Needs: []string{"conv", "constant"}, Roots: []string{"batch_norm"},
	Allow:   permission.FoldedWeights,
	Text:    "A batch normalization of a convolution of float32 that nothing else reads becomes the convolution, with scaled filters and another bias: if filters, bias and what normalizes are constants.",
	Because: "(Σ x·w + b - mean)·f + bias = Σ x·(w·f) + ((b - mean)·f + bias), where f = scale / √(variance + epsilon); w·f and the new bias are computed in float64 and rounded once",
	Match:   foldBatchNorm,
}

func foldBatchNorm(s *rewrite.Site) (rewrite.Result, bool) {
	out, ok := s.Result()
	x := s.Op.Inputs.Get("X")
	if !ok || s.Decl() == nil || s.Type(out) != scalar.Float32 || x == nil || !s.Once(x.Sel[0].Tensor) {
		return rewrite.Result{}, false
	}
	conv, ok := s.Def(x.Sel[0])
	if !ok || conv.Kernel != "conv" || s.Type(x.Sel[0]) != scalar.Float32 {
		return rewrite.Result{}, false
	}
	given := map[string]ir.Selection{}
	for _, p := range slices.Concat(s.Op.Inputs.List(), conv.Inputs.List()) {
		if p.Name != "X" {
			given[p.Name] = p.Sel[0]
			ok = ok && isConstant(s, p.Sel[0]) && s.Type(p.Sel[0]).IsFloat()
		}
	}
	number, isNumber := epsilonOf(s.Op.Params)
	if !ok || !isNumber {
		return rewrite.Result{}, false
	}
	m := folding{maker{s: s, out: out}, out.Range().Shape()[1]}
	filters, bias := m.weights(given, number)
	made := &rewrite.Op{Kernel: s.Name("conv"), Params: conv.Op.Params, Outputs: []rewrite.Output{{Port: "Y", DType: scalar.Float32.String(), Range: out.Range()}}}
	for _, in := range []struct {
		port string
		arg  rewrite.Operand
	}{{"B", bias}, {"W", filters}, {"X", rewrite.Operand{Sel: conv.Inputs.Get("X").Sel[0]}}} {
		made.Inputs = append(made.Inputs, rewrite.Input{Port: in.port, Args: []rewrite.Operand{in.arg}})
	}
	return rewrite.One(rewrite.Operand{New: made}, conv.Node.ID), true
}

// batchNormFactor writes a batch normalization out, so that what depends on its channels alone is computed when the program is built.
var batchNormFactor = rewrite.Rule{
	Name: "batch-norm-factor", Source: "Go", Needs: []string{"constant"}, Roots: []string{"batch_norm"},
	Text:    "A batch normalization of float32 whose scale and variance are constants becomes its steps.",
	Because: "they are the steps of its definition, each rounded as there: (X - mean)·(scale / √(variance + epsilon)) + bias",
	Match:   writeOutBatchNorm,
}

func writeOutBatchNorm(s *rewrite.Site) (rewrite.Result, bool) {
	out, ok := s.Result()
	given := map[string]ir.Selection{}
	for _, p := range s.Op.Inputs.Each() {
		given[p.Name] = p.Sel[0]
		ok = ok && s.Type(p.Sel[0]) == scalar.Float32
	}
	epsilon, isNumber := epsilonOf(s.Op.Params)
	if !ok || s.Decl() == nil || !isNumber || s.Type(out) != scalar.Float32 || !isConstant(s, given["scale"]) || !isConstant(s, given["variance"]) {
		return rewrite.Result{}, false
	}
	shape := out.Range().Shape()
	m := folding{maker{s: s, out: out}, shape[1]}
	row, along := []int64{m.channels}, slices.Repeat([]int64{1}, len(shape))
	along[1] = m.channels
	shifted := m.elementwise(scalar.Float32, "add", row, rewrite.Operand{Sel: given["variance"]}, s.Constant(ir.FloatAttr(epsilon), scalar.Float32.String(), m.rangeOf(row)))
	factor := m.elementwise(scalar.Float32, "div", row, rewrite.Operand{Sel: given["scale"]}, m.elementwise(scalar.Float32, "sqrt", row, shifted))
	factor = m.elementwise(scalar.Float32, "reshape", along, factor)
	factor.New.Params = ir.Attrs{{Name: "shape", Value: ir.IntsAttr(along...)}}
	y := m.elementwise(scalar.Float32, "sub", shape, rewrite.Operand{Sel: given["X"]}, m.reshaped(given["mean"], along))
	y = m.elementwise(scalar.Float32, "add", shape, m.elementwise(scalar.Float32, "mul", shape, y, factor), m.reshaped(given["bias"], along))
	y.New.Outputs[0].Range = out.Range()
	return rewrite.One(y), true
}

// epsilonOf gives what a batch normalization adds to the variance.
func epsilonOf(params ir.Attrs) (float64, bool) {
	epsilon, found := params.Get("epsilon")
	if !found {
		return 1e-5, true
	}
	return epsilon.Number()
}

// folding makes what computes the weights of a number of channels.
type folding struct {
	maker
	channels int64
}

// weights gives the filters and the bias.
func (m folding) weights(given map[string]ir.Selection, epsilon float64) (filters, bias rewrite.Operand) {
	row := []int64{m.channels}
	wide := func(name string) rewrite.Operand {
		return m.cast(rewrite.Operand{Sel: given[name]}, row, scalar.Float64)
	}
	each := func() rewrite.Operand {
		shifted := m.float64s("add", row, wide("variance"), m.s.Constant(ir.FloatAttr(epsilon), scalar.Float64.String(), m.rangeOf(row)))
		return m.float64s("div", row, wide("scale"), m.float64s("sqrt", row, shifted))
	}
	shape := given["W"].Range().Shape()
	along := slices.Repeat([]int64{1}, len(shape))
	along[0] = m.channels
	factor := m.float64s("reshape", along, each())
	factor.New.Params = ir.Attrs{{Name: "shape", Value: ir.IntsAttr(along...)}}
	filters = m.cast(m.float64s("mul", shape, m.cast(rewrite.Operand{Sel: given["W"]}, shape, scalar.Float64), factor), shape, scalar.Float32)
	moved := m.float64s("neg", row, wide("mean"))
	if _, ok := given["B"]; ok {
		moved = m.float64s("sub", row, wide("B"), wide("mean"))
	}
	bias = m.cast(m.float64s("add", row, m.float64s("mul", row, moved, each()), wide("bias")), row, scalar.Float32)
	return filters, bias
}

// float64s makes an elementwise operation in float64.
func (m folding) float64s(kernel string, shape []int64, args ...rewrite.Operand) rewrite.Operand {
	return m.elementwise(scalar.Float64, kernel, shape, args...)
}

// elementwise makes an operation whose inputs have the ports that all of its kind have.
func (m folding) elementwise(d scalar.DType, kernel string, shape []int64, args ...rewrite.Operand) rewrite.Operand {
	var in []rewrite.Input
	switch {
	case kernel == "sub" || kernel == "div":
		in = []rewrite.Input{{Port: "a", Args: args[:1]}, {Port: "b", Args: args[1:]}}
	case len(args) == 1:
		in = []rewrite.Input{{Port: "tensor", Args: args}}
	default:
		in = []rewrite.Input{{Port: "tensors", Args: args}}
	}
	o := m.op(kernel, m.rangeOf(shape), in...)
	o.New.Outputs[0].DType = d.String()
	return o
}

func (m folding) cast(x rewrite.Operand, shape []int64, to scalar.DType) rewrite.Operand {
	o := m.op("cast", m.rangeOf(shape), rewrite.Input{Port: "tensor", Args: []rewrite.Operand{x}})
	o.New.Outputs[0].DType = to.String()
	o.New.Params = ir.Attrs{{Name: "dtype", Value: ir.StringAttr(to.String())}}
	return o
}
