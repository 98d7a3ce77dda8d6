package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
)

// blocks is a random graph of what networks are made of: chains of products, convolutions, normalizations, attention, reductions and moves, whose tensors are as
// large as size allows. Other graphs of this package have single kernels on small tensors: no sum of more than a block, no packing, no rows longer than a vector.
type blocks struct {
	rnd    *rand.Rand
	size   int64 // of a tensor, in cells, at most
	work   int64 // of an operation, in steps, at most
	graph  *ir.Graph
	values []value // that are computed
	inputs map[string]tensorfile.Tensor
	ops    int
	style  int // what it is mostly of
}

// value is a tensor of a graph.
type value struct {
	sel  ir.Selection
	kind scalar.DType
}

func (v value) shape() []int64 { return v.sel.Range().Shape() }

// blocksOf makes the graph of a seed, of some blocks.
func blocksOf(seed uint64, count int, size, work int64) (*ir.Graph, map[string]tensorfile.Tensor) {
	b := &blocks{style: int(seed % 4), rnd: rand.New(rand.NewPCG(seed, 0xb10c)), size: size, work: work, graph: ir.New(), inputs: map[string]tensorfile.Tensor{}}
	for b.ops < count {
		b.block()
	}
	b.export()
	return b.graph, b.inputs
}

// export gives the caller what nobody reads, and sometimes values that others go on with.
func (b *blocks) export() {
	if b.rnd.IntN(2) == 0 {
		return
	}
	flow := ir.NewFlow(b.graph, tensorops.OperationKind)
	var names []ir.AttrValue
	var list []ir.Selection
	for _, v := range b.values {
		if len(flow.Consumers(v.sel.Tensor)) == 0 || b.rnd.IntN(4) == 0 {
			names, list = append(names, ir.StringAttr(b.graph.Node(v.sel.Tensor).Label)), append(list, v.sel)
		}
	}
	params := ir.Attrs{}.With("names", ir.AttrValue{Kind: ir.AttrList, List: names})
	b.graph.Add(&tensorops.Operation{Kernel: "op:export", Params: params, Inputs: ir.PortsOf([]ir.Port{{Name: "tensor", Sel: list}})}, "")
}

// tensor adds a tensor.
func (b *blocks) tensor(t scalar.DType, shape ...int64) value {
	box := zspace.MustShape(shape...)
	n := b.graph.Add(&tensorops.Tensor{DType: t.String(), Range: box}, fmt.Sprintf("t%d", b.graph.Len()))
	return value{ir.Select(n.ID, box), t}
}

// input adds an input; integers are less than a bound if there is one.
func (b *blocks) input(below int64, t scalar.DType, shape ...int64) value {
	v := b.tensor(t, shape...)
	size, _ := v.sel.Range().Size()
	name := b.graph.Node(v.sel.Tensor).Label
	data := rt.Random(t, 1, name, size)
	if below > 0 {
		data = rt.RandomBelow(below, t, 1, name, size)
	}
	b.inputs[name] = tensorfile.Tensor{DType: t, Shape: shape, Data: data}
	return v
}

// weight is an input, or a constant of one number.
func (b *blocks) weight(t scalar.DType, shape ...int64) value {
	if b.rnd.IntN(8) > 0 || t.IsBool() || t.IsComplex() {
		return b.input(0, t, shape...)
	}
	v := b.tensor(t, shape...)
	number := ir.IntAttr(1)
	if t.IsFloat() {
		number = ir.FloatAttr(0.5)
	}
	b.graph.Add(&tensorops.Operation{Kernel: "op:constant", Params: ir.Attrs{}.With("value", number), Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{v.sel}}})}, "")
	return v
}

// length gives a length of a dimension: often one that nothing divides, or one more than what does.
func (b *blocks) length() int64 {
	small := []int64{1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17}
	large := []int64{24, 31, 32, 33, 48, 63, 64, 65, 96, 100, 127, 128, 129, 200, 255, 256, 257, 513, 1000, 1024, 2049}
	if b.size > 4000 && b.rnd.IntN(2) == 0 {
		return large[b.rnd.IntN(len(large))]
	}
	if b.rnd.IntN(60) == 0 {
		return 0
	}
	return small[b.rnd.IntN(len(small))]
}

