package simplify

import (
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/simplify/views"
)

// transposedPhases makes convolutions of a transposed convolution: one, or with strides as many as there are remainders.
var transposedPhases = rewrite.Rule{
	Name: "transposed-phases", Source: "Go", Roots: []string{"conv_transpose"},
	Text: "A transposed convolution with constant, finite filters (or of integers) becomes one convolution for all places that leave the same remainder of the strides, or, if every filter cell's remainder has as many cells and there is one group, " +
		"one with filters for each remainder; their results are woven together. Dimensions with a stride have no dilation, and at least as many filter cells.",
	Because: "o + pads = stride·q + u takes only the filter cells k = stride·t + u, and of X the places q - t: the same products are summed, and beyond X's border products with 0, which are 0 as the filter is finite",
	Match:   splitPhases,
}

// maxPhases bounds the convolutions that one becomes.
const maxPhases = 64

// phases is one dimension of a transposed convolution.
type phases struct {
	stride, dilation, cells, pad, in, out int64
	first, count                          int64 // places q that are computed
}

// taps is how many filter cells remainder u has.
func (p phases) taps(u int64) int64 { return (p.cells - u + p.stride - 1) / p.stride }

// pads are what a convolution with some taps pads before and behind; less than 0 if it leaves out some of X.
func (p phases) pads(taps int64) (before, behind int64) {
	before = (taps-1)*p.dilation - p.first
	return before, p.count - 1 + (taps-1)*p.dilation + 1 - p.in - before
}

func splitPhases(s *rewrite.Site) (rewrite.Result, bool) {
	out, ok := s.Result()
	x, w, b := s.Op.Inputs.Get("X"), s.Op.Inputs.Get("W"), s.Op.Inputs.Get("B")
	if w == nil {
		w = s.Op.Inputs.Get("F")
	}
	if !ok || s.Decl() == nil || x == nil || w == nil || len(x.Sel) != 1 || len(w.Sel) != 1 {
		return rewrite.Result{}, false
	}
	m := weaver{s: s, dtype: s.Tensor(out.Tensor).DType, w: w.Sel[0], x: x.Sel[0]}
	if !m.read(out) {
		return rewrite.Result{}, false
	}
	y, shape := m.convolutions(), out.Range().Shape()
	if slices.ContainsFunc(m.dims, func(d phases) bool { return d.stride > 1 }) {
		last := []int64{0, 0}
		for _, d := range m.dims {
			last = append(last, d.pad-d.stride*d.first)
		}
		params := ir.Attrs{}.With("lengths", ir.IntsAttr(shape...)).With("starts", ir.IntsAttr(last...))
		y = m.op("slice", params, shape, rewrite.Input{Port: "tensor", Args: []rewrite.Operand{m.woven(y)}})
	}
	if b != nil {
		each := slices.Repeat([]int64{1}, len(shape))
		each[1] = shape[1]
		bias := m.reshape(rewrite.Operand{Sel: b.Sel[0]}, each)
		y = m.op("add", nil, shape, rewrite.Input{Port: "tensors", Args: []rewrite.Operand{y, bias}})
	}
	y.New.Outputs[0].Range = out.Range()
	return rewrite.One(y), true
}

// weaver makes the operations.
type weaver struct {
	s                               *rewrite.Site
	dtype                           string
	x, w                            ir.Selection
	dims                            []phases
	images, channels, group, groups int64 // group is the filters of one
}

// read reads the parameters, and says whether the rule applies.
func (m *weaver) read(out ir.Selection) bool {
	p := m.s.Op.Params
	xs, ws, ys := m.x.Range().Shape(), m.w.Range().Shape(), out.Range().Shape()
	n := len(ys) - 2
	strides, ok1 := views.Ints(p, "strides", n, 1)
	dilations, ok2 := views.Ints(p, "dilations", n, 1)
	pads, ok3 := views.Ints(p, "pads", n, 0)
	m.groups = 1
	if g, ok := p.Get("groups"); ok {
		m.groups = g.Int
	}
	if !ok1 || !ok2 || !ok3 || n < 1 || len(ws) != len(ys) || m.groups < 1 || slices.Contains(append(append(slices.Clone(xs), ws...), ys...), 0) {
		return false
	}
	m.images, m.channels, m.group = xs[0], ws[0], ws[1]
	count := int64(1)
	for i := range n {
		d := phases{stride: strides[i], dilation: dilations[i], cells: ws[i+2], pad: pads[i], in: xs[i+2], out: ys[i+2]}
		if d.stride < 1 || d.pad < 0 || d.stride > 1 && (d.dilation != 1 || d.cells < d.stride) || d.stride > maxPhases {
			return false
		}
		d.first = d.pad / d.stride
		d.count = (d.pad+d.out-1)/d.stride - d.first + 1
		m.dims = append(m.dims, d)
		if count *= d.stride; count > maxPhases {
			return false
		}
	}
	return m.s.Finite(m.w)
}

func (m *weaver) op(kernel string, params ir.Attrs, shape []int64, in ...rewrite.Input) rewrite.Operand {
	port := "result"
	if kernel == "conv" {
		port = "Y"
	}
	r := zspace.Range{Start: make(zspace.Point, len(shape)), End: slices.Clone(zspace.Point(shape))}
	return rewrite.Operand{New: &rewrite.Op{Kernel: m.s.Name(kernel), Params: params, Inputs: in,
		Outputs: []rewrite.Output{{Port: port, DType: m.dtype, Range: r}}}}
}

