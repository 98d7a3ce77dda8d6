package simplify

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
)

// integerProducts lets convolutions and matrix products of dequantized bytes sum integers. The sums are exact, where the floats' were
// rounded term by term: values change within the rounding of the float sums, and what is quantized behind them by one step where they
// stood near its middle. So it needs a permission.
var integerProducts = rewrite.Rule{
	Name: "integer-products", Source: "Go", Needs: []string{"dequantize"}, Roots: []string{"conv", "matmul", "gemm"},
	Allow: permission.IntegerSums,
	Text: "A convolution or matrix product (a gemm too, if it scales nothing) of dequantized bytes with dequantized constant bytes becomes one of the bytes, in int32, times both scales: " +
		"if the first has one scale and the second one for all or one for each filter or column, and sums of so many products stay below 2^31.",
	Because: "Σ (a - x)·s · (b - y)·t = s·t · Σ (a - x)·(b - y), where the integers' sum is exact and the floats' are rounded",
	Match:   multiplyIntegers,
}

// mostTerms is how many products of bytes less their zero points an int32 sum has room for.
const mostTerms = (1<<31 - 1) / (255 * 255)

// dequantized is a factor: bytes, their scale, and their zero point or none.
type dequantized struct {
	bytes, scale ir.Selection
	zero         *ir.Selection
	from         ir.NodeID
}

// integerForm is what differs between convolutions and products.
type integerForm struct {
	product, gemm, transposed bool // a matrix product; a gemm; that transposes its right factor
	left, right               string
}

// formOf gives the form of an operation; ok is false for other kernels, and a gemm that does more than a product and a sum.
func formOf(kernel string, params ir.Attrs) (f integerForm, ok bool) {
	switch kernel {
	case "matmul":
		return integerForm{product: true, left: "X", right: "Y"}, true
	case "gemm":
		transposed, plain := plainGemm(params)
		return integerForm{product: true, gemm: true, transposed: transposed, left: "A", right: "B"}, plain
	case "conv":
		return integerForm{left: "X", right: "W"}, true
	}
	return f, false
}

// sums gives how many products a sum has, and the axis of the constant factor that filters or columns go along.
func (f integerForm) sums(shape []int64) (terms int64, axis int, ok bool) {
	switch {
	case f.product && len(shape) != 2:
		return 0, 0, false
	case f.transposed:
		return shape[1], 0, true
	case f.product:
		return shape[0], 1, true
	}
	terms = 1
	for _, n := range shape[1:] {
		terms *= n
	}
	return terms, 0, true
}

// biasPort is the port of what is added.
func (f integerForm) biasPort() string {
	if f.product {
		return "C"
	}
	return "B"
}

// bias gives what is added behind: one number for all, or one for each place along an axis of the result; good is false if it is more.
func (f integerForm) bias(in ir.Ports, shape []int64, axis int) (sel *ir.Selection, good bool) {
	p := in.Get(f.biasPort())
	if p == nil || f.product && !f.gemm {
		return nil, true
	}
	return &p.Sel[0], !f.product || alongAxis(p.Sel[0], shape, axis)
}

func multiplyIntegers(s *rewrite.Site) (rewrite.Result, bool) {
	out, ok := s.Result()
	if !ok || s.Type(out) != scalar.Float32 || s.Decl() == nil {
		return rewrite.Result{}, false
	}
	p, ok := productOf(s, s.Kernel(), s.Op.Params, s.Op.Inputs, out.Range())
	if !ok {
		return rewrite.Result{}, false
	}
	return p.integers(s, out), true
}

// bytesProduct is a convolution or matrix product of dequantized bytes with dequantized constant bytes.
type bytesProduct struct {
	form   integerForm
	params ir.Attrs
	a, b   dequantized
	bias   *ir.Selection
	terms  int64 // of a sum
	axis   int   // of the constant bytes that filters or columns go along
	at     int   // of the result
}