// shape gives a shape of a rank, not larger than tensors are.
func (b *blocks) shape(rank int) []int64 {
	for {
		s, n := make([]int64, rank), int64(1)
		for i := range s {
			s[i] = b.length()
			n *= s[i]
		}
		if n <= b.size {
			return s
		}
	}
}

// kind is an element type: mostly float32.
func (b *blocks) kind() scalar.DType {
	list := []scalar.DType{scalar.Float32, scalar.Float32, scalar.Float32, scalar.Float32, scalar.BFloat16, scalar.Float16, scalar.Int32, scalar.Float64, scalar.Int8, scalar.UInt8, scalar.Int64}
	return list[b.rnd.IntN(len(list))]
}

// some gives a value of a rank, or one of at least so many dimensions if that is negative: a late one of those that are there, or a new input.
func (b *blocks) some(rank int, floats bool) value {
	for range 8 {
		if len(b.values) == 0 {
			break
		}
		n := len(b.values)
		v := b.values[n-1-min(b.rnd.IntN(n), b.rnd.IntN(n), b.rnd.IntN(n))]
		if r := v.sel.Range().Rank(); (r == rank || rank < 0 && r >= -rank) && (!floats || v.kind.IsFloat()) {
			return v
		}
	}
	if rank < 0 {
		rank = -rank + b.rnd.IntN(3)
	}
	k := b.kind()
	for floats && !k.IsFloat() {
		k = b.kind()
	}
	return b.input(0, k, b.shape(rank)...)
}

type ported struct {
	port string
	list []value
}

func port(name string, list ...value) ported { return ported{name, list} }

// op adds an operation, and gives its results; none where inputs do not fit.
func (b *blocks) op(kernel string, params ir.Attrs, ports ...ported) []value {
	return b.opOf(kernel, "", 1, params, ports...)
}

// opOf is op for so many results of one port, or for the results of a second port too.
func (b *blocks) opOf(kernel, second string, results int, params ir.Attrs, ports ...ported) (out []value) {
	d, found := kernels.Builtin().Find("op:" + kernel)
	if !found {
		panic("no kernel " + kernel)
	}
	var in []ir.Port
	for _, p := range ports {
		q := ir.Port{Name: p.port}
		for _, v := range p.list {
			q.Sel = append(q.Sel, v.sel)
		}
		in = append(in, q)
	}
	slices.SortFunc(in, func(a, b ir.Port) int { return cmp.Compare(a.Name, b.Name) })
	op := &tensorops.Operation{Kernel: "op:" + kernel, Params: params, Inputs: ir.PortsOf(in)}
	var names []string
	for _, o := range d.Operands {
		if o.Out {
			names = append(names, o.Name())
		}
	}
	var want ir.Ports
	if results > 1 {
		want = ir.PortsOf([]ir.Port{{Name: names[0], Sel: slices.Repeat(in[0].Sel[:1], results)}})
	}
	shapes, types, err := infer.Outputs(d, infer.CallOf(b.graph, params, op.Inputs, want))
	if err != nil {
		return nil
	}
	steps := int64(1)
	for _, s := range shapes {
		n := int64(1)
		for _, e := range s {
			n *= e
		}
		if n > b.size {
			return nil
		}
		steps = max(steps, n)
	}
	if steps*b.folded(kernel, params, ports) > b.work {
		return nil
	}
	var outs []ir.Port
	at := 0
	for i, name := range names {
		count := 1
		if i == 0 {
			count = results
		}
		if i == 0 || name == second {
			p := ir.Port{Name: name}
			for j := range count {
				t := types[at+j]
				if t == scalar.Invalid {
					t = ports[0].list[0].kind
				}
				v := b.tensor(t, shapes[at+j]...)
				out, p.Sel = append(out, v), append(p.Sel, v.sel)
			}
			outs = append(outs, p)
		}
		at += count
	}
	slices.SortFunc(outs, func(a, b ir.Port) int { return cmp.Compare(a.Name, b.Name) })
	op.Outputs = ir.PortsOf(outs)
	b.graph.Add(op, fmt.Sprintf("op%d", b.ops))
	b.ops++
	b.values = append(b.values, out...)
	return out
}

