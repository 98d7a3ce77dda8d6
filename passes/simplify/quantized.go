package simplify

import (
	"cmp"
	"context"
	"math"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/rewrite"
)

// exactProducts is integerProducts where no sum of the floats is rounded, so that no permission is needed.
var exactProducts = rewrite.Rule{
	Name: "exact-integer-products", Source: "Go", Needs: []string{"dequantize"}, Roots: []string{"conv", "matmul", "gemm"},
	Text: "What integer-products does, without its permission, if scales are constants with so few bits (powers of two, for example) " +
		"that all products and partial sums of the floats are exact.",
	Because: "sums of whole multiples of s·t below 2^24 of it are exact in any order, and so is s·t times the integers' sum",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		out, ok := s.Result()
		if !ok || s.Type(out) != scalar.Float32 || s.Decl() == nil {
			return rewrite.Result{}, false
		}
		p, ok := productOf(s, s.Kernel(), s.Op.Params, s.Op.Inputs, out.Range())
		if !ok {
			return rewrite.Result{}, false
		}
		v, ok := p.values(s)
		if !ok || !v.exact() {
			return rewrite.Result{}, false
		}
		return p.integers(s, out), true
	},
}

// quantizedProducts sums the integers of products that are quantized again, with the floats' sum for those results that lie so near the
// middle between two steps that the integers' sum does not tell which it is.
var quantizedProducts = rewrite.Rule{
	Name: "quantized-products", Source: "Go", Roots: []string{"quantize"}, Depth: 4,
	Text: "A convolution or matrix product as integer-products takes it, of which nothing but a quantization to bytes, perhaps behind a relu, reads the result, becomes conv_quantized or " +
		"matmul_quantized: if all scales are constants, a convolution has four filters or more in a group, and few sums will be computed both ways.",
	Because: "both differ by no more than the margin that follows from the constants, and where a step's middle is nearer than that, the definition's own value is computed: each element dequantized in float32, their sum rounded once",
	Match:   multiplyQuantized,
}

// earlyRules are tried before the others, which dequantize small constants.
func earlyRules(allow permission.Set, repair bool) []rewrite.Rule {
	switch {
	case allow.Has(integerProducts.Allow):
		return []rewrite.Rule{integerProducts}
	case repair:
		return []rewrite.Rule{exactProducts, quantizedProducts}
	}
	return []rewrite.Rule{exactProducts}
}

// EarlyRules gives the rules for dequantized bytes, which are tried before those of Rules.
func EarlyRules() []rewrite.Rule {
	return []rewrite.Rule{integerProducts, exactProducts, quantizedProducts}
}

// RunEarly carries out the rules for dequantized bytes: quantizedProducts only if repair says that choices compute the side that is
// chosen alone.
func RunEarly(ctx context.Context, g *ir.Graph, repair bool, opt rewrite.Options) (rewrite.Stats, error) {
	return rewrite.Run(ctx, g, earlyRules(opt.Allow, repair), opt)
}

// productValues are the constants of a product: of each filter or column the bytes less their zero point, one after the other.
type productValues struct {
	each   [][]int64
	scales []float64 // of each
	scale  float64   // of the bytes that are no constants
	lo, hi int64     // these less their zero point
	bias   []float64 // of each; nil for none
}

// mostScale bounds scales and their reciprocals, so that no product of them leaves the range of float32.
const mostScale = 1 << 40

