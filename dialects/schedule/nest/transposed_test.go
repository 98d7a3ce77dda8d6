package nest_test

import (
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
)

// Lanes follow what is written where that or what is read goes across them, and rows along which most of what is read has neighbours fill a line of a cache. Near misses: elements near enough for
// a line to have several, nothing that is read across, no neighbours along any dimension, and a reduction.
func TestTransposed(t *testing.T) {
	for _, c := range []struct {
		name, graph string
		lane        int64 // its extent
		axis        int64 // the extent of the rows' dimension, 0 if there is none
		rows        int64
	}{
		{"transpose", `
%x = tensor float32 [0:40, 0:100]
%y = tensor float32 [0:100, 0:40]
operation op:permute {perm: [1, 0]} (tensor: %x) -> (result: %y)`, 40, 100, 16},
		{"of few rows", `
%z = tensor float32 [0:40, 0:1000]
%s = tensor float32 [0:40, 0:7]
%y = tensor float32 [0:7, 0:40]
operation op:slice {starts: [0, 0], lengths: [40, 7]} (tensor: %z) -> (result: %s)
operation op:permute {perm: [1, 0]} (tensor: %s) -> (result: %y)`, 40, 7, 7},
		{"of doubles", `
%x = tensor float64 [0:40, 0:100]
%y = tensor float64 [0:100, 0:40]
operation op:permute {perm: [1, 0]} (tensor: %x) -> (result: %y)`, 40, 100, 8},
		{"images to rows of channels", `
%x = tensor float32 [0:2, 0:32, 0:9, 0:9]
%y = tensor float32 [0:2, 0:9, 0:9, 0:32]
operation op:permute {perm: [0, 2, 3, 1]} (tensor: %x) -> (result: %y)`, 32, 81, 16},
		{"with a sum beside it", `
%x = tensor float32 [0:40, 0:100]
%b = tensor float32 [0:100, 0:40]
%t = tensor float32 [0:100, 0:40]
%y = tensor float32 [0:100, 0:40]
operation op:permute {perm: [1, 0]} (tensor: %x) -> (result: %t)
operation op:add (tensors: [%t, %b]) -> (result: %y)`, 40, 100, 16},
		{"near miss: several in a line", `
%x = tensor float32 [0:1000, 0:5]
%y = tensor float32 [0:5, 0:1000]
operation op:permute {perm: [1, 0]} (tensor: %x) -> (result: %y)`, 1000, 0, 0},
		{"near miss: neighbours as they are", `
%x = tensor float32 [0:40, 0:12, 0:64]
%y = tensor float32 [0:12, 0:40, 0:64]
operation op:permute {perm: [1, 0, 2]} (tensor: %x) -> (result: %y)`, 64, 0, 0},
		{"near miss: neighbours along nothing", `
%x = tensor float32 [0:40, 0:100, 0:2]
%s = tensor float32 [0:40, 0:100, 0:1]
%y = tensor float32 [0:100, 0:40, 0:1]
operation op:slice {starts: [0, 0, 0], lengths: [40, 100, 1]} (tensor: %x) -> (result: %s)
operation op:permute {perm: [1, 0, 2]} (tensor: %s) -> (result: %y)`, 40, 0, 0},
		{"near miss: sums of columns", `
%x = tensor float32 [0:40, 0:100]
%y = tensor float32 [0:100]
operation op:sum {dims: [0]} (tensor: %x) -> (result: %y)`, 100, 0, 0},
	} {
		g := scheduled(t, c.graph, "", 0)
		buffers, found := whole.Buffers(g), 0
		for n := range g.Nodes() {
			k, ok := n.Body.(*schedule.Kernel)
			if !ok {
				continue
			}
			found++
			r, ok := nest.FindRows(k, buffers)
			if !ok || r.Lane.Extent != c.lane {
				t.Errorf("%s: lanes are %+v, expected %d", c.name, r.Lane, c.lane)
				continue
			}
			axis, rows := r.Transposed(k)
			extent := int64(0)
			if axis >= 0 {
				extent = r.Outer[axis].Extent
			}
			if extent != c.axis || rows != c.rows {
				t.Errorf("%s: %d rows of %d, expected %d of %d", c.name, rows, extent, c.rows, c.axis)
			}
		}
		if found != 1 {
			t.Errorf("%s: %d kernels, expected 1", c.name, found)
		}
	}
}
