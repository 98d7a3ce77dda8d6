package cputest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu"
	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/feed"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/standard"
)

// Device is how conformance takes graphs to Scheduled Kernels.
var Device = conformance.Device{Type: schedule.CPU, Choosers: cpu.Choosers()}

// Scheduled reads a graph in the text form and takes it to Scheduled Kernels.
func Scheduled(t testing.TB, graph string) *ir.Graph {
	t.Helper()
	return Allowing(t, graph, 0)
}

// Allowing is Scheduled with permissions.
func Allowing(t testing.TB, graph string, allow permission.Set) *ir.Graph {
	t.Helper()
	g := Operations(t, graph)
	if err := standard.Run(g, kernels.Builtin(), lower.Options{Allow: allow}, cpu.Choosers()...); err != nil {
		t.Fatal(err)
	}
	return g
}

// Together gives one graph of several that have nothing to do with each other: its program is compiled and linked once. The i-th one's
// names begin with c and i.
func Together(graphs ...string) string {
	var b strings.Builder
	for i, g := range graphs {
		b.WriteString(strings.ReplaceAll(g, "%", fmt.Sprintf("%%c%d_", i)))
	}
	return b.String()
}

// Operations reads a graph in the text form.
func Operations(t testing.TB, graph string) *ir.Graph {
	t.Helper()
	g, err := text.Read([]byte("tapc 1\n"+graph), "test.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// RandomInputs gives values of all inputs of a graph.
func RandomInputs(t *testing.T, g *ir.Graph) map[string]tensorfile.Tensor {
	t.Helper()
	in, err := feed.Inputs(g, func(_ int, x tensorops.Named, d scalar.DType, n int64) []byte { return rt.Random(d, 1, x.Name, n) })
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// Evaluate gives the reference evaluator's values of a graph.
func Evaluate(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
	t.Helper()
	ev := reference.Evaluator{Library: kernels.Builtin(), Constants: RandomConstant}
	out, err := ev.Evaluate(context.Background(), g, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// RandomConstant gives every constant random values.
func RandomConstant(_ tensorops.Const, t *tensorops.Tensor) (tensorfile.Tensor, error) {
	n, err := t.Range.Size()
	return tensorfile.Tensor{DType: t.Type(), Shape: t.Range.Shape(), Data: rt.Random(t.Type(), 3, "constant", n)}, err
}

// Box writes a range that starts at 0.
func Box(dims ...int64) string {
	words := make([]string, len(dims))
	for i, d := range dims {
		words[i] = fmt.Sprintf("0:%d", d)
	}
	return "[" + strings.Join(words, ", ") + "]"
}
