package expand

import (
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/rewrite"
)

// goRules are the rules that compute shapes.
func goRules() []rewrite.Rule {
	return append([]rewrite.Rule{batchProduct, productBatch, matmulHalves, halvesMatmul, matmulHalvesInteger, halvesMatmulInteger,
		separateSum, togetherSum, separateExact, together,
		attentionSteps, stepsAttention, attentionSoftmax, softmaxAttention,
		convSlice, sliceConv, convPhases, phasesConv, convInterleave, interleaveConv, convPatches, patchesConv,
		partsOfConcat, partsOfInterleave, joinedResults, cellsOfPad, padOfCells}, append(normRules(), partsReduction, partsReductionSum)...)
}

// whole says whether a site's elements are integers or booleans.
func whole(s *rewrite.Site) bool {
	out, ok := s.Result()
	return ok && !s.Type(out).IsFloat() && !s.Type(out).IsComplex()
}

var batchProduct = rewrite.Rule{Name: "batch-product", Source: "Go", Roots: []string{"matmul"},
	Text:    "A batch of products with one right operand becomes one product: the batch's rows are below one another.",
	Because: "row r of matrix b of the batch is row b·m + r of one product, and reshaping moves cells alone",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		x, ok := input(s, "X")
		w, ok2 := input(s, "Y", "W")
		if !ok || !ok2 || x.Range().Rank() < 3 || w.Range().Rank() != 2 {
			return rewrite.Result{}, false
		}
		b := builder{s: s}
		shape := x.Range().Shape()
		last, rows := len(shape)-1, int64(1)
		for _, n := range shape[:last] {
			rows *= n
		}
		flat := b.product(b.one("reshape", ints("shape", rows, shape[last]), at(x)), at(w))
		return b.done(b.one("reshape", ints("shape", append(slices.Clone(shape[:last]), w.Range().Shape()[1])...), flat))
	}}

var productBatch = rewrite.Rule{Name: "product-batch", Source: "Go", Roots: []string{"reshape"},
	Text:    "A product of reshaped rows, reshaped again so that the rows are as they were, becomes a batch of products with one right operand.",
	Because: "row b·m + r of the product is row r of matrix b of the batch, and reshaping moves cells alone",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		t, ok := input(s, "tensor")
		if !ok {
			return rewrite.Result{}, false
		}
		d, ok := s.Def(t)
		if !ok || d.Kernel != "matmul" || d.Inputs.Get("X") == nil {
			return rewrite.Result{}, false
		}
		r, ok := s.Def(d.Inputs.Get("X").Sel[0])
		if !ok || r.Kernel != "reshape" || r.Inputs.Get("tensor") == nil {
			return rewrite.Result{}, false
		}
		b, x := builder{s: s}, r.Inputs.Get("tensor").Sel[0]
		w := d.Inputs.Get("Y")
		if w == nil {
			w = d.Inputs.Get("W")
		}
		if x.Range().Rank() < 3 || w.Sel[0].Range().Rank() != 2 || x.Range().Shape()[x.Range().Rank()-1] != w.Sel[0].Range().Shape()[0] {
			return rewrite.Result{}, false
		}
		return b.done(b.product(at(x), at(w.Sel[0])))
	}}

var matmulHalves = rewrite.Rule{Name: "matmul-halves", Source: "Go", Roots: []string{"matmul"}, Allow: permission.Reassociate,
	Text:    "A product of floats becomes the sum of the products of both halves of what it sums.",
	Because: "Σ_k X·Y = Σ_{k<h} X·Y + Σ_{k≥h} X·Y, with the halves rounded before they are added",
	Match:   func(s *rewrite.Site) (rewrite.Result, bool) { return halves(s, !whole(s)) }}

var matmulHalvesInteger = rewrite.Rule{Name: "matmul-halves-integer", Source: "Go", Roots: []string{"matmul"},
	Text:    "A product of integers becomes the sum of the products of both halves of what it sums.",
	Because: "Σ_k X·Y = Σ_{k<h} X·Y + Σ_{k≥h} X·Y, and integers wrap alike in any order",
	Match:   func(s *rewrite.Site) (rewrite.Result, bool) { return halves(s, whole(s)) }}

