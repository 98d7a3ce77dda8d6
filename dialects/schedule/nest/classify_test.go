package nest_test

import (
	"slices"
	"strings"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/shard"
	"tensortapestry.org/tapc/passes/standard"
)

// shapes are operations with the forms that they have, and a cut of their index.
var shapes = []struct{ name, graph, cut, forms string }{
	{"product", `
%x = tensor float32 [0:64, 0:32]
%w = tensor float32 [0:32, 0:64]
%y = tensor float32 [0:64, 0:64]
operation op:matmul (X: %x, Y: %w) -> (Z: %y)`, "64x1", "low-precision contraction, contraction, rows"},
	{"product, cell by cell", `
%x = tensor float64 [0:64, 0:32]
%w = tensor float64 [0:32, 0:64]
%y = tensor float64 [0:64, 0:64]
operation op:matmul (X: %x, Y: %w) -> (Z: %y)`, "64x64", "contraction, rows"},
	{"product of packed weights", `
%x = tensor float32 [0:32, 0:64]
%w = tensor uint8 [0:40, 0:4, 0:8]
%s = tensor float32 [0:40, 0:4]
%y = tensor float32 [0:32, 0:40]
operation op:matmul_packed {bits: 4} (X: %x, W: %w, scale: %s) -> (Y: %y)`, "32x4", "contraction, rows"},
	{"product of packed weights, few rows", `
%x = tensor float32 [0:23, 0:64]
%w = tensor uint8 [0:40, 0:4, 0:8]
%s = tensor float32 [0:40, 0:4]
%y = tensor float32 [0:23, 0:40]
operation op:matmul_packed {bits: 4} (X: %x, W: %w, scale: %s) -> (Y: %y)`, "1x4", "rows"},
	{"convolution", `
%x = tensor float32 [0:1, 0:16, 0:20, 0:20]
%w = tensor float32 [0:32, 0:16, 0:3, 0:3]
%y = tensor float32 [0:1, 0:32, 0:20, 0:20]
operation op:constant {file: "w.npz", key: "w"} -> (result: %w)
operation op:conv {pads: [1, 1]} (X: %x, W: %w) -> (Y: %y)`, "1x1x2x1x1", "low-precision contraction, transformed convolution, contraction, rows"},
	{"softmax", `
%x = tensor float32 [0:64, 0:100]
%y = tensor float32 [0:64, 0:100]
operation op:softmax (tensor: %x) -> (result: %y)`, "64", "rows"},
	{"running sum", `
%x = tensor float32 [0:64, 0:100]
%y = tensor float32 [0:64, 0:100]
operation op:cumsum {axis: 1} (tensor: %x) -> (result: %y)`, "8x1", "scans, rows"},
	{"attention", `
%q = tensor float32 [0:1, 0:2, 0:64, 0:32]
%k = tensor float32 [0:1, 0:2, 0:64, 0:32]
%v = tensor float32 [0:1, 0:2, 0:64, 0:32]
%y = tensor float32 [0:1, 0:2, 0:64, 0:32]
operation op:attention (Q: %q, K: %k, V: %v) -> (Y: %y)`, "1x2x1x1", "back-to-back contractions"},
}

// TestClassify: what a kernel is does not depend on how much of the operation it computes, nor on what it is allowed.
func TestClassify(t *testing.T) {
	for _, c := range shapes {
		for _, cut := range []string{"", c.cut} {
			for _, allow := range []permission.Set{0, permission.FastMath} {
				for _, got := range classified(t, c.graph, cut, allow) {
					if got != c.forms {
						t.Errorf("%s, cut %q, allowed %q: found %q, expected %q", c.name, cut, allow, got, c.forms)
					}
				}
			}
		}
	}
}

// classified gives the forms that kernels of a graph have.
func classified(t *testing.T, graph, cut string, allow permission.Set) []string {
	t.Helper()
	g := scheduled(t, graph, cut, allow)
	buffers := whole.Buffers(g)
	var out []string
	for n := range g.Nodes() {
		if k, ok := n.Body.(*schedule.Kernel); ok {
			var names []string
			for _, f := range nest.Classify(k, buffers) {
				names = append(names, f.Name())
			}
			if text := strings.Join(names, ", "); !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// scheduled takes a graph to Scheduled Kernels, its operation cut.
func scheduled(t *testing.T, graph, cut string, allow permission.Set) *ir.Graph {
	t.Helper()
	g, err := text.Read([]byte("tapc 1"+graph+"\n"), "test.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	if cut != "" {
		cutAll(t, g, cut)
	}
	if err := standard.Run(g, kernels.Builtin(), lower.Options{Allow: allow}); err != nil {
		t.Fatal(err)
	}
	return g
}

// cutAll cuts the index of an operation.
func cutAll(t *testing.T, g *ir.Graph, cut string) {
	t.Helper()
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && op.Kernel != "op:constant" {
			r, err := planfile.ParseCut(op.Kernel + "=" + cut)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := shard.Run(g, kernels.Builtin(), []shard.Request{r}); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}
