package expand

import (
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/rewrite"
)

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