// folded is about how many steps a result takes.
func (b *blocks) folded(kernel string, params ir.Attrs, ports []ported) int64 {
	last := func(i, behind int) int64 {
		s := ports[i].list[0].shape()
		return s[len(s)-1-behind]
	}
	n := int64(1)
	switch kernel {
	case "matmul", "linear", "matmul_integer", "gemm":
		return last(0, 0)
	case "attention":
		return 2 * last(1, 1) * 2
	case "conv", "conv_transpose", "conv_integer":
		for _, e := range ports[1].list[0].shape()[1:] {
			n *= e
		}
		return n
	case "scatter_add", "scatter_max", "cumsum", "sort", "top_k", "softmax", "layer_norm":
		for _, e := range ports[0].list[0].shape() {
			n = max(n, e)
		}
	}
	return n
}

func attrs(list ...any) (a ir.Attrs) {
	for i := 0; i < len(list); i += 2 {
		var v ir.AttrValue
		switch x := list[i+1].(type) {
		case int:
			v = ir.IntAttr(int64(x))
		case int64:
			v = ir.IntAttr(x)
		case bool:
			v = ir.BoolAttr(x)
		case float64:
			v = ir.FloatAttr(x)
		case string:
			v = ir.StringAttr(x)
		case []int64:
			v = ir.IntsAttr(x...)
		}
		a = a.With(list[i].(string), v)
	}
	return a
}

// ints gives n numbers from low to high.
func (b *blocks) ints(n int, low, high int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = low + b.rnd.Int64N(high-low+1)
	}
	return out
}

func (b *blocks) one(list ...string) string { return list[b.rnd.IntN(len(list))] }

func (b *blocks) coin() bool { return b.rnd.IntN(2) == 0 }

// dims gives some dimensions of a rank, at least one.
func (b *blocks) dims(rank int) (out []int64) {
	for _, d := range b.rnd.Perm(rank) {
		if len(out) == 0 || b.rnd.IntN(3) == 0 {
			out = append(out, int64(d))
		}
	}
	slices.Sort(out)
	return out
}

// block adds an operation or a few, of all kinds or mostly of images, rows or lengths that do not fit.
func (b *blocks) block() {
	all := []func(){b.product, b.product, b.convolution, b.convolution, b.pool, b.attention, b.byHand, b.normal, b.normal, b.reduce, b.reduce, b.reduce, b.move, b.move, b.move, b.move, b.chosen,
		b.pointwise, b.pointwise, b.pointwise, b.mixed, b.quantized, b.ordered, b.normalByHand}
	images := []func(){b.convolution, b.convolution, b.convolution, b.pool, b.reduce, b.reduce, b.normal, b.pointwise, b.normalByHand, b.move}
	rows := []func(){b.product, b.product, b.attention, b.byHand, b.normal, b.normal, b.pointwise, b.reduce, b.normalByHand, b.mixed}
	list := [][]func(){all, all, images, rows}[b.style]
	list[b.rnd.IntN(len(list))]()
}

func (b *blocks) product() {
	x := b.some(-2, false)
	s := x.shape()
	k, n := s[len(s)-1], b.length()
	switch b.rnd.IntN(6) {
	case 0:
		b.op("matmul", nil, port("X", x), port("Y", b.weight(x.kind, k, n)))
	case 1:
		ports := []ported{port("x", x), port("A", b.weight(x.kind, k, n))}
		if b.coin() {
			ports = append(ports, port("b", b.weight(x.kind, n)))
		}
		out := b.op("linear", nil, ports...)
		if out != nil && x.kind.IsFloat() && b.coin() {
			b.op(b.one("relu", "gelu", "silu", "tanh"), nil, port("tensor", out[0]))
		}
	case 2:
		m, ta, tb := b.length(), b.coin(), b.coin()
		x = b.some(2, false)
		s, k := x.shape(), x.shape()[1]
		if ta {
			k = s[0]
		}
		w := []int64{k, m}
		if tb {
			w = []int64{m, k}
		}
		b.op("gemm", attrs("transpose_a", ta, "transpose_b", tb), port("A", x), port("B", b.weight(x.kind, w...)), port("C", b.weight(x.kind, [][]int64{{m}, {1}, {1, m}}[b.rnd.IntN(3)]...)))
	case 3: // with itself, transposed
		perm := make([]int64, len(s))
		for i := range perm {
			perm[i] = int64(i)
		}
		perm[len(s)-1], perm[len(s)-2] = perm[len(s)-2], perm[len(s)-1]
		if y := b.op("permute", attrs("perm", perm), port("tensor", x)); y != nil {
			b.op("matmul", nil, port("X", x), port("Y", y[0]))
		}
	case 4: // one factor for two products
		w := b.weight(x.kind, k, n)
		b.op("matmul", nil, port("X", x), port("Y", w))
		y := b.input(0, x.kind, b.length(), k)
		b.op("matmul", nil, port("X", y), port("Y", w))
	case 5:
		if len(s) == 3 {
			b.op("einsum", attrs("equation", b.one("bsh,hnd->bnsd", "bsh,hnd->bsnd", "bsh,hnd->ndbs", "bsh,hnd->nd")), port("tensors", x, b.weight(x.kind, k, 1+b.rnd.Int64N(4), 1+b.rnd.Int64N(20))))
		} else {
			b.op("matmul", nil, port("X", b.weight(x.kind, n, s[len(s)-2])), port("Y", x))
		}
	}
}