// halves cuts a product along what it sums.
func halves(s *rewrite.Site, ok bool) (rewrite.Result, bool) {
	x, okX := input(s, "X")
	w, okW := input(s, "Y", "W")
	if !ok || !okX || !okW || x.Range().Rank() < 2 || w.Range().Rank() < 2 {
		return rewrite.Result{}, false
	}
	b, k := builder{s: s}, x.Range().Shape()[x.Range().Rank()-1]
	if k < 2 {
		return rewrite.Result{}, false
	}
	part := func(from, to int64) rewrite.Operand {
		return b.product(cutAlong(x, x.Range().Rank()-1, from, to), cutAlong(w, w.Range().Rank()-2, from, to))
	}
	return b.done(b.many("add", nil, part(0, k/2), part(k/2, k)))
}

// cutAlong gives a part of a selection, from and to counted from where it begins.
func cutAlong(s ir.Selection, dim int, from, to int64) rewrite.Operand {
	r := s.Range().Clone()
	r.End[dim] = r.Start[dim] + to
	r.Start[dim] += from
	return at(ir.Select(s.Tensor, r))
}

var separateSum = rewrite.Rule{Name: "reduction-separate-sum", Source: "Go", Roots: []string{"sum", "mean", "log_sum_exp"}, Allow: permission.Reassociate,
	Text:    "A sum, mean or log_sum_exp of floats along several dimensions becomes those along one after the other.",
	Because: "Σ_ij x = Σ_j Σ_i x, with the inner sums rounded; for means both divided by the number of j and of i, and for log_sum_exp of e^log(Σ_i e^x) = Σ_i e^x",
	Match:   func(s *rewrite.Site) (rewrite.Result, bool) { return separate(s, !whole(s)) }}

var separateExact = rewrite.Rule{Name: "reduction-separate", Source: "Go", Roots: []string{"sum", "reduce_max", "reduce_min", "any", "all"},
	Text:    "A sum of integers, or a greatest or least value, along several dimensions becomes those along one after the other.",
	Because: "integers wrap alike in any order, and a greatest or least value is one of its operands, of 0 and -0 the last in row-major order",
	Match:   func(s *rewrite.Site) (rewrite.Result, bool) { return separate(s, s.Kernel() != "sum" || whole(s)) }}

var (
	togetherSum = undo("reduction-together-sum", "Sums, means or log_sum_exps of floats along one dimension after the other become one along all of them.", separateSum, separateSum.Roots, readSeparate)

	together = undo("reduction-together", "Sums of integers, or greatest or least values, along one dimension after the other become those along all of them.", separateExact,
		separateExact.Roots, readSeparate)
)

// readSeparate reads the reduction along the dimensions of two.
func readSeparate(r *reader, y ir.Selection) []whence {
	return r.read(nil, func() whence {
		kernel := r.s.Kernel()
		inner := r.arg(y, kernel, 0, "tensor")
		dims := append(slices.Clone(r.ints(y, kernel, "dims")), r.ints(inner, kernel, "dims")...)
		w := whence{kernel: kernel, out: "result", params: ints("dims", dims...)}
		if keep, ok := r.s.Op.Params.Get("keepdims"); ok {
			w = w.set("keepdims", keep)
		}
		return w.with("tensor", r.arg(inner, kernel, 0, "tensor"))
	})
}

// separate reduces along the last dimension of several first.
func separate(s *rewrite.Site, ok bool) (rewrite.Result, bool) {
	x, okX := input(s, "tensor")
	if !ok || !okX {
		return rewrite.Result{}, false
	}
	dims := dimsOf(s, x.Range().Rank())
	if len(dims) < 2 {
		return rewrite.Result{}, false
	}
	b, last := builder{s: s}, len(dims)-1
	v, _ := s.Op.Params.Get("keepdims")
	keep := ir.BoolAttr(v.Equal(ir.BoolAttr(true)))
	inner := b.one(s.Kernel(), ints("dims", dims[last]).With("keepdims", keep), at(x))
	return b.done(b.one(s.Kernel(), ints("dims", dims[:last]...).With("keepdims", keep), inner))
}

// dimsOf gives the dimensions that a reduction is along, rising; none if they are given in a way that this does not read.
func dimsOf(s *rewrite.Site, rank int) []int64 { return dimsOfParams(s.Op.Params, rank) }

func dimsOfParams(params ir.Attrs, rank int) []int64 {
	v, ok := params.Get("dims")
	if !ok {
		list := make([]int64, rank)
		for i := range list {
			list[i] = int64(i)
		}
		return list
	}
	list, _ := v.Ints()
	if list = slices.Clone(list); v.Kind == ir.AttrInt {
		list = []int64{v.Int}
	}
	for i := range list {
		if list[i] < 0 {
			list[i] += int64(rank)
		}
	}
	slices.Sort(list)
	return list
}