// productOf reads one, if its sums fit in int32 and its bytes have scales and zero points that can be taken out of them.
func productOf(s *rewrite.Site, kernel string, params ir.Attrs, in ir.Ports, out zspace.Range) (p bytesProduct, ok bool) {
	p = bytesProduct{params: params, at: 1}
	if p.form, ok = formOf(kernel, params); !ok {
		return p, false
	}
	var okA, okB bool
	p.a, okA = dequantizedInput(s, in, p.form.left)
	p.b, okB = dequantizedInput(s, in, p.form.right)
	if !okA || !okB || !isConstant(s, p.b.bytes) || one(p.a.scale) != 1 || p.a.zero != nil && one(*p.a.zero) != 1 {
		return p, false
	}
	shape := p.b.bytes.Range().Shape()
	if p.form.product {
		p.at = out.Rank() - 1
	}
	var fits, good bool
	p.terms, p.axis, fits = p.form.sums(shape)
	p.bias, good = p.form.bias(in, out.Shape(), p.at)
	if !fits || !good || p.terms > mostTerms || !alongAxis(p.b.scale, shape, p.axis) {
		return p, false
	}
	zero := p.b.zero
	return p, zero == nil || alongAxis(*zero, shape, p.axis) && (p.form.product || one(*zero) == shape[0])
}

// integers gives the product as one of integers, times the scales, plus the bias.
func (p bytesProduct) integers(s *rewrite.Site, out ir.Selection) rewrite.Result {
	m := maker{s: s, out: out}
	integer := m.integers(p)
	each := slices.Repeat([]int64{1}, out.Range().Rank())
	along := func(sel ir.Selection) rewrite.Operand {
		each[p.at] = one(sel)
		return m.reshaped(sel, slices.Clone(each))
	}
	by := along(p.b.scale)
	scale := m.op("mul", m.rangeOf(each), rewrite.Input{Port: "tensors", Args: []rewrite.Operand{m.reshaped(p.a.scale, nil), by}})
	real := m.op("cast", out.Range(), rewrite.Input{Port: "tensor", Args: []rewrite.Operand{integer}})
	real.New.Params = ir.Attrs{{Name: "dtype", Value: ir.StringAttr(scalar.Float32.String())}}
	y := m.op("mul", out.Range(), rewrite.Input{Port: "tensors", Args: []rewrite.Operand{real, scale}})
	if p.bias != nil {
		y = m.op("add", out.Range(), rewrite.Input{Port: "tensors", Args: []rewrite.Operand{y, along(*p.bias)}})
	}
	return rewrite.One(y, p.a.from, p.b.from)
}

// integers makes the operation that sums integers.
func (m maker) integers(p bytesProduct) rewrite.Operand {
	f, a, b := p.form, p.a, p.b
	o := &rewrite.Op{Outputs: []rewrite.Output{{Port: "Y", DType: scalar.Int32.String(), Range: m.out.Range()}}}
	input := func(port string, x rewrite.Operand) {
		o.Inputs = append(o.Inputs, rewrite.Input{Port: port, Args: []rewrite.Operand{x}})
	}
	zero := func(port string, z *ir.Selection, shape ...int64) {
		if z != nil {
			input(port, m.reshaped(*z, shape))
		}
	}
	bytes := rewrite.Operand{Sel: b.bytes}
	if f.transposed {
		bytes = m.turned(b.bytes)
	}
	count := int64(1)
	if b.zero != nil {
		count = one(*b.zero)
	}
	if f.product {
		o.Kernel = m.s.Name("matmul_integer")
		input("A", rewrite.Operand{Sel: a.bytes})
		input("B", bytes)
		zero("a_zero", a.zero)
		zero("b_zero", b.zero, count)
	} else {
		o.Kernel, o.Params = m.s.Name("conv_integer"), p.params
		input("W", bytes)
		input("X", rewrite.Operand{Sel: a.bytes})
		zero("w_zero", b.zero, count)
		zero("x_zero", a.zero)
	}
	return rewrite.Operand{New: o}
}