func (b *blocks) convolution() {
	rank := 1 + b.rnd.IntN(2)
	if b.style == 2 {
		rank = 2
	}
	x := b.some(2+rank, b.style == 2)
	s := x.shape()
	if s[1] == 0 {
		return
	}
	groups := []int64{1, 1, s[1]}[b.rnd.IntN(3)]
	if s[1]%2 == 0 && b.rnd.IntN(4) == 0 {
		groups = 2
	}
	k := b.ints(rank, 1, 5)
	params := attrs("strides", b.ints(rank, 1, 3), "dilations", b.ints(rank, 1, 3), "pads", b.ints(rank, 0, 3), "groups", groups)
	if b.coin() {
		params = attrs("pads", b.ints(rank, 0, 2), "groups", groups)
	}
	if b.coin() {
		params = params.With("pads_end", ir.IntsAttr(b.ints(rank, 0, 3)...))
	}
	if b.rnd.IntN(4) == 0 {
		m := 1 + b.rnd.Int64N(6)
		if b.coin() {
			params = params.With("output_padding", ir.IntsAttr(b.ints(rank, 0, 1)...))
		}
		b.op("conv_transpose", params, port("X", x), port("W", b.weight(x.kind, append([]int64{s[1], m}, k...)...)))
		return
	}
	m := 1 + b.rnd.Int64N(24)
	ports := []ported{port("X", x), port("W", b.weight(x.kind, append([]int64{groups * m, s[1] / groups}, k...)...))}
	if b.coin() {
		ports = append(ports, port("B", b.weight(x.kind, groups*m)))
	}
	if out := b.op("conv", params, ports...); out != nil && b.coin() {
		y := out[0]
		if b.coin() && y.kind.IsFloat() {
			y = b.op("relu", nil, port("tensor", y))[0]
		}
		if b.coin() {
			b.op("add", nil, port("tensors", y, b.input(0, y.kind, y.shape()...)))
		}
	}
}

func (b *blocks) pool() {
	rank := 1 + b.rnd.IntN(2)
	name := b.one("max_pool", "average_pool", "sum_pool")
	x := b.some(2+rank, name == "average_pool")
	params := attrs("kernel", b.ints(rank, 1, 4), "strides", b.ints(rank, 1, 3), "pads", b.ints(rank, 0, 2), "ceil_mode", b.coin())
	if b.coin() && name == "max_pool" {
		params = params.With("dilations", ir.IntsAttr(b.ints(rank, 1, 3)...))
	}
	if name == "sum_pool" {
		params = params.Without("ceil_mode")
	}
	if name == "max_pool" && b.coin() {
		b.opOf(name, "Indices", 1, params, port("X", x))
		return
	}
	b.op(name, params, port("X", x))
}

