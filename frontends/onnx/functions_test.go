package onnx_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/feed"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/inline"
)

const functionsHead = "<ir_version: 8, opset_import: [\"\": 17, \"my\": 1]>\n"

// bodies are functions that the graphs below call.
const bodies = `
<domain: "my", opset_import: ["": 17]> scale <k> (a) => (b) { c = Constant<value_float = @k>() b = Mul(a, c) }
<domain: "my", opset_import: ["": 17, "my": 1]> layer <k> (x, w, b) => (y, s) { m = MatMul(x, w) t = Add(m, b) s = my.scale<k = @k>(t) y = Relu(s) }
<domain: "my", opset_import: ["": 17]> shaped (x, n) => (y) { y = Reshape(x, n) }
<domain: "my", opset_import: ["": 17]> swap (p, q) => (a, b) { a = Identity(q) b = Sub(p, q) }
<domain: "my", opset_import: ["": 17]> bounded (x, low, high) => (y) { y = Clip(x, low, high) }
<domain: "my", opset_import: ["": 17]> pick (x, i) => (y) { y = Gather(x, i) }
<domain: "my", opset_import: ["": 17]> turned (x, w) => (y) { t = Transpose(w) y = MatMul(x, t) }`

// A model's functions are definitions, and compute what their operations do: calls with the same types, shapes and attributes share one, what is known when compiling is in it, and a function
// that holds what no definition may keeps its operations.
func TestFunctionsAreDefinitions(t *testing.T) {
	const weights = "<float[2, 2] w = {1, 2, -3, 4}, float[2, 2] v = {0.5, -2, 1, 1}, float[2] b = {1, -1}, int64[2] n = {4, 1}, float low = {-0.5}, float high = {0.5}>"
	for _, c := range []struct{ name, body, want string }{
		{"one shape", `g (float[2, 2] x) => (float[2, 2] y) ` + weights + ` { h, u = my.layer<k = 2.0>(x, w, b) y, s = my.layer<k = 2.0>(h, v, b) }`, "my/layer my/scale"},
		{"attributes", `g (float[2, 2] x) => (float[2, 2] y, float[2, 2] s) ` + weights + ` { h, u = my.layer<k = 2.0>(x, w, b) y, s = my.layer<k = 3.0>(h, v, b) }`, "my/layer my/layer_2 my/scale my/scale_2"},
		{"shapes", `g (float[2, 2] x, float[5] z) => (float[2, 2] y, float[5] t) { y = my.scale<k = 2.0>(x) t = my.scale<k = 2.0>(z) }`, "my/scale my/scale_2"},
		{"known shape", `g (float[2, 2] x) => (float[4, 1] y) ` + weights + ` { y = my.shaped(x, n) }`, "my/shaped"},
		{"passed on", `g (float[2, 2] x) => (float[2, 2] y) ` + weights + ` { a, d = my.swap(x, w) y = Add(a, d) }`, "my/swap"},
		{"passed out", `g (float[2, 2] x, float[2, 2] z) => (float[2, 2] a, float[2, 2] d) { a, d = my.swap(x, z) }`, "my/swap"},
		{"twice the same", `g (float[2, 2] x, float[2, 2] z) => (float[2, 2] y) { a, d = my.swap(x, x) e, f = my.swap(x, z) y = Add(d, f) }`, "my/swap"},
		{"left out", `g (float[2, 2] x) => (float[2, 2] y) ` + weights + ` { l = my.bounded(x, low, ) y = my.bounded(l, , high) }`, "my/bounded my/bounded_2"},
		{"a constant is made", `g (float[2, 2] x) => (float[2, 2] y) ` + weights + ` { h = my.turned(x, w) y = my.turned(h, v) }`, "my/turned"},
		{"checks", `g (float[4] x, int64[2] i) => (float[2] y) { y = my.pick(x, i) }`, ""},
		{"nothing is left", `g (float[2, 2] x) => (float[2, 2] y) ` + weights + ` { k = my.turned(w, v) y = Add(x, k) }`, "my/turned"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := onnx.Read(onnxtest.Must(functionsHead+c.body+bodies), "model.onnx")
			if err != nil {
				t.Fatal(err)
			}
			g, _, err := onnx.Import(context.Background(), m, onnx.Options{Functions: true})
			if err != nil {
				t.Fatal(err)
			}
			plain, _, err := onnx.Import(context.Background(), m, onnx.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := results(t, plain)
			if diff := cmp.Diff(want, results(t, g)); diff != "" {
				t.Error(diff)
			}
			if bad := append(tensorops.Environment().Verify(context.Background(), g), composite.CheckOperations(g, kernels.Builtin(), false)...); len(bad) > 0 {
				t.Error(bad)
			}
			var names []string
			for name := range definition.Of(g) {
				names = append(names, name)
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("expected the definitions %q, found %q", c.want, got)
			}
			if _, err := inline.Run(g, inline.Options{Library: kernels.Builtin()}); err != nil || countKernels(g)["op:copy"] > 1 {
				t.Errorf("%v, %v", err, countKernels(g))
			}
			if diff := cmp.Diff(want, results(t, g)); diff != "" {
				t.Errorf("inlined: %s", diff)
			}
		})
	}
}

// results computes a graph on inputs that count.
func results(t *testing.T, g *ir.Graph) map[string]tensorfile.Tensor {
	t.Helper()
	in, err := feed.Inputs(g, func(_ int, _ tensorops.Named, d scalar.DType, n int64) []byte {
		return feed.Elements(d, n, func(i int64) scalar.Value {
			if d.IsFloat() {
				return scalar.FloatValue(d, float64(i%5)*1.5-2)
			}
			return scalar.IntValue(d, i%3)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	ev := reference.Evaluator{Library: kernels.Builtin(), Constants: (&constants.Loader{}).Load}
	out, err := ev.Evaluate(context.Background(), g, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func countKernels(g *ir.Graph) map[string]int {
	out := map[string]int{}
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok {
			out[op.Kernel]++
		}
	}
	return out
}
