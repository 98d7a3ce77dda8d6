package cpu

import (
	"fmt"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/standard"
)

// onCPU is how conformance takes graphs to Scheduled Kernels.
var onCPU = conformance.Device{Type: schedule.CPU, Choosers: Choosers()}

// scheduled reads a graph in the text form and takes it to Scheduled Kernels.
func scheduled(t testing.TB, graph string) *ir.Graph {
	t.Helper()
	return allowing(t, graph, 0)
}

// allowing is scheduled with permissions.
func allowing(t testing.TB, graph string, allow permission.Set) *ir.Graph {
	t.Helper()
	g := operations(t, graph)
	if err := standard.Run(g, kernels.Builtin(), lower.Options{Allow: allow}, Choosers()...); err != nil {
		t.Fatal(err)
	}
	return g
}

// together gives one graph of several that have nothing to do with each other: its program is compiled and linked once. The i-th one's
// names begin with c and i.
func together(graphs ...string) string {
	var b strings.Builder
	for i, g := range graphs {
		b.WriteString(strings.ReplaceAll(g, "%", fmt.Sprintf("%%c%d_", i)))
	}
	return b.String()
}

// operations reads a graph in the text form.
func operations(t testing.TB, graph string) *ir.Graph {
	t.Helper()
	g, err := text.Read([]byte("tapc 1\n"+graph), "test.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	return g
}
