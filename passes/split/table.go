package split

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// written is a kernel as steps of other kernels.
type written struct {
	build func(s *steps)
	text  string // what the steps are
}

// stepsOf has the kernels that go on with what they reduce, as the steps of their declarations. Each gives the values of the declaration; where
// that rounds once, so do the steps.
var stepsOf = map[string]written{
	"linear":      {linear, "relu(x A + b), or without relu or b: a product, a sum, a relu"},
	"gemm":        {gemm, "A B · alpha + C · beta: a product, what scales it, a sum"},
	"bilinear":    {bilinear, "without its bias, and a sum"},
	"conv":        {conv, "without its bias, and a sum"},
	"mean":        {func(s *steps) { s.last(meanOf(s, s.wide("tensor"), false)) }, "Σ x / n"},
	"log_sum":     {func(s *steps) { s.last(s.each("op:log", s.over("op:sum", s.wide("tensor"), false))) }, "log(Σ x)"},
	"l2_norm":     {func(s *steps) { s.last(s.each("op:sqrt", s.over("op:sum_square", s.wide("tensor"), false))) }, "√(Σ x²)"},
	"variance":    {func(s *steps) { s.last(varianceOf(s)) }, "Σ (x - mean)² / (n - correction)"},
	"deviation":   {func(s *steps) { s.last(s.each("op:sqrt", varianceOf(s))) }, "√(Σ (x - mean)² / (n - correction))"},
	"softmax":     {softmax, "e^(x - top) / Σ e^(x - top), where top is the greatest value"},
	"log_softmax": {logSoftmax, "x - top - log(Σ e^(x - top)), where top is the greatest value"},
	"layer_norm":  {layerNorm, "(x - mean) · 1/√(Σ (x - mean)² / n + epsilon) · scale + bias"},
	"rms_norm":    {rmsNorm, "x · 1/√(Σ x² / n + epsilon) · scale"},
	"lp_norm":     {func(s *steps) { s.last(root(s, s.over("op:sum", power(s, s.wide("tensor")), false))) }, "(Σ |x|^p)^(1/p)"},
	"arg_max":     {func(s *steps) { argument(s, "op:reduce_max") }, "the least index, or the greatest, of those at which the cell is the greatest one, or NaN where that is"},
	"arg_min":     {func(s *steps) { argument(s, "op:reduce_min") }, "the least index, or the greatest, of those at which the cell is the least one, or NaN where that is"},

	"instance_norm":    {instanceNorm, "a layer norm along all but the first two dimensions, with a scale and a bias for each channel"},
	"group_norm":       {groupNorm, "channels in groups, an instance norm of these, and the channels again"},
	"lp_normalization": {lpNormalization, "x / Σ |x|, or x / √(Σ x²), and 0 where that is 0"},
	"average_pool":     {averagePool, "the sums of windows, divided by the numbers of their cells"},
	"lp_pool":          {lpPool, "the p-th root of the sums of |x|^p in windows"},
}

// inSteps writes an operation as steps of other kernels, if it is known what these are, and gives them, with the coordinate of their first
// operands that the dim moves along. The last step gives the results; the operation is gone then.
func (c *cutter) inSteps(n *ir.Node, in *instance.Instance, dim int) (made []*ir.Node, k int, err error) {
	k, ok := coordinate(in, dim)
	if !ok {
		return nil, 0, nil
	}
	s := &steps{c: c, n: n, in: in}
	as, known := stepsOf[in.Decl.Name]
	rule := widerRule
	switch {
	case known && (s.single() || in.Decl.Name == "layer_norm"):
		rule = stepsRule(in.Decl.Name)
		as.build(s)
	case s.narrow():
		s.widened()
	}
	if len(s.made) == 0 || s.err != nil {
		return nil, 0, s.err
	}
	if !c.may(rule, n.ID) {
		s.forget()
		return nil, 0, errLeft
	}
	s.finish()
	s.widening()
	return slices.DeleteFunc(s.made, func(m *ir.Node) bool { return m == s.whole }), k + s.before, nil
}