func (b *blocks) attention() {
	kind := []scalar.DType{scalar.Float32, scalar.Float32, scalar.BFloat16, scalar.Float16, scalar.Float64}[b.rnd.IntN(5)]
	kh := 1 + b.rnd.Int64N(3)
	n, h, q, d, k, w := 1+b.rnd.Int64N(3), kh*(1+b.rnd.Int64N(3)), b.length(), 1+b.rnd.Int64N(33), b.length(), 1+b.rnd.Int64N(33)
	if max(q*d, k*d, k*w, q*w)*n*h > b.size || k == 0 {
		return
	}
	of := func(n, h, s, d int64) value { // as it comes out of a projection
		if b.coin() || n*h*s*d == 0 {
			return b.input(0, kind, n, h, s, d)
		}
		y := b.op("reshape", attrs("shape", []int64{n, s, h, d}), port("tensor", b.input(0, kind, n, s, h*d)))
		return b.op("permute", attrs("perm", []int64{0, 2, 1, 3}), port("tensor", y[0]))[0]
	}
	ports := []ported{port("Q", of(n, h, q, d)), port("K", of(n, kh, k, d)), port("V", of(n, kh, k, w))}
	switch b.rnd.IntN(4) {
	case 0:
		ports = append(ports, port("mask", b.input(0, scalar.Bool, [][]int64{{q, k}, {n, 1, q, k}, {n, 1, 1, k}}[b.rnd.IntN(3)]...)))
	case 1:
		ports = append(ports, port("bias", b.input(0, kind, [][]int64{{q, k}, {h, 1, k}, {n, h, q, k}}[b.rnd.IntN(3)]...)))
	}
	out := b.op("attention", attrs("causal", b.coin()), ports...)
	if out != nil && b.coin() {
		if y := b.op("permute", attrs("perm", []int64{0, 2, 1, 3}), port("tensor", out[0])); y != nil {
			z := b.op("reshape", attrs("shape", []int64{n, q, h * w}), port("tensor", y[0]))
			b.op("matmul", nil, port("X", z[0]), port("Y", b.weight(kind, h*w, b.length())))
		}
	}
}

// byHand is an attention of products and a softmax.
func (b *blocks) byHand() {
	x := b.some(3, true)
	s := x.shape()
	d := 1 + b.rnd.Int64N(32)
	w := func() value { return b.weight(x.kind, s[2], d) }
	q, k, v := b.op("matmul", nil, port("X", x), port("Y", w())), b.op("matmul", nil, port("X", x), port("Y", w())), b.op("matmul", nil, port("X", x), port("Y", w()))
	if q == nil || k == nil || v == nil {
		return
	}
	t := b.op("permute", attrs("perm", []int64{0, 2, 1}), port("tensor", k[0]))
	scores := b.op("matmul", nil, port("X", q[0]), port("Y", t[0]))
	if scores == nil {
		return
	}
	if p := b.op("softmax", attrs("dims", []int64{b.rnd.Int64N(3)}), port("tensor", scores[0])); p != nil {
		b.op("matmul", nil, port("X", p[0]), port("Y", v[0]))
	}
}

func (b *blocks) normal() {
	switch name := b.one("softmax", "log_softmax", "layer_norm", "rms_norm", "instance_norm", "group_norm", "batch_norm", "lp_normalization", "local_response_norm"); name {
	case "softmax", "log_softmax", "lp_normalization":
		x := b.some(-1, true)
		b.op(name, attrs("dims", b.dims(x.sel.Range().Rank())), port("tensor", x))
	case "layer_norm", "rms_norm":
		x := b.some(-1, true)
		s := x.shape()
		axis := b.rnd.IntN(len(s))
		params, ports := attrs("axis", axis), []ported{port("X", x), port("scale", b.weight(x.kind, s[axis:]...))}
		if name == "layer_norm" && b.coin() {
			ports = append(ports, port("bias", b.weight(x.kind, s[len(s)-1])))
		}
		second := ""
		if name == "layer_norm" && b.rnd.IntN(3) == 0 {
			second = b.one("mean", "rstd")
		}
		b.opOf(name, second, 1, params, ports...)
	case "instance_norm", "group_norm":
		x := b.some(-3, true)
		c := x.shape()[1]
		params := ir.Attrs(nil)
		if name == "group_norm" {
			params = attrs("groups", []int64{1, max(c, 1), 2}[b.rnd.IntN(3)])
		}
		b.op(name, params, port("X", x), port("scale", b.weight(x.kind, c)), port("bias", b.weight(x.kind, c)))
	case "batch_norm":
		x := b.some(-2, true)
		c := x.shape()[1]
		b.op(name, nil, port("X", x), port("scale", b.weight(x.kind, c)), port("bias", b.weight(x.kind, c)), port("mean", b.weight(x.kind, c)), port("variance", b.weight(x.kind, c)))
	default:
		x := b.some(-3, true)
		b.op(name, attrs("window", 1+b.rnd.IntN(4)), port("X", x))
	}
}

