package expand

import (
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/rewrite"
)

// narrowless says whether a kernel computes on a type in the type itself.
func narrowless(d scalar.DType) bool { return d == scalar.Float32 || d == scalar.Float64 }

var layerNormSteps = rewrite.Rule{Name: "layer-norm-steps", Source: "Go", Roots: []string{"layer_norm"}, Allow: permission.Reassociate,
	Text:    "A layer normalization of float32 or float64, of which only the result is asked for, becomes its steps.",
	Because: "they are the steps of its definition, (X - mean)·(1 / √(Σ (X - mean)² / n + epsilon))·scale + bias, with the squares rounded before their sum",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		x, ok := input(s, "X")
		if !ok || !narrowless(s.Type(x)) || s.Op.Outputs.Len() != 1 {
			return rewrite.Result{}, false
		}
		b, d, rank := builder{s: s}, s.Tensor(x.Tensor).DType, int64(x.Range().Rank())
		axis := int64(-1)
		if v, ok := s.Op.Params.Get("axis"); ok {
			axis = v.Int
		}
		if axis < 0 {
			axis += rank
		}
		count, dims := int64(1), []int64{}
		for i := axis; i >= 0 && i < rank; i++ {
			dims, count = append(dims, i), count*x.Range().Shape()[i]
		}
		over := ints("dims", dims...).With("keepdims", ir.BoolAttr(true))
		epsilon, ok := s.Op.Params.Get("epsilon")
		if !ok {
			epsilon = ir.FloatAttr(1e-5)
		}
		mean := func(x rewrite.Operand) rewrite.Operand {
			return b.two("div", b.one("sum", over, x), b.number(ir.IntAttr(count), d))
		}
		moved := b.two("sub", at(x), mean(at(x)))
		spread := mean(b.many("mul", nil, moved, moved))
		root := b.one("sqrt", nil, b.many("add", nil, spread, b.number(epsilon, d)))
		y := b.many("mul", nil, moved, b.two("div", b.number(ir.IntAttr(1), d), root))
		if scale, ok := input(s, "scale"); ok {
			y = b.many("mul", nil, y, at(scale))
		}
		if bias, ok := input(s, "bias"); ok {
			y = b.many("add", nil, y, at(bias))
		}
		return b.done(y)
	}}

var stepsLayerNorm = undo("steps-layer-norm", "The steps of a layer normalization of float32 or float64 become it.", layerNormSteps, []string{"add", "mul"},
	func(r *reader, y ir.Selection) (list []whence) {
		const bias, scale = "bias", "scale"
		by := map[string]string{bias: "add", scale: "mul"}
		for _, ports := range [][]string{{bias, scale}, {bias}, {scale}, {}} {
			list = r.read(list, func() whence {
				w, x := whence{kernel: "layer_norm", out: "Y"}, y
				for _, port := range ports {
					w, x = w.with(port, r.arg(x, by[port], 1, "tensors")), r.arg(x, by[port], 0, "tensors")
				}
				moved, spread := r.arg(x, "mul", 0, "tensors"), r.arg(r.arg(r.arg(x, "mul", 1, "tensors"), "div", 0, "b"), "sqrt", 0, "tensor")
				w = w.with("X", r.arg(moved, "sub", 0, "a")).set("epsilon", r.number(r.arg(spread, "add", 1, "tensors")))
				if dims := r.ints(r.arg(r.arg(moved, "sub", 0, "b"), "div", 0, "a"), "sum", "dims"); !r.failed {
					w = w.set("axis", ir.IntAttr(dims[0]))
				}
				return w
			})
		}
		return list
	})

var attentionSteps = rewrite.Rule{Name: "attention-steps", Source: "Go", Roots: []string{"attention"},
	Text: "An attention of float32 or float64 with as many heads of keys and values as of queries, which is not causal and bends no scores, becomes its " +
		"steps: a product, its softmax without the division, and another product, which is divided.",
	Because: "they are the steps of its definition, each rounded as there: (Σ_k exp(score - top)·V) / Σ_k exp(score - top)",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		b := builder{s: s}
		score, v, ok := scores(&b)
		if !ok {
			return rewrite.Result{}, false
		}
		last := ints("dims", -1).With("keepdims", ir.BoolAttr(true))
		e := b.one("exp", nil, b.two("sub", score, b.one("reduce_max", last, score)))
		return b.done(b.two("div", b.product(e, v), b.one("sum", last, e)))
	}}