// values reads the constants; ok is false if one is none, or a scale is no positive number of ordinary size.
func (p bytesProduct) values(s *rewrite.Site) (v productValues, ok bool) {
	shape := p.b.bytes.Range().Shape()
	count := int(shape[p.axis])
	scale, okA := numbers(s, p.a.scale, 1)
	scales, okB := numbers(s, p.b.scale, count)
	bytes, okC := integers(s, p.b.bytes)
	zero, zeros := []float64{0}, make([]float64, count)
	okZ, okZs := true, true
	if p.a.zero != nil {
		zero, okZ = numbers(s, *p.a.zero, 1)
	}
	if p.b.zero != nil {
		zeros, okZs = numbers(s, *p.b.zero, count)
	}
	if !okA || !okB || !okC || !okZ || !okZs || count == 0 || len(bytes) == 0 {
		return v, false
	}
	for _, f := range append(slices.Clone(scales), scale[0]) {
		if !(f >= 1.0/mostScale && f <= mostScale) {
			return v, false
		}
	}
	d := s.Type(p.a.bytes)
	v = productValues{each: make([][]int64, count), scales: scales, scale: scale[0],
		lo: scalar.Lowest(d).I - int64(zero[0]), hi: scalar.Highest(d).I - int64(zero[0])}
	inner := 1
	for _, n := range shape[p.axis+1:] {
		inner *= int(n)
	}
	for i, b := range bytes {
		at := i / inner % count
		v.each[at] = append(v.each[at], b-int64(zeros[at]))
	}
	if p.bias != nil {
		v.bias, ok = p.biases(s, count)
		return v, ok
	}
	return v, true
}

// biases reads what is added: constants, or constant integers that are dequantized.
func (p bytesProduct) biases(s *rewrite.Site, count int) ([]float64, bool) {
	if x, ok := numbers(s, *p.bias, count); ok {
		return x, true
	}
	d, ok := s.Def(*p.bias)
	if !ok || d.Kernel != "dequantize" {
		return nil, false
	}
	x, okX := numbers(s, d.Inputs.Get("tensor").Sel[0], count)
	scale, okS := numbers(s, d.Inputs.Get("scale").Sel[0], count)
	zero := make([]float64, count)
	okZ := true
	if z := d.Inputs.Get("zero_point"); z != nil {
		zero, okZ = numbers(s, z.Sel[0], count)
	}
	if !okX || !okS || !okZ {
		return nil, false
	}
	for i := range x { // as the kernel does, in float32
		x[i] = float64(float32(float32(float32(x[i])-float32(zero[i])) * float32(scale[i])))
	}
	return x, true
}

// numbers reads a constant of one number or count, as count numbers that are finite.
func numbers(s *rewrite.Site, sel ir.Selection, count int) ([]float64, bool) {
	x, ok := s.Value(sel)
	if n := one(sel); !ok || !sel.Range().Equal(s.Tensor(sel.Tensor).Range) || n != 1 && n != int64(count) {
		return nil, false
	}
	var list []float64
	for at, size := 0, x.DType.Size(); at < len(x.Data); at += size {
		v := scalar.Decode(x.DType, x.Data[at:])
		f := v.F
		if x.DType.IsInt() {
			f = float64(v.I)
		}
		list = append(list, f)
		if f-f != 0 {
			return nil, false
		}
	}
	if len(list) == 1 {
		list = slices.Repeat(list, count)
	}
	return list, len(list) == count
}

// integers reads a constant of bytes.
func integers(s *rewrite.Site, sel ir.Selection) ([]int64, bool) {
	x, ok := s.Value(sel)
	if !ok || x.DType.Size() != 1 || !sel.Range().Equal(s.Tensor(sel.Tensor).Range) {
		return nil, false
	}
	list := make([]int64, len(x.Data))
	for i, b := range x.Data {
		if list[i] = int64(b); x.DType == scalar.Int8 {
			list[i] = int64(int8(b))
		}
	}
	return list, true
}

// most is the greatest magnitude of what is no constant, less its zero point.
func (v *productValues) most() int64 { return max(v.hi, -v.lo) }

// exact says whether every product and every partial sum of the dequantized numbers is exact in float32, in any order.
func (v *productValues) exact() bool {
	const limit = 1 << 24
	left := odd(v.scale)
	for i, list := range v.each {
		right, sum, greatest := odd(v.scales[i]), int64(0), int64(0)
		for _, b := range list {
			sum += max(b, -b)
			greatest = max(greatest, b, -b)
		}
		terms := float64(max(1, sum*v.most()))
		if left*float64(v.most()) > limit || right*float64(greatest) > limit || terms*left*right > limit {
			return false
		}
	}
	return true
}

