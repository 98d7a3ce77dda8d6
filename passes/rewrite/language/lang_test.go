package language_test

import (
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/rewrite/language"
	"tensortapestry.org/tapc/passes/rewrite/rewritetest"
)

func TestParseErrors(t *testing.T) {
	cases := []struct{ text, want string }{
		{`rule`, `f.rules:1:5: error: expected the rule's name, found the end of the text [TAP0864 rules]`},
		{`rule a relu(x) => x`, `expected ":", found "relu"`},
		{`rule a: rely(x) => x because ""`, `f.rules:1:9: error: rule a: unknown kernel "rely"`},
		{`rule a: relu(x => x`, `expected "," or ")", found "=>"`},
		{`rule a: relu(x, y) => x because ""`, `kernel relu has fewer inputs`},
		{`rule a: relu(z: x) => x because ""`, `kernel relu has no input "z"`},
		{`rule a: relu(x) => y because ""`, `"y" is not bound by the pattern`},
		{`rule a: relu(x) => x`, `expected "because", found the end of the text`},
		{`rule a: relu(x) => x because x`, `expected the identity in quotes, found "x"`},
		{`rule a: add(xs...) => xs because ""`, `"xs" is a sequence; expected a value`},
		{`rule a: add(xs..., xs...) => 0 because ""`, `"xs" is bound twice`},
		{`rule a: sub(x, 0) | sub(0, y) => x because ""`, `alternatives bind different names`},
		{`rule a: relu(x) => relu("my:kernel"(a: x)) because ""`, `an inner value of a kernel that is not known needs a type`},
		{`rule a allow: relu(x) => x because ""`, `expected a permission, found ":"`},
		{`rule a allow speed: relu(x) => x because ""`, `expected permissions with commas between`},
		{`rule a: relu(x) => x | because ""`, `"because" is not bound by the pattern`},
		{`rule a: relu(x) => relu(x) like x because ""`, `takes no "like"`},
		{`rule a: relu(x) => relu(abs(x) like x as float7) because ""`, `unknown dtype "float7"`},
		{`rule a: relu(x) => relu(abs(x) like x as 7) because ""`, `expected an element type, found "7"`},
		{`rule a: permute(x){order: p} => x because ""`, `kernel permute has no parameter "order"`},
		{`rule a: permute(x){perm: p} => permute(x){perm: turn(p)} because ""`, `"turn" is not bound`},
		{`rule a: relu(x) => x if big(x) because ""`, `"big" is not bound`},
		{`rule a: relu(x) => x if rank(x) because ""`, `expected a comparison, found "because"`},
		{`rule a: relu(x) => x if rank(y) = 1 because ""`, `"y" is not bound`},
		{`rule a: relu(x) => x because "` + "\n\"", `does not end on its line`},
		{`rule a: relu($) => x`, `unexpected character "$"`},
		{"\n\nrule a: relu(1.2.3)", `3:14: error: "1.2.3" is not a number`},
		{`rule a: "onnx:Gemm"(x) => x because ""`, `need names: PORT: VALUE`},
		{`rule a: relu(x) => x because "" rule a: relu(x) => x because ""`, `rule a is there twice`},
		{`rule a: ` + strings.Repeat("relu(", 100) + "x", `nested deeper than 50`},
		{`rule a: relu(x) => x if ` + strings.Repeat("(", 100), `nested deeper than 50`},
	}
	for _, c := range cases {
		_, err := language.Parse("f.rules", c.text, kernels.Builtin())
		if err == nil || !strings.HasPrefix(err.Error(), "f.rules:") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestTextReadsBack(t *testing.T) {
	for _, text := range []string{
		`add(xs..., -0, ys...) => add(xs..., ys...) if float(result)`,
		`permute(permute(x){perm: p}){perm: q} => permute(x){perm: compose(p, q)}`,
		`relu(y@linear(x, A, b?){activation: "none"}) => linear(x, A, b?){activation: "relu"} if once(y) and not (rank(x) < 2 or rank(x) != rank(y))`,
		`sub(broadcast(a), b) | sub(a, broadcast(b)) => sub(a, b)`,
		`sum(x){dims: d, ..others} => sum(x){..others, dims: d} if integer(x)`,
		`"onnx/17:Gemm"(A: a, B: b) => "tapc:matmul"(a, b)`,
		`exp(relu(x)) => exp(add(neg(x) like x, 1.5e-3 like x) like x)`,
		`exp(x) => cast(exp(cast(x) like x as float64) like x as float64) if dtype(x) = "float32"`,
	} {
		r := rewritetest.Rules(t, "rule a: "+text+` because "it is"`)[0]
		if r.Text != text {
			t.Errorf("got  %s\nwant %s", r.Text, text)
		}
	}
}

func TestForeignKernels(t *testing.T) {
	b := rewritetest.Of(t, "m = onnx/17:Relu(x)\n y = exp(m)")
	rs := rewritetest.Rules(t, `rule import-relu must: "onnx/17:Relu"(a: x) => "tapc:relu"(x) because "it is max(x, 0)"`)
	s := rewritetest.Run(t, b, rs, rewrite.Options{Verify: true})
	if s.Applied != 1 || rs[0].Class != rewrite.Semantic {
		t.Errorf("%+v", s)
	}
	rewritetest.Want(t, b, "m = tapc:relu(x)\n y = exp(m)")
}

func TestGuards(t *testing.T) {
	for guard, holds := range map[string]bool{
		`float(x)`: true, `integer(x)`: false, `real(x) and boolean(x)`: false, `boolean(x) or float(result)`: true,
		`not float(x)`: false, `not (integer(x) or boolean(x))`: true, `dtype(x) = dtype(result)`: true, `dtype(x) = "int8"`: false,
		`rank(x) = 1`: true, `rank(x) >= 1 and rank(x) <= 1`: true, `rank(x) < 1`: false, `rank(x) > 0`: true, `last(x) != 4`: false,
		`shape(x) = shape(result)`: true, `once(m)`: true, `once(x)`: false, `shape(x) < 3`: false,
		`entry(shape(x), 0) = 4`: true, `entry(shape(x), -1) = 4`: true, `entry(shape(x), 1) = 4`: false, `not entry(shape(x), 1) = 4`: true, `shape(x) = [plus(1, 3)]`: true,
		`part(shape(x), 0, 0) = []`: true, `part(shape(x), 0, 2) = []`: false, `cost(result) = 4`: true, `cost(m) = 4`: true, `cost(x) = 0`: true, `shards(m) = 0`: true, `devices(m) = []`: true,
		`integer(x) and float(x) or float(x)`: true, `through(x, m, result)`: true,
	} {
		b := rewritetest.Of(t, "m = relu(x)\n n = neg(m)\n y = exp(n)\n z = neg(x)")
		s := rewritetest.Run(t, b, rewritetest.Rules(t, "rule a: neg(m@relu(x)) => exp(x) if "+guard+` because "a lie"`), rewrite.Options{})
		if s.Applied == 1 != holds {
			t.Errorf("%s: %d applications", guard, s.Applied)
		}
	}
}
