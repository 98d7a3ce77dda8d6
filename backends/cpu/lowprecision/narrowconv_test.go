package lowprecision_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// narrowConvolution is a convolution of narrow numbers, what follows it, and whether it is read where it stands without a copy.
type narrowConvolution struct {
	name, image, filter  string // element types
	n, channels, filters int64
	groups               int64
	in, window, out      []int64 // spatial extents
	attributes           string
	zeros                string // which zero points there are: x, w, xw
	second               int64  // filters of a 1×1 convolution of the quantized results, or 0
}

// text gives the graph; the filters are constant.
func (c narrowConvolution) text() string {
	var b strings.Builder
	tensor := func(name, typ string, dims ...int64) {
		fmt.Fprintf(&b, "%%%s = tensor %s %s\n", name, typ, cputest.Box(dims...))
	}
	image := append([]int64{c.n, c.channels}, c.in...)
	filter := append([]int64{c.filters, c.channels / c.groups}, c.window...)
	out := append([]int64{c.n, c.filters}, c.out...)
	tensor("x", c.image, image...)
	tensor("w", c.filter, filter...)
	b.WriteString("operation op:constant {file: \"w\", key: \"w\"} -> (result: %w)\n")
	if c.image == "bfloat16" || c.image == "float32" {
		bias := slices.Repeat([]int64{1}, len(out))
		bias[1] = c.filters
		tensor("b", c.image, bias...)
		tensor("p", c.image, out...)
		tensor("y", c.image, out...)
		fmt.Fprintf(&b, "operation op:conv {groups: %d%s} (X: %%x, W: %%w) -> (Y: %%p)\noperation op:add (tensors: [%%p, %%b]) -> (result: %%y)\n", c.groups, c.attributes)
		return b.String()
	}
	more := ""
	if strings.Contains(c.zeros, "x") {
		tensor("zx", c.image)
		more += ", x_zero: %zx"
	}
	if strings.Contains(c.zeros, "w") {
		tensor("zw", c.filter, c.filters)
		more += ", w_zero: %zw"
	}
	tensor("p", "int32", out...)
	fmt.Fprintf(&b, "operation op:conv_integer {groups: %d%s} (X: %%x, W: %%w%s) -> (Y: %%p)\n", c.groups, c.attributes, more)
	if c.second == 0 {
		return b.String()
	}
	tensor("r", "float32", out...)
	tensor("s", "float32")
	tensor("zq", c.image)
	tensor("q", c.image, out...)
	tensor("v", c.filter, append([]int64{c.second, c.filters}, slices.Repeat([]int64{1}, len(c.in))...)...)
	tensor("y", "int32", append([]int64{c.n, c.second}, c.out...)...)
	b.WriteString("operation op:cast {dtype: \"float32\"} (tensor: %p) -> (result: %r)\n" +
		fmt.Sprintf("operation op:quantize {dtype: %q} (tensor: %%r, scale: %%s, zero_point: %%zq) -> (result: %%q)\n", c.image) +
		"operation op:constant {file: \"w\", key: \"w\"} -> (result: %v)\noperation op:conv_integer (X: %q, W: %v, x_zero: %zq) -> (Y: %y)\n")
	return b.String()
}

// pointConvolutions are convolutions by single cells of sums whose lengths stand around those of groups, blocks and the parts in
// which floats are added up; all lengths up to some with TAPC_CONFORMANCE=full.
func pointConvolutions() []narrowConvolution {
	lengths := []int64{31, 65, 66, 67, 129, 191}
	if testkit.Full() {
		lengths = nil
		for n := int64(2); n <= 140; n++ { // a single product is no sum
			lengths = append(lengths, n)
		}
	}
	var out []narrowConvolution
	for _, n := range lengths {
		for _, types := range [][2]string{{"bfloat16", "bfloat16"}, {"uint8", "int8"}, {"int8", "int8"}} {
			out = append(out, narrowConvolution{fmt.Sprintf("%d %s", n, types[0]), types[0], types[1], 1, n, 20, 1, []int64{3, 7}, []int64{1, 1}, []int64{3, 7}, "", "", 0})
		}
	}
	return out
}

