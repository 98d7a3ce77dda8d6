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

var attentionSteps = rewrite.Rule{Name: "attention-steps", Source: "Go", Roots: []string{"attention"},
	Text: "An attention of float32 or float64 with as many heads of keys and values as of queries, which is not causal and bends no scores, becomes its " +
		"steps: a product, its softmax without the division, and another product, which is divided.",
	Because: "they are the steps of its definition, each rounded as there: (Σ_k exp(score - top)·V) / Σ_k exp(score - top)",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		q, ok := input(s, "Q")
		k, ok2 := input(s, "K")
		v, ok3 := input(s, "V")
		if !ok || !ok2 || !ok3 || !narrowless(s.Type(q)) || q.Range().Shape()[1] != k.Range().Shape()[1] || asksMore(s) {
			return rewrite.Result{}, false
		}
		b, d := builder{s: s}, s.Tensor(q.Tensor).DType
		score := b.product(at(q), b.one("permute", ints("perm", 0, 1, 3, 2), at(k)))
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
		last := ints("dims", -1).With("keepdims", ir.BoolAttr(true))
		e := b.one("exp", nil, b.two("sub", score, b.one("reduce_max", last, score)))
		return b.done(b.two("div", b.product(e, at(v)), b.one("sum", last, e)))
	}}

// asksMore says whether an attention is causal or bends its scores.
func asksMore(s *rewrite.Site) bool {
	causal, _ := s.Op.Params.Get("causal")
	_, bent := s.Op.Params.Get("softcap")
	return causal.Equal(ir.BoolAttr(true)) || bent
}
