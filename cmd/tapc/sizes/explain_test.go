package sizes

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/schedule/padding"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/lower"
)

// lowered schedules a model at a size of its dimension n.
func lowered(t *testing.T, model string, n int64) (padding.Schedule, *reference.Evaluator) {
	t.Helper()
	m, err := onnx.Read(onnxtest.Must("<ir_version: 8, opset_import: [\"\": 17]>\n"+model), "model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	g, _, err := onnx.Import(t.Context(), m, onnx.Options{Dims: map[string]int64{"n": n}})
	if err != nil {
		t.Fatal(err)
	}
	apply.Run(g)
	if err := lower.Run(g, kernels.Builtin(), lower.Options{}); err != nil {
		t.Fatal(err)
	}
	loader := &constants.Loader{Dir: t.TempDir()}
	values := &reference.Values{Graph: g, Library: kernels.Builtin(), Stored: loader.Load}
	load := func(c tensorops.Const) (tensorfile.Tensor, error) { return values.Load(context.Background(), c) }
	return padding.Schedule{Graph: g, Load: load}, &reference.Evaluator{Library: kernels.Builtin(), Constants: loader.Load}
}

// spread copies the elements of a tensor into one of another shape at the same coordinates, as far as both have them.
func spread(to, from []byte, toShape, fromShape []int64) {
	if len(toShape) == 0 {
		copy(to, from)
		return
	}
	a, b := len(to)/int(max(1, toShape[0])), len(from)/int(max(1, fromShape[0]))
	for i := range int(min(toShape[0], fromShape[0])) {
		spread(to[i*a:(i+1)*a], from[i*b:(i+1)*b], toShape[1:], fromShape[1:])
	}
}

// evaluate computes the outputs. Inputs are numbers, as far as the smaller has them, and NaN, or 0 for integers, behind.
func evaluate(t *testing.T, s padding.Schedule, ev *reference.Evaluator, small padding.Schedule) map[string]tensorfile.Tensor {
	t.Helper()
	p, err := tensorops.ProgramOf(s.Graph)
	if err != nil {
		t.Fatal(err)
	}
	q, err := tensorops.ProgramOf(small.Graph)
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]tensorfile.Tensor{}
	for i, x := range p.Inputs {
		tensor, other := tensorops.TensorOf(s.Graph, x.Tensor), tensorops.TensorOf(small.Graph, q.Inputs[i].Tensor)
		count, _ := tensor.Range.Size()
		fewer, _ := other.Range.Size()
		data, numbers := make([]byte, count*int64(tensor.Type().Size())), make([]byte, fewer*int64(tensor.Type().Size()))
		for j := 0; j < len(data) && tensor.Type() == scalar.Float32; j += 4 {
			binary.LittleEndian.PutUint32(data[j:], math.Float32bits(float32(math.NaN())))
		}
		for j := 0; j < len(numbers); j += tensor.Type().Size() {
			if tensor.Type() == scalar.Float32 {
				binary.LittleEndian.PutUint32(numbers[j:], math.Float32bits(float32(j*7%23)/4-2))
			} else {
				numbers[j] = byte(j / 8 % 3)
			}
		}
		spread(data, numbers, tensor.Range.Shape(), other.Range.Shape())
		in[x.Name] = tensorfile.Tensor{DType: tensor.Type(), Shape: tensor.Range.Shape(), Data: data}
	}
	out, err := ev.Evaluate(t.Context(), s.Graph, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPadding holds what is proven to the values of the reference evaluator, with NaN in the padding, and what is not to its reason.
func TestPadding(t *testing.T) {
	const great = 6
	for _, c := range []struct{ name, model, why string }{
		{"rows of a product", `net (float[n, 3] x) => (float[n, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> { h = MatMul(x, w) y = Relu(h) }`, ""},
		{"a product that sums them", `net (float[2, n] x, float[n, 2] w) => (float[2, 2] y) { y = MatMul(x, w) }`, "runs over k"},
		{"softmax of rows", `net (float[n, 3] x) => (float[n, 3] y) { y = Softmax<axis = -1>(x) }`, ""},
		{"softmax over them", `net (float[3, n] x) => (float[3, n] y) { y = Softmax<axis = -1>(x) }`, "runs over"},
		{"attention of a batch", `net (float[n, 2, 3] q, float[n, 3, 2] k, float[n, 2, 3] v) => (float[n, 2, 3] y) { s = MatMul(q, k) p = Softmax<axis = -1>(s) y = MatMul(p, v) }`, ""},
		{"means of rows", `net (float[n, 4] x) => (float[n, 1] y) { y = ReduceMean<axes = [1]>(x) }`, ""},
		{"a mean over them", `net (float[n, 4] x) => (float[1, 4] y) { y = ReduceMean<axes = [0]>(x) }`, "runs over"},
		{"the greatest of a row", `net (float[n, 4] x) => (int64[n, 1] y) { y = ArgMax<axis = 1>(x) }`, ""},
		{"the greatest of them", `net (float[n, 4] x) => (int64[1, 4] y) { y = ArgMax<axis = 0>(x) }`, "runs over"},
		{"a convolution of a batch", `net (float[n, 1, 4] x) => (float[n, 1, 4] y) <float[1, 1, 3] w = {1, 2, 3}> { y = Conv<pads = [1, 1]>(x, w) }`, ""},
		{"a convolution along it", `net (float[1, 1, n] x) => (float[1, 1, m] y) <float[1, 1, 3] w = {1, 2, 3}> { y = Conv<pads = [1, 1]>(x, w) }`, "number in it"},
		{"behind a constant", `net (float[n, 2] x) => (float[m, 2] y) <float[1, 2] c = {8, 9}> { y = Concat<axis = 0>(c, x) }`, ""},
		{"before a constant", `net (float[n, 2] x) => (float[m, 2] y) <float[1, 2] c = {8, 9}> { y = Concat<axis = 0>(x, c) }`, "it reaches"},
		{"turned round", `net (float[n] x) => (float[n] y) <int64[1] a = {-1}, int64[1] b = {-100}, int64[1] zero = {0}, int64[1] s = {-1}> { y = Slice(x, a, b, zero, s) }`, "it reaches"},
		{"merged as the outer dimension", `net (float[n, 2, 3] x) => (float[m, 3] y) <int64[2] s = {-1, 3}> { y = Reshape(x, s) }`, "number in it"},
		{"merged as the inner dimension", `net (float[2, n, 3] x) => (float[m, 3] y) <int64[2] s = {-1, 3}> { y = Reshape(x, s) }`, "at the smaller size"},
		{"rows of a table", `net (int64[n] i) => (float[n, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> { y = Gather<axis = 0>(w, i) }`, "number in it"},
		{"its own size", `net (float[n] x) => (float[n] y) { s = Shape(x) f = Cast<to = 1>(s) y = Mul(x, f) }`, "other values"},
	} {
		t.Run(c.name, func(t *testing.T) {
			full, ev := lowered(t, c.model, great)
			proven := 0
			for n := int64(1); n < great; n++ {
				small, evSmall := lowered(t, c.model, n)
				found, err := padding.Compare(full, small)
				if err != nil {
					t.Fatal(err)
				}
				if len(found) > 0 {
					if n > 1 && (c.why == "" || !strings.Contains(fmt.Sprint(found), c.why)) {
						t.Errorf("size %d: %v, expected %q", n, found, c.why)
					}
					continue
				}
				proven++
				got, want := evaluate(t, full, ev, small), evaluate(t, small, evSmall, small)
				for name, w := range want {
					cut := make([]byte, len(w.Data))
					spread(cut, got[name].Data, w.Shape, got[name].Shape)
					if string(cut) != string(w.Data) {
						t.Errorf("size %d: %s is % x, expected % x", n, name, cut, w.Data)
					}
				}
			}
			if c.why == "" && proven < great-2 {
				t.Errorf("%d sizes are proven", proven)
			}
		})
	}
}