// plainGemm says whether a gemm's parameters scale nothing and do not transpose the left factor, and whether they do the right one.
func plainGemm(p ir.Attrs) (transposed, plain bool) {
	plain = true
	for _, name := range []string{"alpha", "beta"} {
		v, ok := p.Get(name)
		plain = plain && (!ok || v.Kind == ir.AttrFloat && v.Num == 1 || v.Kind == ir.AttrInt && v.Int == 1)
	}
	a, _ := p.Get("transpose_a")
	b, _ := p.Get("transpose_b")
	return b.Int != 0, plain && a.Int == 0
}

// dequantizedInput reads an input that is dequantized bytes.
func dequantizedInput(s *rewrite.Site, in ir.Ports, port string) (dequantized, bool) {
	p := in.Get(port)
	if p == nil || len(p.Sel) != 1 {
		return dequantized{}, false
	}
	d, ok := s.Def(p.Sel[0])
	if !ok || d.Kernel != "dequantize" {
		return dequantized{}, false
	}
	f := dequantized{bytes: d.Inputs.Get("tensor").Sel[0], scale: d.Inputs.Get("scale").Sel[0], from: d.Node.ID}
	if z := d.Inputs.Get("zero_point"); z != nil {
		f.zero = &z.Sel[0]
	}
	t := s.Type(f.bytes)
	return f, (t == scalar.Int8 || t == scalar.UInt8) && s.Type(f.scale) == scalar.Float32
}

// isConstant says whether a constant gives a selection, as it is stored or moved.
func isConstant(s *rewrite.Site, sel ir.Selection) bool {
	d, ok := s.Def(ir.Select(sel.Tensor, s.Tensor(sel.Tensor).Range))
	return ok && d.Kernel == "constant"
}

// one is the number of elements of a selection.
func one(sel ir.Selection) int64 {
	n, err := sel.Range().Size()
	if err != nil {
		return -1
	}
	return n
}

// alongAxis says whether a scale or zero point has one element, or one for each index along an axis of what it is broadcast to.
func alongAxis(sel ir.Selection, shape []int64, axis int) bool {
	n := one(sel)
	if n == 1 {
		return true
	}
	own := sel.Range().Shape()
	at := axis - len(shape) + len(own)
	return n == shape[axis] && at >= 0 && at < len(own) && own[at] == n
}

// maker makes operations of float32 or of an operand's type.
type maker struct {
	s   *rewrite.Site
	out ir.Selection
}

func (m maker) rangeOf(shape []int64) zspace.Range {
	return zspace.Range{Start: make(zspace.Point, len(shape)), End: slices.Clone(zspace.Point(shape))}
}

func (m maker) op(kernel string, r zspace.Range, in ...rewrite.Input) rewrite.Operand {
	return rewrite.Operand{New: &rewrite.Op{Kernel: m.s.Name(kernel), Inputs: in,
		Outputs: []rewrite.Output{{Port: "result", DType: scalar.Float32.String(), Range: r}}}}
}

// turned gives a matrix transposed.
func (m maker) turned(sel ir.Selection) rewrite.Operand {
	shape := sel.Range().Shape()
	o := m.op("permute", m.rangeOf([]int64{shape[1], shape[0]}), rewrite.Input{Port: "tensor", Args: []rewrite.Operand{{Sel: sel}}})
	o.New.Outputs[0].DType = tensorops.TensorOf(m.s.Graph, sel.Tensor).DType
	o.New.Params = ir.Attrs{{Name: "perm", Value: ir.IntsAttr(1, 0)}}
	return o
}

// reshaped gives a selection with another shape.
func (m maker) reshaped(sel ir.Selection, shape []int64) rewrite.Operand {
	if slices.Equal(sel.Range().Shape(), shape) {
		return rewrite.Operand{Sel: sel}
	}
	o := m.op("reshape", m.rangeOf(shape), rewrite.Input{Port: "tensor", Args: []rewrite.Operand{{Sel: sel}}})
	o.New.Outputs[0].DType = tensorops.TensorOf(m.s.Graph, sel.Tensor).DType
	o.New.Params = ir.Attrs{{Name: "shape", Value: ir.IntsAttr(shape...)}}
	return o
}
