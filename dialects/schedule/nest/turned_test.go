package nest_test

import (
	"fmt"
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
)

// A convolution whose filters are an input copies its image and turns its sums, as one with constant filters does, where pixels are apart in the image and neighbours in the results. Near misses: a
// row-major image, whose windows are copied vector by vector; more filters than pixels; and an image whose lines are its columns, with which windows would be summed in another order.
func TestTurnedByFiltersOfInputs(t *testing.T) {
	for _, c := range []struct {
		name       string
		perm       string
		image      string
		filters    int
		transposed bool
	}{
		{"channels innermost", "[0, 3, 1, 2]", "[0:1, 0:12, 0:12, 0:16]", 24, true},
		{"near miss: row-major", "[0, 1, 2, 3]", "[0:1, 0:16, 0:12, 0:12]", 24, false},
		{"near miss: many filters", "[0, 3, 1, 2]", "[0:1, 0:12, 0:12, 0:16]", 160, false},
		{"near miss: columns outside lines", "[0, 3, 2, 1]", "[0:1, 0:12, 0:12, 0:16]", 24, false},
	} {
		g := scheduled(t, fmt.Sprintf(`
%%i = tensor float32 %s
%%x = tensor float32 [0:1, 0:16, 0:12, 0:12]
%%w = tensor float32 [0:%d, 0:16, 0:3, 0:3]
%%y = tensor float32 [0:1, 0:%[2]d, 0:12, 0:12]
operation op:permute {perm: %s} (tensor: %%i) -> (result: %%x)
operation op:conv {pads: [1, 1], pads_end: [1, 1]} (X: %%x, W: %%w) -> (Y: %%y)`, c.image, c.filters, c.perm), "", 0)
		found := false
		for n := range g.Nodes() {
			k, ok := n.Body.(*schedule.Kernel)
			if !ok {
				continue
			}
			if p, ok := nest.FindContraction(k, whole.Buffers(g)); ok {
				found = true
				if p.Transposed != c.transposed {
					t.Errorf("%s: sums are turned: %v, expected %v", c.name, p.Transposed, c.transposed)
				}
			}
		}
		if !found {
			t.Errorf("%s: no contraction", c.name)
		}
	}
}
