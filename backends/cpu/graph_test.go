package cpu

import (
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/fuse"
	"tensortapestry.org/tapc/passes/layout"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/plan"
	"tensortapestry.org/tapc/passes/tile"
)

// scheduled reads a graph in the text form and takes it to Scheduled Kernels.
func scheduled(t testing.TB, graph string) *ir.Graph {
	t.Helper()
	g := operations(t, graph)
	apply.Run(g)
	if err := lower.Run(g, kernels.Builtin(), lower.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := fuse.Run(g); err != nil {
		t.Fatal(err)
	}
	layout.Run(g)
	tile.Run(g)
	if _, err := plan.Run(g); err != nil {
		t.Fatal(err)
	}
	return g
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
