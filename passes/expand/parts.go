package expand

import (
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/rewrite"
)

// What the pass split makes of one operation becomes that operation again: partial results of parts that follow each other, and what combines them.
var (
	partsReduction = rewrite.Rule{Name: "parts-reduction", Source: "Go", Roots: []string{"add", "mul", "max", "min", "any", "all"},
		Text:    "Sums or products of integers, greatest or least values, or ands or ors, of parts that follow each other, combined by the same operator, become one.",
		Because: "the operator is associative, and rounds nothing; of 0 and -0, the last of all is that of the last part with one",
		Match:   func(s *rewrite.Site) (rewrite.Result, bool) { return joinedReduction(s, true) }}

	partsReductionSum = rewrite.Rule{Name: "parts-reduction-sum", Source: "Go", Roots: []string{"add", "mul", "log_sum_exp"}, Allow: permission.Reassociate,
		Text:    "Sums, products or log_sum_exps of floats, of parts that follow each other, combined by the same operator, become one.",
		Because: "the operator is associative but for roundings",
		Match:   func(s *rewrite.Site) (rewrite.Result, bool) { return joinedReduction(s, false) }}

	halvesMatmul = rewrite.Rule{Name: "halves-matmul", Source: "Go", Roots: []string{"add"}, Allow: permission.Reassociate,
		Text:    "The sum of products (matmul, linear, or conv along its channels) of floats, of parts of what one sums that follow each other, becomes one.",
		Because: "Σ_k X·Y = Σ_{k<h} X·Y + Σ_{k≥h} X·Y, with the halves rounded before they are added",
		Match:   func(s *rewrite.Site) (rewrite.Result, bool) { return joinedProduct(s, !whole(s)) }}

	halvesMatmulInteger = rewrite.Rule{Name: "halves-matmul-integer", Source: "Go", Roots: []string{"add"},
		Text:    "The sum of products (matmul, linear, or conv along its channels) of integers, of parts of what one sums that follow each other, becomes one.",
		Because: "Σ_k X·Y = Σ_{k<h} X·Y + Σ_{k≥h} X·Y, and integers wrap alike in any order",
		Match:   func(s *rewrite.Site) (rewrite.Result, bool) { return joinedProduct(s, whole(s)) }}
)

// reductionsBy has the reductions whose partial results an operator combines.
var reductionsBy = map[string]string{"add": "sum", "mul": "prod", "max": "reduce_max", "min": "reduce_min"}

// joinedReduction finds partial results of a reduction that the site combines: by an operator, first to last, or stacked and reduced by the kernel itself.
func joinedReduction(s *rewrite.Site, exact bool) (rewrite.Result, bool) {
	kernel, by := reductionsBy[s.Kernel()]
	var list []ir.Selection
	switch {
	case by:
		list = summands(s)
	default:
		kernel, list = s.Kernel(), stackedParts(s)
	}
	ordered := kernel == "log_sum_exp" || (kernel == "sum" || kernel == "prod") && !whole(s)
	p, ok := partsOf(s, list, kernel)
	if !ok || ordered == exact || len(p.along) != 1 || p.along["tensor"] < 0 {
		return rewrite.Result{}, false
	}
	dims := dimsOfParams(p.params, p.whole[0].Args[0].Sel.Range().Rank())
	i := slices.Index(dims, int64(p.along["tensor"]))
	if i < 0 || i > 0 && (kernel == "reduce_max" || kernel == "reduce_min") && !whole(s) { // the last of 0 and -0 is that of the last part
		return rewrite.Result{}, false
	}
	return p.done(s, "result")
}

// summands gives the tensors that an operator combines.
func summands(s *rewrite.Site) []ir.Selection {
	if p := s.Op.Inputs.Get("tensors"); p != nil && s.Op.Inputs.Len() == 1 {
		return p.Sel
	}
	return nil
}

// stackedParts gives the tensors that are stacked along the first dimension, along which alone the site reduces.
func stackedParts(s *rewrite.Site) []ir.Selection {
	x, ok := input(s, "tensor")
	if !ok {
		return nil
	}
	d, ok := s.Def(x)
	if keep, there := s.Op.Params.Get("keepdims"); !ok || d.Kernel != "stack" || there && keep.Equal(ir.BoolAttr(true)) || !slices.Equal(dimsOf(s, x.Range().Rank()), []int64{0}) {
		return nil
	}
	if axis, there := d.Op.Params.Get("axis"); there && !axis.Equal(ir.IntAttr(0)) {
		return nil
	}
	return d.Inputs.Get("tensors").Sel
}

