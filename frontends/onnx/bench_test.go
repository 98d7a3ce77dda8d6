package onnx_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
)

// chain is a model of n nodes, each of which reads the one before it.
func chain(n int) []byte {
	var b strings.Builder
	b.WriteString("<ir_version: 8, opset_import: [\"\": 17]>\nchain (float[8, 16] x0, float[16] w) => (float[8, 16] y)\n{\n")
	for i := range n {
		out := fmt.Sprintf("x%d", i+1)
		if i == n-1 {
			out = "y"
		}
		fmt.Fprintf(&b, [...]string{"%[2]s = Tanh(x%[1]d)\n", "%[2]s = Add(x%[1]d, w)\n", "%[2]s = Relu(x%[1]d)\n"}[i%3], i, out)
	}
	b.WriteString("}\n")
	return onnxtest.Must(b.String())
}

func imported(tb testing.TB, model []byte) *ir.Graph {
	m, err := onnx.Read(model, "chain.onnx")
	if err != nil {
		tb.Fatal(err)
	}
	g, _, err := onnx.Import(context.Background(), m, onnx.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// read reads and verifies the text form.
func read(tb testing.TB, data []byte) *ir.Graph {
	g, err := text.Read(data, "chain.tap", dialects.Registry())
	if err != nil {
		tb.Fatal(err)
	}
	if found := tensorops.Environment().Verify(context.Background(), g); len(found) > 0 {
		tb.Fatal(found)
	}
	return g
}

// forms gives a model of n nodes, and the graph it is mapped to as text.
func forms(tb testing.TB, n int) (model, tap []byte) {
	model = chain(n)
	var b bytes.Buffer
	if err := text.Write(&b, imported(tb, model), text.Options{}); err != nil {
		tb.Fatal(err)
	}
	return model, b.Bytes()
}

// BenchmarkImport reads and maps a model, and reads and verifies the same graph as text, in turns: the ratio of both times, and the
// time that each takes for a node.
func BenchmarkImport(b *testing.B) {
	const n = 20000
	model, tap := forms(b, n)
	var ours, theirs time.Duration
	for b.Loop() {
		start := time.Now()
		imported(b, model)
		middle := time.Now()
		read(b, tap)
		ours, theirs = ours+middle.Sub(start), theirs+time.Since(middle)
	}
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(b.N) / n / 1e3 }
	b.ReportMetric(each(ours), "µs/node")
	b.ReportMetric(each(theirs), "µs/text-node")
	b.ReportMetric(each(ours)/each(theirs), "ratio")
}

// TestImportCost holds what an import allocates to the text form of the same graph.
func TestImportCost(t *testing.T) {
	model, tap := forms(t, 2000)
	objects := func(f func()) float64 { return testing.AllocsPerRun(1, f) / 2000 }
	ours, theirs := objects(func() { imported(t, model) }), objects(func() { read(t, tap) })
	t.Logf("%.1f objects a node, %.1f as text", ours, theirs)
	if ours > 40 { // 80 before patterns were tried, and rules applied, in room that is kept
		t.Errorf("an import allocates %.1f objects for each node of a chain, %.1f as text", ours, theirs)
	}
}