// narrowConvolutions are convolutions of odd sizes: of all combinations of signs, with zero points, pads, strides, dilations and
// groups, in one to three dimensions.
func narrowConvolutions() []narrowConvolution {
	return append(pointConvolutions(), []narrowConvolution{
		{"plain", "uint8", "int8", 1, 8, 16, 1, []int64{9, 9}, []int64{3, 3}, []int64{7, 7}, "", "", 0},
		{"pads", "uint8", "int8", 2, 5, 24, 1, []int64{9, 11}, []int64{3, 3}, []int64{9, 11}, ", pads: [1, 1]", "x", 0},
		{"uneven pads", "int8", "int8", 1, 17, 19, 1, []int64{8, 7}, []int64{3, 2}, []int64{9, 8}, ", pads: [2, 0], pads_end: [1, 2]", "x", 0},
		{"strides", "int8", "uint8", 1, 3, 33, 1, []int64{17, 19}, []int64{7, 5}, []int64{9, 9}, ", strides: [2, 2], pads: [3, 1]", "xw", 0},
		{"dilations", "uint8", "uint8", 1, 20, 7, 1, []int64{12, 14}, []int64{3, 3}, []int64{12, 10}, ", dilations: [2, 3], pads: [2, 1]", "xw", 0},
		{"groups", "uint8", "int8", 2, 12, 24, 3, []int64{7, 6}, []int64{3, 3}, []int64{7, 6}, ", pads: [1, 1]", "x", 0},
		{"many columns", "uint8", "int8", 1, 65, 130, 1, []int64{5, 21}, []int64{1, 3}, []int64{5, 21}, ", pads: [0, 1]", "x", 0},
		{"line", "int8", "int8", 3, 6, 20, 1, []int64{50}, []int64{5}, []int64{25}, ", strides: [2], pads: [2]", "w", 0},
		{"cube", "uint8", "int8", 1, 4, 18, 1, []int64{5, 6, 7}, []int64{3, 3, 3}, []int64{5, 6, 7}, ", pads: [1, 1, 1]", "x", 0},
		{"two", "uint8", "int8", 1, 16, 40, 1, []int64{10, 13}, []int64{3, 3}, []int64{10, 13}, ", pads: [1, 1]", "x", 33},
		{"two signed", "int8", "int8", 2, 7, 18, 1, []int64{6, 33}, []int64{3, 3}, []int64{6, 33}, ", pads: [1, 1]", "x", 64},
		{"bfloat16", "bfloat16", "bfloat16", 1, 9, 34, 1, []int64{9, 35}, []int64{3, 3}, []int64{9, 35}, ", pads: [1, 1]", "", 0},
		{"bfloat16 strides", "bfloat16", "bfloat16", 2, 3, 20, 1, []int64{15, 15}, []int64{5, 5}, []int64{8, 8}, ", pads: [2, 2], strides: [2, 2]", "", 0},
	}...)
}

// wholeBytes gives bytes of the whole range of their type: those at its ends first, so that single ones, which are zero points, are extreme.
func wholeBytes(name string, t tensorfile.Tensor) tensorfile.Tensor {
	t.Data = slices.Clone(t.Data)
	state := uint32(1)
	for _, c := range name {
		state = state*31 + uint32(c)
	}
	for i := range t.Data {
		state = state*1664525 + 1013904223
		t.Data[i] = [...]byte{0x80, 0x7f, 0xff, 0, byte(state >> 24), byte(state >> 24), byte(state >> 24)}[(state>>8)%7]
	}
	return t
}

// withSpecials gives numbers of which one is NaN and one is infinite: what is beside the sums that they are in is none.
func withSpecials(t tensorfile.Tensor) tensorfile.Tensor {
	t.Data = slices.Clone(t.Data)
	size := t.DType.Size()
	for at, f := range map[int]float64{1: math.NaN(), 3: math.Inf(1)} {
		scalar.FloatValue(t.DType, f).Encode(t.Data[at*size:])
	}
	return t
}

// wholeConstant is cputest.RandomConstant with bytes of the whole range.
func wholeConstant(c tensorops.Const, t *tensorops.Tensor) (tensorfile.Tensor, error) {
	out, err := cputest.RandomConstant(c, t)
	if err == nil && out.DType.Size() == 1 {
		out = wholeBytes("constant", out)
	}
	return out, err
}

