package onnx_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
	"tensortapestry.org/tapc/ir"
)

// encoder writes a transformer encoder layer as exporters do at a version: LayerNormalization is an operator from 17 on, Gelu from 20 on,
// and the axes of ReduceMean are an input from 18 on.
func encoder(opset int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<ir_version: 8, opset_import: ["": %d]>
encoder (float[B, 4, 8] x) => (float[B, 4, 8] y)
<float[8, 8] q = {%s}, float[8, 8] k = {%s}, float[8, 8] v = {%s}, float[8, 8] o = {%s}, float[8, 16] w1 = {%s}, float[16, 8] w2 = {%s},
 float[16] c1 = {%s}, float[8] c2 = {%s}, float[8] g = {%s}, float[8] h = {%s}, int64[4] split = {0, 0, 2, 4}, int64[3] join = {0, 0, 8},
 float scale = {0.5}, float root2 = {1.4142135}, float one = {1.0}, float half = {0.5}, float two = {2.0}, float eps = {0.00001}, int64[1] last = {-1}>
{
`, opset, ramp(64), ramp(64), ramp(64), ramp(64), ramp(128), ramp(128), ramp(16), ramp(8), ramp(8), ramp(8))
	heads := func(w, perm string) {
		fmt.Fprintf(&b, "%s1 = MatMul(x, %s) %s2 = Reshape(%s1, split) %s3 = Transpose<perm = %s>(%s2)\n", w, w, w, w, w, perm, w)
	}
	heads("q", "[0, 2, 1, 3]")
	heads("k", "[0, 2, 3, 1]")
	heads("v", "[0, 2, 1, 3]")
	b.WriteString(`s1 = MatMul(q3, k3) s2 = Mul(s1, scale) s3 = Softmax<axis = -1>(s2) a1 = MatMul(s3, v3)
a2 = Transpose<perm = [0, 2, 1, 3]>(a1) a3 = Reshape(a2, join) a4 = MatMul(a3, o) r1 = Add(x, a4)
`)
	norm := func(in, out string) {
		mean := func(x, y string) string {
			if opset >= 18 {
				return fmt.Sprintf("%s = ReduceMean(%s, last)", y, x)
			}
			return fmt.Sprintf("%s = ReduceMean<axes = [-1]>(%s)", y, x)
		}
		if opset >= 17 {
			fmt.Fprintf(&b, "%s = LayerNormalization<axis = -1, epsilon = 0.00001>(%s, g, h)\n", out, in)
			return
		}
		fmt.Fprintf(&b, "%s %sd = Sub(%s, %sm) %sp = Pow(%sd, two) %s %se = Add(%sv, eps) %ss = Sqrt(%se) %sn = Div(%sd, %ss) %st = Mul(%sn, g) %s = Add(%st, h)\n",
			mean(in, in+"m"), in, in, in, in, in, mean(in+"p", in+"v"), in, in, in, in, in, in, in, in, in, out, in)
	}
	norm("r1", "l1")
	b.WriteString("f1 = MatMul(l1, w1) f2 = Add(f1, c1)\n")
	if opset >= 20 {
		b.WriteString("f3 = Gelu(f2)\n")
	} else {
		b.WriteString("e1 = Div(f2, root2) e2 = Erf(e1) e3 = Add(e2, one) e4 = Mul(f2, e3) f3 = Mul(e4, half)\n")
	}
	b.WriteString("f4 = MatMul(f3, w2) f5 = Add(f4, c2) r2 = Add(l1, f5)\n")
	norm("r2", "y")
	b.WriteString("}\n")
	return b.String()
}

func ramp(n int) string {
	var words []string
	for i := range n {
		words = append(words, fmt.Sprintf("%.3f", float64(i%7)/10-0.3))
	}
	return strings.Join(words, ", ")
}

// shapeOf writes what a graph computes without names: every operation with its parameters and the types and shapes of its ports.
func shapeOf(g *ir.Graph) string {
	var b strings.Builder
	for n := range g.Nodes() {
		op, ok := n.Body.(*tensorops.Operation)
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "%s %v", op.Kernel, op.Params)
		for _, ports := range []ir.Ports{op.Inputs, op.Outputs} {
			for _, p := range ports.Each() {
				for _, s := range p.Sel {
					t := tensorops.TensorOf(g, s.Tensor)
					fmt.Fprintf(&b, " %s: %s%v", p.Name, t.DType, t.Range.Shape())
				}
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestAnEncoderIsTheSameAtEveryVersion(t *testing.T) {
	want := ""
	for _, opset := range []int{13, 17, 18, 20, 22} {
		m, err := onnx.Read(onnxtest.Must(encoder(opset)), "encoder.onnx")
		if err != nil {
			t.Fatal(err)
		}
		g, _, err := onnx.Import(context.Background(), m, onnx.Options{Dims: map[string]int64{"B": 2}})
		if err != nil {
			t.Fatal(err)
		}
		got := shapeOf(g)
		if want == "" {
			want = got
			for _, kernel := range []string{"op:layer_norm", "op:gelu", "op:softmax"} {
				if !strings.Contains(got, kernel) {
					t.Errorf("the encoder of version %d has no %s:\n%s", opset, kernel, got)
				}
			}
		}
		if got != want {
			t.Errorf("version %d:\n%s\nversion 13:\n%s", opset, got, want)
		}
	}
}