// odd is the odd number that a number is, times a power of two.
func odd(f float64) float64 {
	fraction, _ := math.Frexp(f)
	for fraction != math.Trunc(fraction) {
		fraction *= 2
	}
	return fraction
}

// estimate is what an integers' sum is multiplied with, and added to that, to be near a result, and by how much at most it is beside it.
type estimate struct{ factor, offset, error float64 }

// unit is the greatest relative error of rounding to float32.
const unit = 1.0 / (1 << 24)

// estimates gives them for each filter or column, of results with a scale and zero point in a range.
//
// With A(a) and D(b) what bytes less their zero points are as floats, the result is near Σ A·D / scale, and the estimate is
// factor · Σ a·b. The first is Σ a·(s·D/scale), but for the rounding of A: at most the greatest |A(a)/s - a| times s·Σ |D| / scale. That
// and factor · Σ a·b differ by Σ a·(s·D/scale - factor·b), where a is between lo and hi. What is rounded besides, of the estimate and of
// the definition, are numbers that are no greater than the range and the offset together wherever the result is inside the range.
func (v *productValues) estimates(scale, zero float64, d scalar.DType) []estimate {
	uneven := 0.0
	for a := v.lo; a <= v.hi; a++ {
		uneven = max(uneven, math.Abs(float64(float32(float64(a)*v.scale))/v.scale-float64(a)))
	}
	widest := float64(max(scalar.Highest(d).I, -scalar.Lowest(d).I) + 1)
	list := make([]estimate, len(v.each))
	for i, bytes := range v.each {
		e := estimate{factor: v.scale * v.scales[i] / scale, offset: zero}
		if v.bias != nil {
			e.offset += v.bias[i] / scale
		}
		sum, above, below := 0.0, 0.0, 0.0
		for _, b := range bytes {
			real := v.scale * float64(float32(float64(b)*v.scales[i])) / scale
			sum += math.Abs(real)
			if x := real - e.factor*float64(b); x > 0 {
				above += x
			} else {
				below -= x
			}
		}
		lo, hi := math.Abs(float64(min(v.lo, 0))), float64(max(v.hi, 0))
		e.error = uneven*sum + max(hi*above+lo*below, hi*below+lo*above)
		e.error = 1.001*e.error + 8*unit*(2*widest+2*math.Abs(e.offset)) // and what reading and adding these up was rounded
		list[i] = e
	}
	return list
}

// mostError bounds the mean of errors: twice as much of all results is computed both ways, the second of which takes about as long for
// one as the first for a hundred.
const mostError = 1.0 / 400

// mostOffset bounds offsets, which are a few ranges of a byte where scales are good for anything.
const mostOffset = 1 << 16

// margins gives how far from whole numbers estimates may be; ok is false if that does not pay.
func margins(list []estimate) (m []float64, ok bool) {
	mean := 0.0
	for _, e := range list {
		if !(math.Abs(e.offset) <= mostOffset) {
			return nil, false
		}
		mean += min(e.error, 0.5) / float64(len(list))
		below := math.Nextafter32(float32(0.5-min(e.error, 1)), -1)
		m = append(m, float64(below))
	}
	return m, mean <= mostError
}

// leastTerms is the number of products of a sum below which the floats are as fast.
const leastTerms = 16

