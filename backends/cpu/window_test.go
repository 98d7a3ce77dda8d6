package cpu_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/internal/testkit"
)

// convolution is a graph of one convolution with a bias and a ReLU behind it.
type convolution struct {
	image, filters []int64 // n, channels, spatial; filters, channels of a group, spatial
	strides, pads  int64
	dilations      int64
	groups         int64
	fixed          bool // the filters are constant
}

func (c convolution) graph() string {
	shape := func(dims ...int64) string {
		words := make([]string, len(dims))
		for i, d := range dims {
			words[i] = fmt.Sprintf("0:%d", d)
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	out := []int64{c.image[0], c.filters[0]}
	for i, h := range c.image[2:] {
		out = append(out, (h+2*c.pads-c.dilations*(c.filters[2+i]-1)-1)/c.strides+1)
	}
	list := func(x int64) string {
		return "[" + strings.Trim(strings.Repeat(fmt.Sprintf("%d, ", x), len(c.image)-2), ", ") + "]"
	}
	source := ""
	if c.fixed {
		source = "operation op:constant {file: \"w\", key: \"w\"} -> (result: %w)\n"
	}
	return fmt.Sprintf(`%%x = tensor float32 %s
%%w = tensor float32 %s
%%b = tensor float32 %s
%%y = tensor float32 %s
%%z = tensor float32 %s
operation op:conv {dilations: %s, groups: %d, pads: %s, strides: %s} (X: %%x, W: %%w, B: %%b) -> (Y: %%y)
operation op:relu (tensor: %%y) -> (result: %%z)
%s`, shape(c.image...), shape(c.filters...), shape(c.filters[0]), shape(out...), shape(out...), list(c.dilations), c.groups, list(c.pads), list(c.strides), source)
}

// TestConvolutions runs convolutions whose windows reach over the border, jump, have holes, and share or split channels, in sizes
// around those of vectors and panels, several in a program. Constant filters run on this processor; filters that are inputs, and AVX2,
// now and then.
func TestConvolutions(t *testing.T) {
	graphs := map[bool][]string{}
	for _, c := range []struct {
		name   string
		window bool // it is carried out as a product with a window or a padded copy
		convolution
	}{
		{"same", true, convolution{[]int64{1, 5, 9, 9}, []int64{7, 5, 3, 3}, 1, 1, 1, 1, false}},
		{"same, whole vectors", true, convolution{[]int64{1, 4, 16, 16}, []int64{8, 4, 3, 3}, 1, 1, 1, 1, false}},
		{"no pads", true, convolution{[]int64{1, 3, 11, 13}, []int64{6, 3, 3, 2}, 1, 0, 1, 1, false}},
		{"strides", true, convolution{[]int64{2, 3, 17, 15}, []int64{5, 3, 3, 3}, 2, 1, 1, 1, false}},
		{"strides of 3 and wide pads", true, convolution{[]int64{1, 3, 10, 10}, []int64{5, 3, 5, 5}, 3, 4, 1, 1, false}},
		{"dilations", true, convolution{[]int64{1, 3, 14, 14}, []int64{4, 3, 3, 3}, 1, 2, 2, 1, false}},
		{"one dimension", true, convolution{[]int64{3, 6, 50}, []int64{9, 6, 5}, 1, 2, 1, 1, false}},
		{"three dimensions", true, convolution{[]int64{1, 2, 5, 6, 7}, []int64{4, 2, 3, 3, 3}, 1, 1, 1, 1, false}},
		{"groups", true, convolution{[]int64{2, 8, 9, 9}, []int64{12, 4, 3, 3}, 1, 1, 1, 2, false}},
		{"a long fold", true, convolution{[]int64{1, 200, 6, 6}, []int64{40, 200, 3, 3}, 1, 1, 1, 1, false}},
		{"points", false, convolution{[]int64{2, 24, 7, 7}, []int64{20, 24, 1, 1}, 1, 0, 1, 1, false}},
		{"points with strides", false, convolution{[]int64{1, 24, 8, 8}, []int64{20, 24, 1, 1}, 2, 0, 1, 1, false}},
		{"depthwise", false, convolution{[]int64{1, 6, 9, 9}, []int64{6, 1, 3, 3}, 1, 1, 1, 6, false}},
		{"one channel and one tap", true, convolution{[]int64{1, 1, 9}, []int64{8, 1, 1}, 2, 1, 1, 1, false}},
		{"one pixel", false, convolution{[]int64{1, 3, 1, 1}, []int64{5, 3, 3, 3}, 1, 1, 1, 1, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := cputest.Scheduled(t, c.graph())
			window, n := false, 0
			for x := range s.Nodes() {
				if k, ok := x.Body.(*schedule.Kernel); ok {
					found, ok := nest.FindContraction(k, whole.Buffers(s))
					n++
					window = window || ok && (found.Window != nil || found.Padded != nil)
				}
			}
			if n > 1 && c.groups == 1 {
				t.Errorf("%d kernels, expected the convolution and what is behind it as one", n)
			}
			if window != c.window {
				t.Errorf("a product with a window: %v, expected %v", window, c.window)
			}
		})
		for _, c.fixed = range []bool{false, true} {
			graphs[c.fixed] = append(graphs[c.fixed], c.graph())
		}
	}
	cc := cputest.Compiler(t)
	fed, elsewhere := testkit.Turns(t, 2), testkit.Turns(t, 5)
	for _, fixed := range []bool{false, true} {
		i := 0
		for some := range slices.Chunk(graphs[fixed], 5) {
			var ways []conformance.Execute
			if native := fed(); native || fixed {
				ways = append(ways, cputest.Executes(cc, "native", cputest.Strict)(cputest.RandomConstant))
			}
			if elsewhere() {
				ways = append(ways, cputest.Executes(cc, "x86-64-v3", cputest.Strict)(cputest.RandomConstant))
			}
			t.Run(fmt.Sprintf("case %d and on, constant=%v", i, fixed), func(t *testing.T) {
				t.Parallel()
				conformance.Graph(t, cputest.Operations(t, cputest.Together(some...)), cputest.Device, cputest.RandomConstant, ways...)
			})
			i += len(some)
		}
	}
}