func (m *weaver) reshape(x rewrite.Operand, shape []int64) rewrite.Operand {
	return m.op("reshape", ir.Attrs{}.With("shape", ir.IntsAttr(shape...)), shape, rewrite.Input{Port: "tensor", Args: []rewrite.Operand{x}})
}

func (m *weaver) permute(x rewrite.Operand, order, shape []int64) rewrite.Operand {
	return m.op("permute", ir.Attrs{}.With("perm", ir.IntsAttr(order...)), shape, rewrite.Input{Port: "tensor", Args: []rewrite.Operand{x}})
}

// convolution makes one with filters of some taps.
func (m *weaver) convolution(filters rewrite.Operand, count int64, taps []int64) rewrite.Operand {
	shape := []int64{m.images, count}
	var before, behind, dilations []int64
	for i, d := range m.dims {
		a, b := d.pads(taps[i])
		before, behind, dilations = append(before, a), append(behind, b), append(dilations, d.dilation)
		shape = append(shape, d.count)
	}
	params := ir.Attrs{}.With("dilations", ir.IntsAttr(dilations...)).With("groups", ir.IntAttr(m.groups)).
		With("pads", ir.IntsAttr(before...)).With("pads_end", ir.IntsAttr(behind...))
	return m.op("conv", params, shape, rewrite.Input{Port: "W", Args: []rewrite.Operand{filters}}, rewrite.Input{Port: "X", Args: []rewrite.Operand{{Sel: m.x}}})
}

// convolutions gives a tensor whose channels are, for every remainder, those of the result.
func (m *weaver) convolutions() rewrite.Operand {
	all := m.groups * m.group
	even := m.groups == 1
	for _, d := range m.dims {
		even = even && d.cells%d.stride == 0
	}
	if even {
		filters, count, taps := m.together()
		return m.convolution(filters, count, taps)
	}
	var list []rewrite.Operand
	remainders := make([]int64, len(m.dims))
	for {
		filters, taps := m.of(remainders)
		list = append(list, m.convolution(filters, all, taps))
		i := len(m.dims) - 1
		for ; i >= 0; i-- {
			if remainders[i]++; remainders[i] < m.dims[i].stride {
				break
			}
			remainders[i] = 0
		}
		if i < 0 {
			break
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	shape := []int64{m.images, all * int64(len(list))}
	for _, d := range m.dims {
		shape = append(shape, d.count)
	}
	return m.op("concat", ir.Attrs{}.With("axis", ir.IntAttr(1)), shape, rewrite.Input{Port: "tensors", Args: list})
}

// together gives the filters of all remainders, of one group: cells are turned round, as a convolution goes over them the other way.
func (m *weaver) together() (filters rewrite.Operand, count int64, taps []int64) {
	split, turn, order := []int64{m.channels, m.group}, []int64{}, []int64{}
	count = m.group
	var rest []int64
	for i, d := range m.dims {
		t := d.cells / d.stride
		taps, split = append(taps, t), append(split, t, d.stride)
		turn = append(turn, int64(2+2*i))
		order = append(order, int64(3+2*i))
		rest = append(rest, int64(2+2*i))
		count *= d.stride
	}
	order = append(append(order, 1, 0), rest...)
	x := m.reshape(rewrite.Operand{Sel: m.w}, split)
	x = m.op("reverse", ir.Attrs{}.With("dims", ir.IntsAttr(turn...)), split, rewrite.Input{Port: "tensor", Args: []rewrite.Operand{x}})
	shape := make([]int64, len(order))
	for i, o := range order {
		shape[i] = split[o]
	}
	x = m.permute(x, order, shape)
	return m.reshape(x, append([]int64{count, m.channels}, taps...)), count, taps
}

// of gives the filters of some remainders.
func (m *weaver) of(remainders []int64) (filters rewrite.Operand, taps []int64) {
	each := m.channels / m.groups
	split := append([]int64{m.groups, each, m.group}, m.w.Range().Shape()[2:]...)
	starts, steps, lengths := []int64{0, 0, 0}, []int64{1, 1, 1}, slices.Clone(split[:3])
	order, shape := []int64{0, 2, 1}, []int64{m.groups, m.group, each}
	for i, d := range m.dims {
		t := d.taps(remainders[i])
		taps = append(taps, t)
		starts, steps, lengths = append(starts, remainders[i]+d.stride*(t-1)), append(steps, -d.stride), append(lengths, t)
		order, shape = append(order, int64(3+i)), append(shape, t)
	}
	x := m.reshape(rewrite.Operand{Sel: m.w}, split)
	params := ir.Attrs{}.With("lengths", ir.IntsAttr(lengths...)).With("starts", ir.IntsAttr(starts...)).With("steps", ir.IntsAttr(steps...))
	x = m.op("slice", params, lengths, rewrite.Input{Port: "tensor", Args: []rewrite.Operand{x}})
	x = m.permute(x, order, shape)
	return m.reshape(x, append([]int64{m.groups * m.group, each}, taps...)), taps
}

// woven puts the results of the remainders beside each other.
func (m *weaver) woven(x rewrite.Operand) rewrite.Operand {
	n := int64(len(m.dims))
	all := m.groups * m.group
	split, shape := []int64{m.images}, []int64{m.images, all}
	for _, d := range m.dims {
		split = append(split, d.stride)
		shape = append(shape, d.count*d.stride)
	}
	split = append(split, all)
	order := []int64{0, n + 1}
	for i, d := range m.dims {
		split = append(split, d.count)
		order = append(order, n+2+int64(i), 1+int64(i))
	}
	permuted := make([]int64, len(order))
	for i, o := range order {
		permuted[i] = split[o]
	}
	return m.reshape(m.permute(m.reshape(x, split), order, permuted), shape)
}