// linear: relu(x A + b).
func linear(s *steps) {
	x, _ := s.input("x")
	a, _ := s.input("A")
	b, biased := s.input("b")
	d := s.result()
	kernel, left, right := "op:matmul", "X", "Y"
	if x.Range().Rank() == 1 { // which is no matrix
		kernel, left, right = "op:linear", "x", "A"
	}
	y := s.add(kernel, nil, one(left, s.cast(x, d.Wide())), one(right, s.cast(a, d.Wide())))
	if y = s.cast(y, d); biased {
		y = s.sum(y, b)
	}
	if v := s.in.Params["activation"]; v.Str == "relu" {
		s.each("op:relu", y)
	}
}

// gemm: (A B) alpha + C beta, with A and B transposed or not.
func gemm(s *steps) {
	a, _ := s.input("A")
	b, _ := s.input("B")
	c, plus := s.input("C")
	d := s.result()
	alpha, beta := s.float("alpha"), s.float("beta")
	if d.Wide() != d || alpha == 1 && !plus {
		return // of narrow floats, what is rounded where is for widened
	}
	y := s.add("op:gemm", s.with("transpose_a", "transpose_b"), one("A", a), one("B", b))
	if alpha != 1 {
		y = s.product(y, s.number(alpha, d))
	}
	if plus {
		if beta != 1 {
			c = s.product(c, s.number(beta, d))
		}
		s.sum(y, c)
	}
}

// bilinear: the sum of products, plus a bias.
func bilinear(s *steps) {
	a, _ := s.input("a")
	b, _ := s.input("b")
	w, _ := s.input("W")
	bias, biased := s.input("bias")
	if d := s.result(); !biased || d.Wide() != d {
		return
	}
	s.sum(s.add("op:bilinear", nil, one("a", a), one("b", b), one("W", w)), bias)
}

// conv: the convolution, plus a bias for each filter.
func conv(s *steps) {
	x, _ := s.input("X")
	w, _ := s.input("W")
	b, biased := s.input("B")
	if d := s.result(); !biased || d.IsFloat() && d.Wide() != d {
		return
	}
	y := s.add("op:conv", s.with("strides", "dilations", "pads", "pads_end", "groups"), one("X", x), one("W", w))
	s.sum(y, channelsOf(s, b, x.Range().Rank()-2))
}

// mean: the sum along the operation's dimensions, divided by how many there are.
func meanOf(s *steps, x ir.Selection, keep bool) ir.Selection {
	return s.by(s.over("op:sum", x, keep), s.number(s.count(), s.c.typeOf(x.Tensor)))
}

// variance: the sum of the squared distances from the mean, divided by their number less the correction.
func varianceOf(s *steps) ir.Selection {
	x := s.wide("tensor")
	_, spread, _ := momentsOf(s, x, false)
	return s.by(spread, s.number(s.count()-s.float("correction"), s.c.typeOf(x.Tensor)))
}

// softmax: e^(x - top) divided by their sum.
func softmax(s *steps) {
	_, e, total := topOf(s, true)
	s.last(s.by(e, total))
}

// logSoftmax: x - top less the logarithm of that sum.
func logSoftmax(s *steps) {
	less, _, total := topOf(s, false)
	s.last(s.less(less, s.each("op:log", total)))
}

// scaledBy goes on with a normalized tensor: times scale plus bias, where they are.
func scaledBy(s *steps, y ir.Selection, d scalar.DType) {
	if scale, ok := s.input("scale"); ok {
		y = s.product(y, s.cast(scale, d))
	}
	if bias, ok := s.input("bias"); ok {
		y = s.sum(y, s.cast(bias, d))
	}
	s.last(y)
}