func multiplyQuantized(s *rewrite.Site) (rewrite.Result, bool) {
	out, ok := s.Result()
	if !ok || s.Decl() == nil || s.Type(out) != scalar.Int8 && s.Type(out) != scalar.UInt8 {
		return rewrite.Result{}, false
	}
	sel, relu, from, ok := quantizedSource(s)
	if !ok || s.Type(sel) != scalar.Float32 || !s.Once(sel.Tensor) {
		return rewrite.Result{}, false
	}
	def, ok := s.Def(sel)
	if !ok || !sel.Range().Equal(s.Tensor(sel.Tensor).Range) || !sel.Range().Shape().Equal(out.Range().Shape()) {
		return rewrite.Result{}, false
	}
	p, ok := productOf(s, def.Kernel, def.Op.Params, def.Inputs, sel.Range())
	if !ok || !p.pays(s) {
		return rewrite.Result{}, false
	}
	q := quantization{bytesProduct: p, relu: relu, from: append(from, def.Node.ID, p.a.from, p.b.from)}
	return q.result(s, out)
}

// quantizedSource gives what a quantization quantizes, and the relu before it if there is one.
func quantizedSource(s *rewrite.Site) (sel ir.Selection, relu bool, from []ir.NodeID, ok bool) {
	p := s.Op.Inputs.Get("tensor")
	if p == nil || len(p.Sel) != 1 {
		return sel, false, nil, false
	}
	sel = p.Sel[0]
	d, ok := s.Def(sel)
	if !ok || d.Kernel != "relu" {
		return sel, false, nil, true
	}
	return d.Inputs.Get("tensor").Sel[0], true, []ir.NodeID{d.Node.ID}, s.Once(sel.Tensor)
}

// pays says whether sums are long, and many share what they are of.
func (p bytesProduct) pays(s *rewrite.Site) bool {
	shape := p.b.bytes.Range().Shape()
	groups := int64(1)
	if v, ok := p.params.Get("groups"); ok && !p.form.product {
		groups = v.Int
	}
	return p.terms >= leastTerms && groups > 0 && shape[p.axis]/groups >= 4
}

// quantization is a product with what it is quantized by.
type quantization struct {
	bytesProduct
	relu bool
	from []ir.NodeID
}

func (q quantization) result(s *rewrite.Site, out ir.Selection) (rewrite.Result, bool) {
	scale, zero, ok := q.steps(s)
	if !ok {
		return rewrite.Result{}, false
	}
	v, ok := q.values(s)
	if !ok || len(v.each) > rewrite.MaxConstant {
		return rewrite.Result{}, false
	}
	list := v.estimates(scale, zero, s.Type(out))
	margin, ok := margins(list)
	if !ok {
		return rewrite.Result{}, false
	}
	m := maker{s: s, out: out}
	y := q.operation(m, v, list, margin)
	if q.relu { // of steps: the least is that of 0
		least := s.Constant(ir.IntAttr(int64(zero)), y.New.Outputs[0].DType, m.rangeOf(nil))
		dtype := y.New.Outputs[0].DType
		y = m.op("max", out.Range(), rewrite.Input{Port: "tensors", Args: []rewrite.Operand{y, least}})
		y.New.Outputs[0].DType = dtype
	}
	return rewrite.One(y, q.from...), true
}

// steps gives the scale and the zero point of a quantization by constants.
func (q quantization) steps(s *rewrite.Site) (scale, zero float64, ok bool) {
	in, z := s.Op.Inputs.Get("scale"), s.Op.Inputs.Get("zero_point")
	if in == nil || one(in.Sel[0]) != 1 || z != nil && one(z.Sel[0]) != 1 {
		return 0, 0, false
	}
	scales, ok := numbers(s, in.Sel[0], 1)
	zeros, okZ := []float64{0}, true
	if z != nil {
		zeros, okZ = numbers(s, z.Sel[0], 1)
	}
	if !ok || !okZ || !(scales[0] >= 1.0/mostScale && scales[0] <= mostScale) {
		return 0, 0, false
	}
	return scales[0], zeros[0], true
}

