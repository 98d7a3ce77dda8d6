package main

import (
	"bytes"
	"context"
	"runtime"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/tools/gengraph/gen"
)

// cost is what compiling a graph takes, in numbers that do not depend on the machine.
type cost struct{ bytes, objects, code float64 }

// compile takes a graph of n operations from its text to C, verified after each pass.
func compile(t *testing.T, shape string, n int) cost {
	t.Helper()
	var b bytes.Buffer
	if err := gen.WriteText(&b, shape, n); err != nil {
		t.Fatal(err)
	}
	table := standard.Table(kernels.Builtin(), cpu.Choosers()...)
	steps := table.Standard(pipeline.Request{Last: pipeline.ScheduledKernels, Simplify: shape != "shards"})
	p, err := pipeline.ParsePipeline(steps, table)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g, err := text.Read(b.Bytes(), "graph.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	result, err := new(pipeline.Runner).Run(context.Background(), p, g)
	if err != nil {
		t.Fatal(err)
	}
	src, err := cpu.Emit(result.Graph, "program", "test")
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return cost{float64(after.TotalAlloc - before.TotalAlloc), float64(after.Mallocs - before.Mallocs), float64(len(src.C))}
}

// TestGrowth compiles graphs of n and of 4n operations of every shape: what it takes grows at most with them, and not with
// their square, which would be 16 times.
func TestGrowth(t *testing.T) {
	const n, margin = 300, 1.25
	compile(t, "elementwise", 10) // what is made once
	for _, shape := range gen.TextShapes() {
		small, large := compile(t, shape, n), compile(t, shape, 4*n)
		for what, x := range map[string]float64{"bytes allocated": large.bytes / small.bytes, "objects": large.objects / small.objects, "bytes of C": large.code / small.code} {
			if x > 4*margin {
				t.Errorf("%s: %s grow by %.2f from %d to %d operations", shape, what, x, n, 4*n)
			}
		}
		t.Logf("%-12s bytes ×%.2f objects ×%.2f C ×%.2f; %.0f KB, %.0f objects, %.0f bytes of C an operation", shape, large.bytes/small.bytes,
			large.objects/small.objects, large.code/small.code, large.bytes/4/n/1e3, large.objects/4/n, large.code/4/n)
	}
}