// normalByHand is a normalization of reductions and what broadcasts their results.
func (b *blocks) normalByHand() {
	x := b.some(-1, true)
	dims := b.dims(x.sel.Range().Rank())
	m := b.op("mean", attrs("dims", dims, "keepdims", true), port("tensor", x))
	if m == nil {
		return
	}
	c := b.op("sub", nil, port("a", x), port("b", m[0]))
	v := b.op("mean", attrs("dims", dims, "keepdims", true), port("tensor", b.op("square", nil, port("tensor", c[0]))[0]))
	b.op("mul", nil, port("tensors", c[0], b.op("rsqrt", nil, port("tensor", v[0]))[0]))
}

func (b *blocks) reduce() {
	name := b.one("sum", "sum", "mean", "prod", "reduce_max", "reduce_min", "arg_max", "arg_min", "variance", "l2_norm", "l1_norm", "sum_square", "log_sum_exp", "count_nonzero", "moments", "exp_sum")
	floats := name == "mean" || name == "variance" || name == "l2_norm" || name == "log_sum_exp" || name == "exp_sum" || name == "moments"
	x := b.some(-1, floats)
	params := attrs("dims", b.dims(x.sel.Range().Rank()), "keepdims", b.coin())
	switch name {
	case "moments", "exp_sum":
		d, _ := kernels.Builtin().Find("op:" + name)
		var outs []string
		for _, o := range d.Operands {
			if o.Out {
				outs = append(outs, o.Name())
			}
		}
		b.opOf(name, outs[len(outs)-1], 1, params.Without("keepdims"), port("tensor", x))
		return
	case "arg_max", "arg_min":
		params = params.With("last", ir.BoolAttr(b.coin()))
	}
	out := b.op(name, params, port("tensor", x))
	if out != nil && b.rnd.IntN(3) == 0 && params[1].Value.Int == 1 && out[0].kind == x.kind {
		b.op("sub", nil, port("a", x), port("b", out[0]))
	}
}

// factors gives a shape of as many cells.
func (b *blocks) factors(n int64) (out []int64) {
	for n > 1 && len(out) < 3 && b.rnd.IntN(4) > 0 {
		var list []int64
		for d := int64(2); d <= n; d++ {
			if n%d == 0 {
				list = append(list, d)
			}
		}
		d := list[b.rnd.IntN(len(list))]
		out, n = append(out, d), n/d
	}
	return append(out, n)
}