// productAlong has the kernels that sum products, with the dimension of each operand that is summed, counted from the end where it is negative.
var productAlong = map[string]map[string]int{
	"matmul": {"X": -1, "Y": -2, "W": -2}, "linear": {"x": -1, "X": -1, "A": 0}, "conv": {"X": 1, "W": 1},
}

// joinedProduct finds the products of parts that the site adds.
func joinedProduct(s *rewrite.Site, ok bool) (rewrite.Result, bool) {
	list := summands(s)
	if !ok || len(list) < 2 {
		return rewrite.Result{}, false
	}
	d, _ := s.Def(list[0])
	p, ok := partsOf(s, list, d.Kernel)
	if !ok || len(p.along) != 2 || d.Kernel == "conv" && !oneGroup(p.params) || d.Kernel == "linear" && !plainLinear(p.params) {
		return rewrite.Result{}, false
	}
	for _, in := range p.whole {
		dim, there := productAlong[d.Kernel][in.Port]
		rank := in.Args[0].Sel.Range().Rank()
		if dim < 0 {
			dim = max(dim+rank, 0)
		}
		if !there || p.along[in.Port] != dim {
			return rewrite.Result{}, false
		}
	}
	return p.done(s, map[string]string{"matmul": "Z", "linear": "result", "conv": "Y"}[d.Kernel])
}

func oneGroup(params ir.Attrs) bool {
	v, there := params.Get("groups")
	return !there || v.Equal(ir.IntAttr(1))
}

func plainLinear(params ir.Attrs) bool {
	v, there := params.Get("activation")
	return !there || v.Str == "none"
}

// parts are operations of one kernel on parts of the same tensors that follow each other.
type parts struct {
	kernel string
	params ir.Attrs
	whole  []rewrite.Input // what one operation on all of it takes
	along  map[string]int  // the dimension along which the parts of a port follow each other; -1 if it takes the same of each
}

// partsOf finds operations of a kernel, two at least, that compute selections of parts.
func partsOf(s *rewrite.Site, list []ir.Selection, kernel string) (p parts, ok bool) {
	p = parts{kernel: kernel, along: map[string]int{}}
	for i, x := range list {
		d, ok := s.Def(x)
		if !ok || d.Kernel != kernel || d.Inputs.Len() == 0 || i > 0 && (!d.Op.Params.Equal(p.params) || d.Inputs.Len() != len(p.whole)) {
			return p, false
		}
		p.params = d.Op.Params
		for k := range d.Inputs.Len() {
			port := d.Inputs.At(k)
			if len(port.Sel) != 1 {
				return p, false
			}
			if i == 0 {
				p.whole = append(p.whole, rewrite.Input{Port: port.Name, Args: []rewrite.Operand{at(port.Sel[0])}})
				continue
			}
			dim, ok := follows(&p.whole[k].Args[0].Sel, port.Sel[0])
			if before, there := p.along[port.Name]; !ok || p.whole[k].Port != port.Name || there && before != dim {
				return p, false
			}
			p.along[port.Name] = dim
		}
	}
	return p, len(list) > 1
}

// follows makes a box larger by one that follows it along one dimension, which it gives, or is the same: -1.
func follows(box *ir.Selection, next ir.Selection) (dim int, ok bool) {
	a, b := box.Range(), next.Range()
	if box.Tensor != next.Tensor {
		return 0, false
	}
	dim = -1
	for i := range a.Start {
		switch {
		case a.Start[i] == b.Start[i] && a.End[i] == b.End[i]:
		case a.End[i] == b.Start[i] && dim < 0:
			dim = i
		default:
			return 0, false
		}
	}
	if dim >= 0 {
		r := a.Clone()
		r.End[dim] = b.End[dim]
		*box = ir.Select(box.Tensor, r)
	}
	return dim, true
}

// done makes the operation on all of it.
func (p parts) done(s *rewrite.Site, out string) (rewrite.Result, bool) {
	b := builder{s: s}
	return b.done(b.op(p.kernel, out, p.params, p.whole...))
}