// TestNarrowConvolutions runs convolutions of bytes and of bfloat16 with this processor's instructions, and by turns with every other
// set of them.
func TestNarrowConvolutions(t *testing.T) {
	runs := testkit.Turns(t, 4)
	var all strings.Builder
	for i, c := range narrowConvolutions() {
		s := cputest.Scheduled(t, c.text())
		src, err := cpu.Emit(s, "test", "test")
		if err != nil {
			t.Fatal(err)
		}
		found, standing := 0, false
		for x := range s.Nodes() {
			if k, ok := x.Body.(*schedule.Kernel); ok {
				if n, ok := nest.FindLowPrecision(k, whole.Buffers(s)); ok {
					found++
					standing = standing || n.Unpacked
				}
			}
		}
		if want := 1 + int(min(c.second, 1)); found != want || !standing || strings.Count(src.C, "int choice = ") != want {
			t.Errorf("%s: %d kernels are narrow convolutions, expected %d", c.name, found, want)
		}
		all.WriteString(strings.ReplaceAll(c.text(), "%", fmt.Sprintf("%%c%d_", i)))
	}
	in := cputest.RandomInputs(t, cputest.Operations(t, all.String()))
	for name, x := range in {
		if x.DType.Size() == 1 {
			in[name] = wholeBytes(name, x)
		}
		if x.DType == scalar.BFloat16 && strings.HasSuffix(name, "_x") {
			in[name] = withSpecials(x)
		}
	}
	ev := reference.Evaluator{Library: kernels.Builtin(), Constants: wholeConstant}
	want, err := ev.Evaluate(context.Background(), cputest.Operations(t, all.String()), in)
	if err != nil {
		t.Fatal(err)
	}
	targets := lowPrecisionTargets(t)
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		if name != "x86-64-v4" && !runs() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := targets[name].execute(t, wholeConstant)(t, cputest.Scheduled(t, all.String()), in)
			for output, w := range want {
				if err := reference.CompareWithin(output, w, got[output], reference.Ulps); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// floatConvolution is a convolution of float32 with a bias. If rounded, its operands are rounded to bfloat16 first.
func floatConvolution(rounded bool, filters int64) string {
	g := fmt.Sprintf("%%x = tensor float32 [0:1, 0:20, 0:13, 0:15]\n%%w = tensor float32 [0:%d, 0:20, 0:3, 0:3]\n%%b = tensor float32 [0:%d]\n"+
		"%%y = tensor float32 [0:1, 0:%d, 0:13, 0:15]\noperation op:constant {file: \"w\", key: \"w\"} -> (result: %%w)\n", filters, filters, filters)
	x, w := "%x", "%w"
	if rounded {
		for name, dims := range map[string]string{"x": cputest.Box(1, 20, 13, 15), "w": cputest.Box(filters, 20, 3, 3)} {
			g += fmt.Sprintf("%%%s0 = tensor bfloat16 %s\n%%%s1 = tensor float32 %s\n", name, dims, name, dims)
			g += fmt.Sprintf("operation op:cast {dtype: \"bfloat16\"} (tensor: %%%s) -> (result: %%%s0)\n", name, name)
			g += fmt.Sprintf("operation op:cast {dtype: \"float32\"} (tensor: %%%s0) -> (result: %%%s1)\n", name, name)
		}
		x, w = "%x1", "%w1"
	}
	return g + fmt.Sprintf("operation op:conv {pads: [1, 1]} (X: %s, W: %s, B: %%b) -> (Y: %%y)\n", x, w)
}

// TestLowerConvolutions runs convolutions of float32 whose precision may be bfloat16's: they are those of the rounded numbers. Few filters
// do not pay for it.
func TestLowerConvolutions(t *testing.T) {
	if isNarrow(lowered(t, floatConvolution(false, 8))) {
		t.Error("a convolution with few filters is rounded")
	}
	g := lowered(t, floatConvolution(false, 36))
	if !isNarrow(g) {
		t.Fatal("it is not carried out as a convolution of bfloat16")
	}
	rounded := cputest.Operations(t, floatConvolution(true, 36))
	in := cputest.RandomInputs(t, rounded)
	want := cputest.Evaluate(t, rounded, in)
	for _, name := range []string{"x86-64-v4", "x86-64-v4 matrix", "x86-64-v3", "x86-64", "aarch64", "aarch64 plain"} {
		t.Run(name, func(t *testing.T) {
			got := lowPrecisionTargets(t)[name].execute(t, cputest.RandomConstant)(t, g, in)
			if err := reference.CompareWithin("y", want["y"], got["y"], 4*reference.Ulps); err != nil {
				t.Error(err)
			}
		})
	}
}