func (b *blocks) move() {
	x := b.some(-1, false)
	s := x.shape()
	rank := len(s)
	axis := b.rnd.IntN(rank)
	n := s[axis]
	t := port("tensor", x)
	switch name := b.one("concat", "split", "slice", "slice", "pad", "pad", "permute", "permute", "reshape", "reshape", "roll", "reverse", "repeat", "interleave", "stack", "broadcast", "depth_to_space", "tril", "select", "repeat_each", "unsqueeze"); name {
	case "concat", "interleave", "stack":
		y := slices.Clone(s)
		if name == "concat" {
			y[axis] = b.length()
		}
		list := []value{x, b.input(0, x.kind, y...)}
		if b.coin() {
			slices.Reverse(list)
		}
		if b.rnd.IntN(4) == 0 {
			list = append(list, x)
		}
		b.op(name, attrs("axis", axis), port("tensors", list...))
	case "split":
		if n > 0 {
			at := b.rnd.Int64N(n + 1)
			b.opOf(name, "", 2, attrs("axis", axis, "sizes", []int64{at, n - at}), t)
		}
	case "slice":
		starts, steps, lengths := make([]int64, rank), make([]int64, rank), make([]int64, rank)
		for i, e := range s {
			steps[i] = []int64{1, 1, 1, 2, 3}[b.rnd.IntN(5)]
			if e > 0 && b.coin() {
				starts[i] = b.rnd.Int64N(e)
				lengths[i] = 1 + b.rnd.Int64N((e-starts[i]+steps[i]-1)/steps[i])
			} else {
				steps[i], lengths[i] = 1, e
			}
			if e > 0 && b.rnd.IntN(5) == 0 {
				starts[i], steps[i] = starts[i]+(lengths[i]-1)*steps[i], -steps[i]
			}
		}
		b.op(name, attrs("starts", starts, "steps", steps, "lengths", lengths), t)
	case "pad":
		mode := b.one("constant", "constant", "edge", "reflect", "symmetric", "wrap")
		b.op(name, attrs("pads", b.ints(rank, -1, 3), "pads_end", b.ints(rank, -1, 3), "mode", mode), t)
	case "permute":
		perm := make([]int64, rank)
		for i, p := range b.rnd.Perm(rank) {
			perm[i] = int64(p)
		}
		b.op(name, attrs("perm", perm), t)
	case "reshape":
		size, _ := x.sel.Range().Size()
		b.op(name, attrs("shape", b.factors(size)), t)
	case "roll":
		b.op(name, attrs("shifts", b.ints(rank, -3, 3)), t)
	case "reverse":
		b.op(name, attrs("dims", b.dims(rank)), t)
	case "repeat":
		b.op(name, attrs("repeats", b.ints(rank, 1, 2)), t)
	case "repeat_each":
		b.op(name, attrs("axis", axis, "repeats", 1+b.rnd.IntN(3)), t)
	case "broadcast":
		to := slices.Clone(s)
		from := slices.Clone(s)
		from[axis] = 1
		b.op(name, attrs("shape", append([]int64{1 + b.rnd.Int64N(3)}, to...)), port("tensor", b.input(0, x.kind, from...)))
	case "depth_to_space":
		if rank == 4 {
			b.op(b.one(name, "space_to_depth"), attrs("block", 2), port("X", x))
		}
	case "tril":
		if rank >= 2 {
			b.op(b.one("tril", "triu"), attrs("above", b.rnd.IntN(5)-2), t)
		}
	case "select":
		if n > 0 && rank > 1 {
			b.op(name, attrs("axis", axis, "index", b.rnd.Int64N(n)), t)
		}
	case "unsqueeze":
		b.op(name, attrs("dims", []int64{int64(axis)}), t)
	}
}

// chosen reads or writes at computed places.
func (b *blocks) chosen() {
	x := b.some(-1, false)
	s := x.shape()
	axis := b.rnd.IntN(len(s))
	n := s[axis]
	if n == 0 {
		return
	}
	index := []scalar.DType{scalar.Int64, scalar.Int32}[b.rnd.IntN(2)]
	t := port("tensor", x)
	other := slices.Clone(s)
	other[axis] = 1 + b.rnd.Int64N(12)
	switch name := b.one("gather", "gather", "gather_elements", "scatter", "scatter_add", "scatter_max", "gather_nd", "one_hot"); name {
	case "gather":
		b.op(name, attrs("axis", axis), t, port("indices", b.input(n, index, b.ints(b.rnd.IntN(3), 1, 9)...)))
	case "gather_elements":
		b.op(name, attrs("axis", axis), t, port("indices", b.input(n, index, other...)))
	case "gather_nd":
		b.op(name, attrs("depth", 1), t, port("indices", b.input(min(n, s[0]), index, 1+b.rnd.Int64N(9), 1)))
	case "one_hot":
		b.op(name, attrs("depth", 1+b.rnd.IntN(20)), port("indices", b.input(n, index, b.ints(2, 1, 9)...)), port("off", b.input(0, x.kind)), port("on", b.input(0, x.kind)))
	default:
		b.op(name, attrs("axis", axis), t, port("indices", b.input(n, index, other...)), port("updates", b.input(0, x.kind, other...)))
	}
}