// factorOf is 1 / sqrt(spread + epsilon).
func factorOf(s *steps, spread ir.Selection, d scalar.DType) ir.Selection {
	return s.by(s.number(1, d), s.each("op:sqrt", s.sum(spread, s.number(s.float("epsilon"), d))))
}

// normalized gives the distances of a tensor from the mean, divided by the root of the mean of their squares plus epsilon, with what they are moved by and
// multiplied with.
func normalized(s *steps, x ir.Selection) (y, mean, factor ir.Selection) {
	d := s.c.typeOf(x.Tensor)
	mean, spread, away := momentsOf(s, x, true)
	factor = factorOf(s, s.by(spread, s.number(s.count(), d)), d)
	return s.product(away, factor), mean, factor
}

// layerNorm: the normalized tensor, scaled; mean and rstd without the dimensions of the norm.
func layerNorm(s *steps) {
	x := s.wide("X")
	y, mean, factor := normalized(s, x)
	scaledBy(s, y, s.c.typeOf(x.Tensor))
	s.meant("Y", s.made[len(s.made)-1].Body.(*tensorops.Operation).Outputs.At(0).Sel[0])
	giveBare(s, "mean", mean)
	giveBare(s, "rstd", factor)
}

// rmsNorm: the values, divided by the root of the mean of their squares plus epsilon.
func rmsNorm(s *steps) {
	x := s.wide("X")
	d := s.c.typeOf(x.Tensor)
	scaledBy(s, s.product(x, factorOf(s, meanOf(s, s.product(x, x), true), d)), d)
}

// instanceNorm is layerNorm along all but the first two dimensions, of which the second has scale and bias.
func instanceNorm(s *steps) {
	x := s.wide("X")
	y, _, _ := normalized(s, x)
	perChannel(s, y, x.Range().Rank()-2)
}

// giveBare means a tensor for a result, if that is asked for, without its dimensions of size 1 that the result lacks.
func giveBare(s *steps, result string, x ir.Selection) {
	for _, o := range s.in.Operands {
		if o.Decl.Out && o.Decl.Name() == result {
			s.meant(result, reshaped(s, x, o.Sel.Range().Shape()))
		}
	}
}

// groupNorm is that with the second dimension cut into groups.
func groupNorm(s *steps) {
	x := s.wide("X")
	shape, groups := x.Range().Shape(), int64(s.float("groups"))
	cut := append([]int64{shape[0], groups, shape[1] / max(groups, 1)}, shape[2:]...)
	s.before = 1
	y, _, _ := normalized(s, reshaped(s, x, cut))
	perChannel(s, reshaped(s, y, shape), len(shape)-2)
}

// perChannel goes on with a normalized tensor: times scale plus bias of each channel, where they are.
func perChannel(s *steps, y ir.Selection, behind int) {
	d := s.c.typeOf(y.Tensor)
	if scale, ok := s.input("scale"); ok {
		y = s.product(y, channelsOf(s, s.cast(scale, d), behind))
	}
	if bias, ok := s.input("bias"); ok {
		y = s.sum(y, channelsOf(s, s.cast(bias, d), behind))
	}
	s.last(y)
}

// channelsOf gives a vector as many dimensions of one value behind it.
func channelsOf(s *steps, x ir.Selection, behind int) ir.Selection {
	return reshaped(s, x, append(x.Range().Shape(), slices.Repeat([]int64{1}, behind)...))
}

func reshaped(s *steps, x ir.Selection, shape []int64) ir.Selection {
	return s.add("op:reshape", ir.Attrs{}.With("shape", ir.IntsAttr(shape...)), one("tensor", x))
}

// power is |x|^p, and root the p-th root.
func power(s *steps, x ir.Selection) ir.Selection {
	return s.two("op:pow", "a", "b", s.each("op:abs", x), s.number(s.float("p"), s.c.typeOf(x.Tensor)))
}

