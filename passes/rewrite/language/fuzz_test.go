package language_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/rewrite/language"
)

// FuzzParse reads any text as rules. What is read must write back to the same rules, and run on instances of its own
// patterns without a panic.
func FuzzParse(f *testing.F) {
	for _, text := range []string{`rule neg-neg: neg(neg(x)) => x because "-(-x) = x"`,
		`rule relu-relu: relu(relu(x)) => relu(x) because "max is idempotent"`,
		`rule a must: add(xs..., -0, b@neg(ys), zs...) | add(xs..., 1.5e3, b@neg(ys), zs...) => add(xs..., b, zs...) if not once(b) or rank(ys) <= 3 because "x"`,
		`rule a: permute(permute(x){perm: p}){perm: q} => permute(x){perm: compose(p, q)} because "\"" # c`,
		`rule a: linear(x, A, b?){activation: "none", ..r} => linear(x, A, b?){..r} because ""`,
		`rule a: "onnx/17:Gemm"(A: a) => sum(neg(a) like a){dims: "all", keepdims: true} because ""`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rs, err := language.Parse("f", text, kernels.Builtin())
		if err != nil {
			return
		}
		for _, r := range rs {
			again, err := language.Parse("f", "rule "+r.Name+": "+r.Text+` because "x"`, kernels.Builtin())
			if err != nil || len(again) != 1 || again[0].Text != r.Text {
				t.Fatalf("%q reads back as %v, %v", r.Text, again, err)
			}
			for seed := range uint64(5) {
				if g, ok := r.Instance(rand.New(rand.NewPCG(seed, 1))); ok {
					// An error is a rule that does not end.
					_, _ = rewrite.Run(context.Background(), g, []rewrite.Rule{r}, rewrite.Options{Limit: 50})
				}
			}
		}
	})
}