var stepsAttention = undo("steps-attention", "The steps of an attention of float32 or float64 become it.", attentionSteps, []string{"div"},
	func(r *reader, y ir.Selection) []whence {
		return r.read(nil, func() whence {
			sums := r.arg(y, "div", 0, "a")
			score := r.arg(r.arg(r.arg(sums, "matmul", 0, "X"), "exp", 0, "tensor"), "sub", 0, "a")
			return scored(r, score).with("V", r.arg(sums, "matmul", 0, "Y", "W"))
		})
	})

var attentionSoftmax = rewrite.Rule{Name: "attention-softmax", Source: "Go", Roots: []string{"attention"}, Allow: permission.Reassociate,
	Text: "An attention of float32 or float64 with as many heads of keys and values as of queries, which is not causal and bends no scores, becomes a " +
		"product, its softmax, and another product, if there are keys: of none, an attention is NaN, and a product 0.",
	Because: "(Σ_k e_k·V_k) / Σ_k e_k = Σ_k (e_k / Σ_j e_j)·V_k, with the quotients rounded before the sum",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		b := builder{s: s}
		score, v, ok := scores(&b)
		if !ok || b.shape(v)[2] == 0 {
			return rewrite.Result{}, false
		}
		return b.done(b.product(b.one("softmax", nil, score), v))
	}}

var softmaxAttention = undo("softmax-attention", "A product, its softmax, and another product become an attention of float32 or float64.", attentionSoftmax, []string{"matmul"},
	func(r *reader, y ir.Selection) []whence {
		return r.read(nil, func() whence {
			score := r.arg(r.arg(y, "matmul", 0, "X"), "softmax", 0, "tensor")
			return scored(r, score).with("V", r.arg(y, "matmul", 0, "Y", "W"))
		})
	})

// scores makes the scores of the attention at a site, of which softmax is taken, and gives the values.
func scores(b *builder) (score, values rewrite.Operand, ok bool) {
	s := b.s
	q, ok := input(s, "Q")
	k, ok2 := input(s, "K")
	v, ok3 := input(s, "V")
	if !ok || !ok2 || !ok3 || !narrowless(s.Type(q)) || q.Range().Shape()[1] != k.Range().Shape()[1] || asksMore(s) {
		return score, values, false
	}
	d := s.Tensor(q.Tensor).DType
	score = b.product(at(q), b.one("permute", ints("perm", 0, 1, 3, 2), at(k)))
	if x, ok := s.Op.Params.Get("scale"); ok {
		score = b.many("mul", nil, score, b.number(x, d))
	} else {
		depth := b.number(ir.IntAttr(q.Range().Shape()[3]), d)
		score = b.many("mul", nil, score, b.one("rsqrt", nil, depth))
	}
	if bias, ok := input(s, "bias"); ok {
		score = b.many("add", nil, score, at(bias))
	}
	if mask, ok := input(s, "mask"); ok {
		least := b.one("log", nil, b.number(ir.IntAttr(0), d)) // -inf
		score = b.op("where", "result", nil, port("a", score), port("b", least), port("condition", at(mask)))
	}
	return score, at(v), true
}

// scored reads an attention from its scores: products of queries and keys, times a number, plus a bias, where a mask says so.
func scored(r *reader, score ir.Selection) whence {
	w := whence{kernel: "attention", out: "Y"}
	if r.is(score, "where") {
		w, score = w.with("mask", r.arg(score, "where", 0, "condition")), r.arg(score, "where", 0, "a")
	}
	if r.is(score, "add") {
		w, score = w.with("bias", r.arg(score, "add", 1, "tensors")), r.arg(score, "add", 0, "tensors")
	}
	if number := r.arg(score, "mul", 1, "tensors"); !r.is(number, "rsqrt") {
		w = w.set("scale", r.number(number))
	}
	product := r.arg(score, "mul", 0, "tensors")
	return w.with("Q", r.arg(product, "matmul", 0, "X")).with("K", r.arg(r.arg(product, "matmul", 0, "Y", "W"), "permute", 0, "tensor"))
}

// asksMore says whether an attention is causal or bends its scores.
func asksMore(s *rewrite.Site) bool {
	causal, _ := s.Op.Params.Get("causal")
	_, bent := s.Op.Params.Get("softcap")
	return causal.Equal(ir.BoolAttr(true)) || bent
}
