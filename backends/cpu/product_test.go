package cpu

import (
	"fmt"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/dialects/schedule"
)

// TestProducts multiplies matrices of sizes at which their right operand is read in each of the ways that there are, and looks at
// what is particular to each in the code.
func TestProducts(t *testing.T) {
	cc, err := FindCompiler()
	if err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		name           string
		batch, m, k, n int
		turned         bool // the right operand's columns are not neighbours, or of several the left one's fold
		has, hasNot    string
	}{
		{"in place", 1, 3, 40, 70, false, "", "_panel("},
		{"in place, parts of the fold in groups", 1, 2, 700, 150, false, "totals", "_panel("},
		{"in place, few parts", 1, 2, 300, 150, false, "open", "totals"},
		{"panels of a piece", 1, 30, 20, 600, false, "panels = ", "from - f"},
		{"panels of a piece, block by block", 1, 25, 800, 130, false, "from - f", "_pack("},
		{"panels that pieces share", 1, 300, 300, 20, false, "_pack(", "from - f"},
		{"panels turned", 1, 26, 133, 50, true, "turned", "totals"},
		{"panels turned, block by block", 1, 26, 801, 50, true, "turned", "totals"},
		{"batch", 5, 29, 70, 33, false, "_panel(", "totals"},
		{"rows in panels", 2, 61, 133, 70, true, "_rows(", "totals"},
		{"rows in panels, block by block", 3, 37, 801, 130, true, "_rows(", "totals"},
		{"rows for few columns", 2, 61, 133, 50, true, "", "_rows("},
		{"few rows", 3, 11, 133, 70, true, "", "_rows("},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := products(c.batch, c.m, c.k, c.n, c.turned)
			src, err := Emit(scheduled(t, g), "test", "test")
			if err != nil {
				t.Fatal(err)
			}
			if text := src.C; !strings.Contains(text, c.has) || strings.Contains(text, c.hasNot) {
				t.Errorf("expected %q and no %q in the code:\n%s", c.has, c.hasNot, text)
			}
			for _, cpu := range []string{"x86-64-v3", "native"} {
				conformance.Graph(t, operations(t, g), schedule.CPU, randomConstant, executeFor(cc, cpu, strict)(randomConstant))
			}
		})
	}
}

// products is a product of batches of matrices, of two whose right one is stored by columns, or of batches whose left ones are.
func products(batch, m, k, n int, turned bool) string {
	if turned && batch > 1 {
		return fmt.Sprintf("%%x = tensor float32 [0:%d, 0:%d, 0:%d]\n%%t = tensor float32 [0:%d, 0:%d, 0:%d]\n%%w = tensor float32 [0:%d, 0:%d, 0:%d]\n%%y = tensor float32 [0:%d, 0:%d, 0:%d]\n"+
			"operation op:permute {perm: [0, 2, 1]} (tensor: %%x) -> (result: %%t)\noperation op:matmul (X: %%t, Y: %%w) -> (Z: %%y)\n", batch, k, m, batch, m, k, batch, k, n, batch, m, n)
	}
	if turned {
		return fmt.Sprintf("%%x = tensor float32 [0:%d, 0:%d]\n%%w = tensor float32 [0:%d, 0:%d]\n%%y = tensor float32 [0:%d, 0:%d]\n"+
			"operation op:gemm {transpose_b: true} (A: %%x, B: %%w) -> (Y: %%y)\n", m, k, n, k, m, n)
	}
	return fmt.Sprintf("%%x = tensor float32 [0:%d, 0:%d, 0:%d]\n%%w = tensor float32 [0:%d, 0:%d, 0:%d]\n%%y = tensor float32 [0:%d, 0:%d, 0:%d]\n"+
		"operation op:matmul (X: %%x, Y: %%w) -> (Z: %%y)\n", batch, m, k, batch, k, n, batch, m, n)
}