// operation makes the one that computes the product and its quantization.
func (q quantization) operation(m maker, v productValues, list []estimate, margin []float64) rewrite.Operand {
	s, dtype := m.s, m.s.Type(m.out).String()
	made := &rewrite.Op{Outputs: []rewrite.Output{{Port: "Y", DType: dtype, Range: m.out.Range()}}, Params: ir.Attrs{{Name: "dtype", Value: ir.StringAttr(dtype)}}}
	input := func(port string, x rewrite.Operand) {
		made.Inputs = append(made.Inputs, rewrite.Input{Port: port, Args: []rewrite.Operand{x}})
	}
	bytes, left, right := rewrite.Operand{Sel: q.b.bytes}, "a", "b"
	if last := q.b.bytes.Range().Rank() - 1; !q.form.transposed && last > 0 { // what a sum goes along comes last
		bytes = m.moved(q.b.bytes, 1-q.axis, last)
	}
	if q.form.product {
		made.Kernel = s.Name("matmul_quantized")
		input("A", rewrite.Operand{Sel: q.a.bytes})
		input("B", bytes)
	} else {
		made.Kernel, left, right = s.Name("conv_quantized"), "x", "w"
		for _, a := range q.params {
			made.Params = made.Params.With(a.Name, a.Value)
		}
		input("W", bytes)
		input("X", rewrite.Operand{Sel: q.a.bytes})
	}
	if v.bias != nil {
		input(q.form.biasPort(), m.floats(v.bias))
	}
	input(left+"_scale", m.reshaped(q.a.scale, nil))
	if q.a.zero != nil {
		input(left+"_zero", m.reshaped(*q.a.zero, nil))
	}
	input(right+"_scale", m.floats(v.scales))
	if q.b.zero != nil {
		input(right+"_zero", m.zeros(*q.b.zero, len(v.each)))
	}
	input("y_scale", m.reshaped(s.Op.Inputs.Get("scale").Sel[0], nil))
	if z := s.Op.Inputs.Get("zero_point"); z != nil {
		input("y_zero", m.reshaped(z.Sel[0], nil))
	}
	factors, offsets := make([]float64, len(list)), make([]float64, len(list))
	for i, e := range list {
		factors[i], offsets[i] = e.factor, e.offset
	}
	input("factor", m.floats(factors))
	input("offset", m.floats(offsets))
	input("margin", m.floats(margin))
	slices.SortFunc(made.Inputs, func(a, b rewrite.Input) int { return cmp.Compare(a.Port, b.Port) })
	return rewrite.Operand{New: made}
}

// moved gives a tensor with one dimension moved behind another.
func (m maker) moved(sel ir.Selection, from, to int) rewrite.Operand {
	shape, perm := slices.Clone(sel.Range().Shape()), make([]int64, 0, sel.Range().Rank())
	for d := range shape {
		perm = append(perm, int64(d))
	}
	extent := shape[from]
	shape = slices.Insert(slices.Delete(shape, from, from+1), to, extent)
	perm = slices.Insert(slices.Delete(perm, from, from+1), to, int64(from))
	o := m.op("permute", m.rangeOf(shape), rewrite.Input{Port: "tensor", Args: []rewrite.Operand{{Sel: sel}}})
	o.New.Outputs[0].DType = m.s.Tensor(sel.Tensor).DType
	o.New.Params = ir.Attrs{{Name: "perm", Value: ir.IntsAttr(perm...)}}
	return o
}

// zeros gives a zero point for each of count filters or columns.
func (m maker) zeros(sel ir.Selection, count int) rewrite.Operand {
	list, _ := numbers(m.s, sel, count)
	value := ir.AttrValue{Kind: ir.AttrList}
	for _, f := range list {
		value.List = append(value.List, ir.IntAttr(int64(f)))
	}
	return m.s.Constant(value, m.s.Type(sel).String(), m.rangeOf([]int64{int64(count)}))
}

// floats makes a constant of some numbers, rounded to float32.
func (m maker) floats(list []float64) rewrite.Operand {
	value := ir.AttrValue{Kind: ir.AttrList}
	for _, f := range list {
		value.List = append(value.List, ir.FloatAttr(float64(float32(f))))
	}
	return m.s.Constant(value, scalar.Float32.String(), m.rangeOf([]int64{int64(len(list))}))
}
