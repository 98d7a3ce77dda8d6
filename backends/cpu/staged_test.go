package cpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	consts "tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// typed is tensorText for an element type.
func typed(d, name string, shape ...int) string {
	return strings.Replace(tensorText(name, shape...), "float32", d, 1)
}

// stagedGraphs are graphs whose folds have a form.
func stagedGraphs() map[string]string {
	out := map[string]string{}
	for _, d := range []string{"float32", "float64", "int32", "float16", "complex64"} {
		for _, p := range []string{"axis: 0", "axis: 1", "axis: 1, exclusive: true", "axis: 0, reverse: true", "axis: 1, exclusive: true, reverse: true"} {
			out["cumsum "+d+" "+p] = typed(d, "x", 37, 70) + typed(d, "y", 37, 70) + fmt.Sprintf("%%s = operation op:cumsum {%s} (tensor: %%x) -> (result: %%y)\n", p)
		}
	}
	for _, kernel := range []string{"cummax", "cummin"} {
		out[kernel] = tensorText("x", 9, 70) + tensorText("y", 9, 70) + "%s = operation op:" + kernel + " {axis: 1, reverse: true} (tensor: %x) -> (result: %y)\n"
	}
	out["compress"] = tensorText("x", 5, 40) + typed("boolean", "c", 40) + tensorText("y", 5, 13) +
		"%s = operation op:compress {axis: 1, kept: 13} (condition: %c, tensor: %x) -> (result: %y)\n"
	for _, d := range []string{"float32", "int8", "float16"} {
		for _, descending := range []string{"true", "false"} {
			out["sort "+d+" "+descending] = typed(d, "x", 6, 41, 3) + typed(d, "y", 6, 41, 3) + typed("int64", "i", 6, 41, 3) +
				fmt.Sprintf("%%s = operation op:sort {axis: 1, descending: %s} (tensor: %%x) -> (indices: %%i, values: %%y)\n", descending)
		}
		out["top_k "+d] = typed(d, "x", 7, 50) + typed(d, "y", 7, 5) + typed("int64", "i", 7, 5) +
			"%s = operation op:top_k {k: 5} (tensor: %x) -> (indices: %i, values: %y)\n"
	}
	for _, kernel := range []string{"scatter", "scatter_add", "scatter_mul", "scatter_max", "scatter_min"} {
		for _, d := range []string{"float32", "float64", "int16"} {
			out[kernel+" "+d] = typed(d, "x", 4, 11, 6) + typed("int64", "k", 4, 30, 6) + typed(d, "u", 4, 30, 6) + typed(d, "y", 4, 11, 6) +
				fmt.Sprintf("%%s = operation op:%s {axis: 1} (indices: %%k, tensor: %%x, updates: %%u) -> (result: %%y)\n", kernel)
		}
	}
	for _, kernel := range []string{"scatter_nd", "scatter_nd_add", "scatter_nd_mul", "scatter_nd_max"} {
		out[kernel] = tensorText("x", 6, 5, 9) + typed("int32", "k", 40, 2) + tensorText("u", 40, 9) + tensorText("y", 6, 5, 9) +
			fmt.Sprintf("%%s = operation op:%s {depth: 2} (indices: %%k, tensor: %%x, updates: %%u) -> (result: %%y)\n", kernel)
	}
	return out
}

// Folds that have a form are computed in it, and give what the reference gives.
func TestStaged(t *testing.T) {
	cc, err := FindCompiler()
	if err != nil {
		t.Skip(err)
	}
	for name, graph := range stagedGraphs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, err := Emit(scheduled(t, graph), "test", "test")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(src.C, "static void k0_point(") {
				t.Errorf("a fold was not recognised:\n%s", src.C)
			}
			load := (&consts.Loader{}).Load
			conformance.Graph(t, operations(t, graph), schedule.CPU, load, executeWith(cc)(load))
		})
	}
}

// Folds that have no form are left to what else there is.
func TestNotStaged(t *testing.T) {
	for name, graph := range map[string]string{
		"matmul": tensorText("x", 9, 70) + tensorText("w", 70, 8) + tensorText("y", 9, 8) + "%s = operation op:matmul (X: %x, W: %w) -> (Z: %y)\n",
		"reduce": tensorText("x", 9, 70) + tensorText("y", 9) + "%s = operation op:reduce_max {dims: [1]} (tensor: %x) -> (result: %y)\n",
	} {
		src, err := Emit(scheduled(t, graph), "test", "test")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(src.C, "k0_point(") {
			t.Errorf("%s:\n%s", name, src.C)
		}
	}
}

// Long dimensions are possible: a time that grew with the square of their length would be days.
func TestLongDimensions(t *testing.T) {
	cc, err := FindCompiler()
	if err != nil {
		t.Skip(err)
	}
	const n = 1 << 18
	graph := tensorText("x", n) + tensorText("y", n) + typed("int64", "i", n) + tensorText("z", n) + typed("int32", "k", n) + typed("float32", "h", 100) +
		tensorText("q", 100) + `%s = operation op:sort (tensor: %x) -> (indices: %i, values: %y)
%c = operation op:cumsum (tensor: %x) -> (result: %z)
%a = operation op:scatter_add (indices: %k, tensor: %h, updates: %x) -> (result: %q)
`
	rnd := rand.New(rand.NewPCG(1, 2))
	x, k := make([]byte, 4*n), make([]byte, 4*n)
	sums, values := make([]float64, n), make([]float32, n)
	var buckets [100]float64
	total := 0.0
	for i := range n {
		v, b := float32(rnd.NormFloat64()), rnd.IntN(100)
		binary.LittleEndian.PutUint32(x[4*i:], math.Float32bits(v))
		binary.LittleEndian.PutUint32(k[4*i:], uint32(b))
		total += float64(v)
		sums[i], values[i] = total, v
		buckets[b] += float64(v)
	}
	slices.Sort(values)
	got := executeFor(cc, "native", nil)(nil)(t, scheduled(t, graph), map[string]tensorfile.Tensor{
		"x": {DType: scalar.Float32, Shape: []int64{n}, Data: x}, "k": {DType: scalar.Int32, Shape: []int64{n}, Data: k},
		"h": {DType: scalar.Float32, Shape: []int64{100}, Data: make([]byte, 400)}})
	at := func(name string, i int) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(got[name].Data[4*i:]))
	}
	for i := range n {
		if at("y", i) != values[i] || at("z", i) != float32(sums[i]) {
			t.Fatalf("%d: expected %v and %v, found %v and %v", i, values[i], float32(sums[i]), at("y", i), at("z", i))
		}
	}
	for i, b := range buckets {
		if at("q", i) != float32(b) {
			t.Errorf("%d: expected %v, found %v", i, float32(b), at("q", i))
		}
	}
}