func (b *blocks) pointwise() {
	x := b.some(-1, false)
	s := x.shape()
	if b.coin() && x.kind.IsFloat() {
		b.op(b.one("relu", "gelu", "sigmoid", "tanh", "exp", "neg", "abs", "silu", "softplus", "erf", "floor", "square", "sin", "sqrt"), nil, port("tensor", x))
		return
	}
	y := x
	switch b.rnd.IntN(4) {
	case 0:
		y = b.input(0, x.kind)
	case 1:
		y = b.input(0, x.kind, s[b.rnd.IntN(len(s)):]...)
	case 2:
		o := slices.Clone(s)
		for i := range o {
			if b.coin() {
				o[i] = 1
			}
		}
		y = b.input(0, x.kind, o...)
	case 3:
		for _, v := range b.values {
			if v.kind == x.kind && slices.Equal(v.shape(), s) && b.coin() {
				y = v
			}
		}
	}
	name := b.one("add", "mul", "max", "min", "sub", "div", "sub", "less", "equal")
	var out []value
	switch name {
	case "add", "mul", "max", "min":
		out = b.op(name, nil, port("tensors", x, y))
	default:
		out = b.op(name, nil, port("a", x), port("b", y))
	}
	if out != nil && out[0].kind.IsBool() {
		b.op("where", nil, port("condition", out[0]), port("a", x), port("b", y))
	}
}

func (b *blocks) mixed() {
	x := b.some(-1, false)
	to := b.kind()
	if to == x.kind {
		return
	}
	y := b.op("cast", attrs("dtype", to.String()), port("tensor", x))
	if y == nil {
		return
	}
	switch b.rnd.IntN(4) {
	case 0:
		b.op("sum", attrs("dims", b.dims(x.sel.Range().Rank())), port("tensor", y[0]))
	case 1:
		b.op("add", nil, port("tensors", y[0], b.input(0, to, x.shape()...)))
	case 2:
		if s := x.shape(); len(s) > 1 {
			b.op("matmul", nil, port("X", y[0]), port("Y", b.weight(to, s[len(s)-1], b.length())))
		}
	}
}

func (b *blocks) quantized() {
	kind := []scalar.DType{scalar.Int8, scalar.UInt8}[b.rnd.IntN(2)]
	switch b.rnd.IntN(3) {
	case 0:
		s := b.shape(2 + b.rnd.IntN(2))
		n := b.length()
		y := b.op("matmul_integer", nil, port("A", b.input(0, kind, s...)), port("B", b.input(0, scalar.Int8, s[len(s)-1], n)), port("a_zero", b.input(0, kind)))
		if y == nil {
			return
		}
		z := b.op("cast", attrs("dtype", "float32"), port("tensor", y[0]))
		b.op("mul", nil, port("tensors", z[0], b.input(0, scalar.Float32, n)))
	case 1:
		s := b.shape(3 + b.rnd.IntN(2))
		k := append([]int64{1 + b.rnd.Int64N(17), s[1]}, b.ints(len(s)-2, 1, 3)...)
		b.op("conv_integer", attrs("pads", b.ints(len(s)-2, 0, 2), "strides", b.ints(len(s)-2, 1, 2)), port("X", b.input(0, kind, s...)), port("W", b.input(0, scalar.Int8, k...)), port("x_zero", b.input(0, kind)))
	case 2:
		x := b.some(-1, true)
		if x.kind != scalar.Float32 {
			return
		}
		scale := b.tensor(scalar.Float32)
		b.graph.Add(&tensorops.Operation{Kernel: "op:constant", Params: attrs("value", 0.0625), Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{scale.sel}}})}, "")
		if y := b.op("quantize", attrs("dtype", kind.String()), port("tensor", x), port("scale", scale)); y != nil {
			b.op("dequantize", nil, port("tensor", y[0]), port("scale", scale))
		}
	}
}

func (b *blocks) ordered() {
	x := b.some(-1, false)
	s := x.shape()
	axis := b.rnd.IntN(len(s))
	switch name := b.one("cumsum", "cummax", "sort", "top_k", "cumprod"); name {
	case "sort":
		b.opOf(name, "indices", 1, attrs("axis", axis), port("tensor", x))
	case "top_k":
		if s[axis] > 0 {
			b.opOf(name, "indices", 1, attrs("axis", axis, "k", 1+b.rnd.Int64N(s[axis])), port("tensor", x))
		}
	default:
		b.op(name, attrs("axis", axis), port("tensor", x))
	}
}