func root(s *steps, x ir.Selection) ir.Selection {
	d := s.c.typeOf(x.Tensor)
	return s.two("op:pow", "a", "b", x, s.by(s.number(1, d), s.number(s.float("p"), d)))
}

// lpNormalization: the values divided by the sum of magnitudes or the root of the sum of squares, 0 where that is 0.
func lpNormalization(s *steps) {
	x := s.wide("tensor")
	d := s.c.typeOf(x.Tensor)
	var norm ir.Selection
	if s.float("p") == 1 {
		norm = s.over("op:sum", s.each("op:abs", x), true)
	} else {
		norm = s.each("op:sqrt", s.over("op:sum", s.product(x, x), true))
	}
	zero := s.number(0, d)
	s.last(s.add("op:where", nil, one("condition", s.two("op:equal", "a", "b", norm, zero)), one("a", zero), one("b", s.by(x, norm))))
}

// averagePool: the sums of windows, divided by how many cells each has; where pads count, by those of a larger image.
func averagePool(s *steps) {
	x := s.wide("X")
	d, shape := s.c.typeOf(x.Tensor), x.Range().Shape()
	start := s.in.Operands[0].Sel.Range().Start
	pads, _ := s.in.Params["pads"].Ints()
	behind, _ := s.in.Params["pads_end"].Ints()
	params := s.with("kernel", "strides", "dilations", "pads").With("pads_end", ir.IntsAttr(ends(s.in)...))
	sums := s.add("op:sum_pool", params, one("X", x))
	shape[0], shape[1] = 1, 1
	if s.in.Params["count_pads"].Equal(ir.BoolAttr(true)) {
		zero, beyond := make([]int64, len(pads)), make([]int64, len(pads))
		for i := range pads {
			read := past(s.in, 2+i) - start[2+i]
			beyond[i] = max(0, read-shape[2+i]-behind[i])
			shape[2+i] = max(0, pads[i]+min(read, shape[2+i]+behind[i])) // without windows nothing is read, and the last one would end before the image
		}
		params = params.With("pads", ir.IntsAttr(zero...)).With("pads_end", ir.IntsAttr(beyond...))
	}
	ones := s.add("op:full", ir.Attrs{}.With("value", ir.FloatAttr(1)).With("shape", ir.IntsAttr(shape...)).With("dtype", ir.StringAttr(d.String())))
	cells := s.add("op:sum_pool", params, one("X", ones))
	s.whole = s.made[len(s.made)-1]
	s.last(s.by(sums, cells))
}

// lpPool: the root of the sums of powers of windows.
func lpPool(s *steps) {
	params := s.with("kernel", "strides", "dilations", "pads", "pads_end")
	s.last(root(s, s.add("op:sum_pool", params, one("X", power(s, s.wide("X"))))))
}

// argument: the least place, or the greatest, of those whose cells are the greatest or least cell, or NaN if that is.
func argument(s *steps, kernel string) {
	x, _ := s.input("tensor")
	top := s.over(kernel, x, true)
	hit := s.two("op:equal", "a", "b", x, top)
	if s.c.typeOf(x.Tensor).IsFloat() {
		both := s.two("op:and", "a", "b", s.each("op:is_nan", top), s.each("op:is_nan", x))
		hit = s.two("op:or", "a", "b", hit, both)
	}
	shape, places := x.Range().Shape(), s.dims()
	if v, given := s.with("dims").Get("dims"); given {
		places = places.With("dims", v)
	}
	beyond, last := s.count(), "op:reduce_min"
	if v := s.in.Params["last"]; v.Int != 0 {
		beyond, last = -1, "op:reduce_max"
	}
	none := s.number(beyond, scalar.Int64)
	place := s.add("op:iota", places.With("shape", ir.IntsAttr(shape...)).With("dtype", ir.StringAttr(scalar.Int64.String())))
	s.last(s.over(last, s.add("op:where", nil, one("condition", hit), one("a", place), one("b", none)), false))
}
