package cpu_test

import (
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/permission"
)

// TestForeignSums: a schedule that asks for another order of a sum than its operation has is refused, unless its device allows that.
func TestForeignSums(t *testing.T) {
	const product = `%x = tensor float32 [0:5, 0:300]
%w = tensor float32 [0:300, 0:7]
%y = tensor float32 [0:5, 0:7]
operation op:matmul (X: %x, Y: %w) -> (Z: %y)
`
	const sum = `%x = tensor float32 [0:5, 0:300]
%y = tensor float32 [0:5]
operation op:sum {dims: [1]} (tensor: %x) -> (result: %y)
`
	for _, c := range []struct {
		name, graph string
		sums        int64
		allow       permission.Set
		refused     string
	}{
		{"its own", product, 64, 0, ""},
		{"none", product, 0, 0, ""},
		{"other", product, 32, 0, "partial sums of 64 values"},
		{"whole", product, 300, permission.FastMath &^ permission.Reassociate, "partial sums of 64 values"},
		{"other, allowed", product, 32, permission.Reassociate, ""},
		{"of no product", sum, 64, 0, "partial sums of 0 values"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := cputest.Allowing(t, c.graph, c.allow)
			for n := range g.Nodes() {
				if k, ok := n.Body.(*schedule.Kernel); ok {
					k.Sums = c.sums
				}
			}
			_, err := cpu.Emit(g, "test", "")
			switch {
			case c.refused == "" && err != nil:
				t.Error(err)
			case c.refused != "" && (err == nil || !strings.Contains(err.Error(), "TAP0912") || !strings.Contains(err.Error(), "expected "+c.refused)):
				t.Errorf("got %v, expected TAP0912 and %s", err, c.refused)
			}
		})
	}
}
