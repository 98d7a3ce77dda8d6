package cpu_test

import (
	"fmt"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/internal/testkit"
)

// imageNet writes a network of images: two convolutions with the given window and attributes, of which the second adds what the
// first gave, one channel by channel, and a pool, with filters that are constant or inputs. The images between them have an order of their own; those at both ends may have their
// channels last.
func imageNet(n, channels, filters, groups, size, window, stride, dilation, before, behind int, last, constant bool) string {
	out := (size+before+behind-(window-1)*dilation-1)/stride + 1
	side := (out+1-3)/2 + 1
	var b strings.Builder
	tensor := func(name string, shape ...int64) {
		list := make([]string, len(shape))
		for i, s := range shape {
			list[i] = fmt.Sprintf("0:%d", s)
		}
		fmt.Fprintf(&b, "%%%s = tensor float32 [%s]\n", name, strings.Join(list, ", "))
	}
	weights := map[string][]int64{"w1": {int64(filters), int64(channels / groups), int64(window), int64(window)}, "b1": {int64(filters)},
		"w2": {int64(filters), int64(filters), 3, 3}, "w3": {int64(filters), 1, 3, 3}}
	tensor("x", int64(n), int64(channels), int64(size), int64(size))
	for _, name := range []string{"w1", "b1", "w2", "w3"} {
		tensor(name, weights[name]...)
		if constant {
			fmt.Fprintf(&b, "operation op:constant {file: \"w\", key: \"%[1]s\"} -> (result: %%%[1]s)\n", name)
		}
	}
	for _, name := range []string{"y", "r", "c", "s", "d"} {
		tensor(name, int64(n), int64(filters), int64(out), int64(out))
	}
	tensor("z", int64(n), int64(filters), int64(side), int64(side))
	fmt.Fprintf(&b, "%%o1 = operation op:conv {dilations: [%d, %d], groups: %d, pads: [%d, %d], pads_end: [%d, %d], strides: [%d, %d]} (X: %%x, W: %%w1, B: %%b1) -> (Y: %%y)\n",
		dilation, dilation, groups, before, before, behind, behind, stride, stride)
	fmt.Fprintf(&b, `%%o2 = operation op:relu (tensor: %%y) -> (result: %%r)
%%o3 = operation op:conv {pads: [1, 1]} (X: %%r, W: %%w2) -> (Y: %%c)
%%o4 = operation op:add (tensors: [%%c, %%r]) -> (result: %%s)
%%o5 = operation op:conv {groups: %d, pads: [1, 1]} (X: %%s, W: %%w3) -> (Y: %%d)
%%o6 = operation op:max_pool {kernel: [3, 3], pads: [1, 1], pads_end: [0, 0], strides: [2, 2]} (X: %%d) -> (Y: %%z)
`, filters)
	if last {
		tensor("xl", int64(n), int64(size), int64(size), int64(channels))
		tensor("zl", int64(n), int64(side), int64(side), int64(filters))
		b.WriteString("%p1 = operation op:permute {perm: [0, 3, 1, 2]} (tensor: %xl) -> (result: %x)\n" +
			"%p2 = operation op:permute {perm: [0, 2, 3, 1]} (tensor: %z) -> (result: %zl)\n")
	}
	return b.String()
}

// TestImages runs networks of images with awkward shapes, with filters that are inputs and constants, four in a program, by turns.
func TestImages(t *testing.T) {
	cc := cputest.Compiler(t)
	runs := testkit.Turns(t, 4)
	for i, c := range [][10]int{
		{1, 3, 16, 1, 13, 3, 1, 1, 1, 1}, {2, 4, 7, 1, 9, 1, 1, 1, 0, 0}, {1, 6, 10, 2, 11, 3, 2, 1, 1, 0}, {1, 5, 33, 1, 14, 5, 2, 1, 2, 2},
		{1, 2, 4, 1, 12, 3, 1, 2, 2, 2}, {1, 8, 8, 8, 10, 3, 1, 1, 1, 1}, {1, 3, 20, 1, 8, 3, 3, 1, 0, 1}, {1, 64, 24, 1, 9, 1, 2, 1, 0, 0},
	} {
		if !runs() {
			continue
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			var graphs []string
			for kind := range 4 {
				constant, last := kind%2 == 1, kind > 1
				t.Logf("c%d: constant=%v, last=%v", kind, constant, last)
				graphs = append(graphs, imageNet(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], last, constant))
			}
			conformance.Graph(t, cputest.Operations(t, cputest.Together(graphs...)), cputest.Device, cputest.RandomConstant, cputest.Strictly(cc)(cputest.RandomConstant))
		})
	}
}

// TestRowMajorConvolutions runs convolutions between row-major images: sums of many constant filters are turned, those of few are of
// windows that are written out.
func TestRowMajorConvolutions(t *testing.T) {
	var forms []formCase
	for _, c := range []struct {
		n, channels, filters, groups, size, window, stride, pad int
		constant, turned                                        bool
	}{
		{1, 16, 32, 1, 20, 3, 1, 1, true, true},
		{2, 20, 30, 1, 9, 3, 1, 0, true, true},
		{1, 5, 52, 1, 17, 3, 2, 1, true, true},
		{1, 32, 64, 2, 7, 3, 1, 1, true, true},
		{1, 24, 400, 1, 9, 3, 1, 1, true, true},
		{1, 16, 18, 1, 20, 3, 1, 1, true, false}, // more than a fifth of the second vector is empty
		{1, 16, 32, 1, 3, 3, 1, 1, true, false},  // few pixels
		{1, 1, 16, 1, 35, 5, 1, 2, true, false},  // one channel
		{1, 16, 32, 1, 20, 3, 1, 1, false, false},
		{1, 16, 32, 1, 20, 1, 1, 0, true, false},
	} {
		out := (c.size+2*c.pad-c.window)/c.stride + 1
		text := fmt.Sprintf(`%%x = tensor float32 [0:%[1]d, 0:%[2]d, 0:%[4]d, 0:%[4]d]
%%w = tensor float32 [0:%[3]d, 0:%[5]d, 0:%[6]d, 0:%[6]d]
%%b = tensor float32 [0:%[3]d]
%%y = tensor float32 [0:%[1]d, 0:%[3]d, 0:%[7]d, 0:%[7]d]
%%o = operation op:conv {groups: %[8]d, pads: [%[9]d, %[9]d], strides: [%[10]d, %[10]d]} (X: %%x, W: %%w, B: %%b) -> (Y: %%y)
`, c.n, c.channels, c.filters, c.size, c.channels/c.groups, c.window, out, c.groups, c.pad, c.stride)
		if c.groups == 1 { // what is added is read along the rows
			image := fmt.Sprintf("tensor float32 [0:%d, 0:%d, 0:%d, 0:%d]\n", c.n, c.filters, out, out)
			text += "%z = " + image + "%r = " + image + "%a = operation op:add (tensors: [%y, %r]) -> (result: %z)\n"
		}
		if c.constant {
			text += "operation op:constant {file: \"w\", key: \"w\"} -> (result: %w)\n"
		}
		forms = append(forms, formOf(fmt.Sprint("sums are turned, of ", c), text, "square[", c.turned))
	}
	executeForms(t, forms, never)
}

// TestSpans runs windows that slide over images, several places of which are computed together where none is at a border.
func TestSpans(t *testing.T) {
	depthwise := func(channels, size, window, stride, pad int, last bool) string {
		out := (size+2*pad-window)/stride + 1
		text := fmt.Sprintf(`%%x = tensor float32 [0:2, 0:%[1]d, 0:%[2]d, 0:%[2]d]
%%w = tensor float32 [0:%[1]d, 0:1, 0:%[3]d, 0:%[3]d]
%%y = tensor float32 [0:2, 0:%[1]d, 0:%[4]d, 0:%[4]d]
%%z = tensor float32 [0:2, 0:%[1]d, 0:%[4]d, 0:%[4]d]
%%o = operation op:conv {groups: %[1]d, pads: [%[5]d, %[5]d], strides: [%[6]d, %[6]d]} (X: %%x, W: %%w) -> (Y: %%y)
%%r = operation op:relu (tensor: %%y) -> (result: %%z)
`, channels, size, window, out, pad, stride)
		if last {
			text += fmt.Sprintf("%%xl = tensor float32 [0:2, 0:%[2]d, 0:%[2]d, 0:%[1]d]\n%%zl = tensor float32 [0:2, 0:%[3]d, 0:%[3]d, 0:%[1]d]\n"+
				"%%p1 = operation op:permute {perm: [0, 3, 1, 2]} (tensor: %%xl) -> (result: %%x)\n"+
				"%%p2 = operation op:permute {perm: [0, 2, 3, 1]} (tensor: %%z) -> (result: %%zl)\n", channels, size, out)
		}
		return text
	}
	pool := func(op, attributes string, size, out int, dtype string) string {
		return fmt.Sprintf("%%x = tensor %[4]s [0:1, 0:20, 0:%[2]d, 0:%[2]d]\n%%y = tensor %[4]s [0:1, 0:20, 0:%[3]d, 0:%[3]d]\n"+
			"%%o = operation op:%[1]s {%[5]s} (X: %%x) -> (Y: %%y)\n", op, size, out, dtype, attributes)
	}
	var forms []formCase
	for _, c := range []struct {
		name, graph string
		together    bool
	}{
		{"rows", depthwise(5, 37, 3, 1, 1, false), true},
		{"rows, few of them", depthwise(5, 3, 3, 1, 1, false), true},
		{"rows, two apart", depthwise(3, 37, 3, 2, 1, false), true},
		{"rows, windows beside each other", depthwise(3, 36, 2, 2, 0, false), false},
		{"channels", depthwise(19, 14, 3, 1, 1, true), true},
		{"channels, no border", depthwise(40, 11, 3, 1, 0, true), true},
		{"channels, a wide border", depthwise(17, 9, 3, 1, 2, true), true},
		{"channels, five by five", depthwise(33, 13, 5, 1, 2, true), true},
		{"channels, two apart", depthwise(16, 13, 3, 2, 1, true), true},
		{"channels, a large window", depthwise(19, 13, 7, 1, 3, true), true},
		{"rows, a large window", depthwise(3, 41, 7, 1, 3, false), true},
		{"maximum of a large window", pool("max_pool", "kernel: [9, 9], pads: [4, 4], strides: [1, 1]", 23, 23, "float32"), true},
		{"channels, too large a window", depthwise(16, 38, 34, 1, 2, true), false},
		{"channels, masked behind", strings.Replace(depthwise(20, 17, 3, 1, 1, true), "op:relu", "op:triu", 1), true},
		{"maximum", pool("max_pool", "kernel: [3, 3], pads: [1, 1], strides: [1, 1]", 23, 23, "float32"), true},
		{"maximum of bytes", pool("max_pool", "kernel: [3, 3], pads: [1, 1], strides: [1, 1]", 70, 70, "uint8"), true},
		{"mean, which counts as well", pool("average_pool", "kernel: [3, 3], pads: [1, 1], strides: [2, 2]", 23, 12, "float32"), false},
		{"sums of float16", pool("average_pool", "kernel: [3, 3], pads: [1, 1], strides: [1, 1]", 23, 23, "float16"), false},
	} {
		forms = append(forms, formOf("places are computed together: "+c.name, c.graph, "int64_t cell", c.together))
	}
	few := func(text string) string { return strings.ReplaceAll(text, "0:37, 0:37]", "0:3, 0:37]") }
	for _, c := range []struct {
		name, graph, form string
		asked             bool
	}{
		{"channels, most rows at a border", depthwise(33, 13, 5, 1, 2, true), "int64_t along", true},
		{"channels, most rows inside", depthwise(40, 14, 3, 1, 1, true), "int64_t inside", true},
		{"channels, all at borders", depthwise(24, 3, 5, 1, 2, true), "int64_t along", false},
		{"rows, few of them and long", few(depthwise(5, 37, 3, 1, 1, false)), "int64_t along", false},
	} {
		forms = append(forms, formOf("guards that are known are not asked: "+c.name, c.graph, c.form, c.asked))
	}
	executeForms(t, forms, never)
}

// TestSeams runs concatenations whose parts are neighbours in a row: code of its own copies each.
func TestSeams(t *testing.T) {
	var forms []formCase
	concat := func(dtype string, rows, axis int, sizes ...int) string {
		var b strings.Builder
		total := 0
		names := make([]string, len(sizes))
		shape := func(n int) string {
			if axis == 1 {
				return fmt.Sprintf("[0:%d, 0:%d]", rows, n)
			}
			return fmt.Sprintf("[0:%d, 0:%d]", n, rows)
		}
		for i, n := range sizes {
			names[i] = fmt.Sprintf("%%t%d", i)
			fmt.Fprintf(&b, "%s = tensor %s %s\n", names[i], dtype, shape(n))
			total += n
		}
		fmt.Fprintf(&b, "%%y = tensor %[1]s %[2]s\n%%z = tensor %[1]s %[2]s\n%%s = tensor %[1]s %[2]s\n", dtype, shape(total))
		fmt.Fprintf(&b, "operation op:concat {axis: %d} (tensors: [%s]) -> (result: %%y)\n", axis, strings.Join(names, ", "))
		b.WriteString("operation op:add (tensors: [%y, %s]) -> (result: %z)\n")
		return b.String()
	}
	images := `%x = tensor float32 [0:1, 0:8, 0:9, 0:9]
%w = tensor float32 [0:19, 0:8, 0:1, 0:1]
%v = tensor float32 [0:21, 0:8, 0:3, 0:3]
%u = tensor float32 [0:16, 0:48, 0:1, 0:1]
%a = tensor float32 [0:1, 0:19, 0:9, 0:9]
%b = tensor float32 [0:1, 0:21, 0:9, 0:9]
%c = tensor float32 [0:1, 0:48, 0:9, 0:9]
%y = tensor float32 [0:1, 0:16, 0:9, 0:9]
operation op:conv {} (X: %x, W: %w) -> (Y: %a)
operation op:conv {pads: [1, 1]} (X: %x, W: %v) -> (Y: %b)
operation op:concat {axis: 1} (tensors: [%a, %x, %b]) -> (result: %c)
operation op:conv {} (X: %c, W: %u) -> (Y: %y)
%d = tensor float32 [0:1, 0:19, 0:9, 0:9]
%e = tensor float32 [0:1, 0:21, 0:9, 0:9]
operation op:neg (tensor: %a) -> (result: %d)
operation op:neg (tensor: %b) -> (result: %e)
` // what others read is not stored in the concatenation
	many := make([]int, 20)
	for i := range many {
		many[i] = i + 1
	}
	for _, c := range []struct {
		name, graph string
		parts       bool
	}{
		{"two", concat("float32", 5, 1, 37, 64), true},
		{"three, an empty one", concat("float32", 3, 1, 16, 0, 50), true},
		{"short ones", concat("float64", 70, 1, 1, 2, 3), true},
		{"one long row", concat("float32", 1, 1, 9000, 17, 30000), true},
		{"bytes", concat("uint8", 7, 1, 100, 29), true},
		{"float16, which has no vectors", concat("float16", 7, 1, 30, 29), false},
		{"rows", concat("float32", 40, 0, 3, 4), false},
		{"so many that they are joined in steps", concat("float32", 40, 1, many...), true},
		{"channels, which others read too", images, true},
	} {
		forms = append(forms, formOf("parts have code of their own: "+c.name, c.graph, "for (int64_t part", c.parts))
	}
	executeForms(t, forms, never)
}

// TestPlaces runs what takes elements at computed places: vectors of them where the place is the same for all lanes.
func TestPlaces(t *testing.T) {
	var forms []formCase
	gather := func(dtype, index string, axis int) string {
		shape := map[int]string{0: "[0:6, 0:37]", 1: "[0:20, 0:6]"}[axis]
		return fmt.Sprintf("%%t = tensor %[1]s [0:20, 0:37]\n%%i = tensor %[2]s [0:6]\n%%y = tensor %[1]s %[3]s\n%%z = tensor %[1]s %[3]s\n"+
			"operation op:gather {axis: %[4]d} (tensor: %%t, indices: %%i) -> (result: %%y)\noperation op:add (tensors: [%%y, %%y]) -> (result: %%z)\n", dtype, index, shape, axis)
	}
	resize := func(op string, out int, last bool) string {
		text := fmt.Sprintf("%%x = tensor float32 [0:2, 0:19, 0:5, 0:7]\n%%y = tensor float32 [0:2, 0:19, 0:%[2]d, 0:11]\noperation op:%[1]s (tensor: %%x) -> (result: %%y)\n", op, out)
		if last {
			text += fmt.Sprintf("%%xl = tensor float32 [0:2, 0:5, 0:7, 0:19]\n%%yl = tensor float32 [0:2, 0:%d, 0:11, 0:19]\n"+
				"operation op:permute {perm: [0, 3, 1, 2]} (tensor: %%xl) -> (result: %%x)\noperation op:permute {perm: [0, 2, 3, 1]} (tensor: %%y) -> (result: %%yl)\n", out)
		}
		return text
	}
	for _, c := range []struct {
		name, graph string
		vectors     bool
	}{
		{"rows of a table", gather("float32", "int64", 0), true},
		{"rows of bytes", gather("uint8", "int32", 0), true},
		{"columns of a table", gather("float32", "int64", 1), false},
		{"linear, channels", resize("resize_linear {shape: [2, 19, 8, 11]}", 8, true), true},
		{"nearest, channels", resize("resize_nearest {shape: [2, 19, 13, 11]}", 13, true), true},
		{"linear, rows", resize("resize_linear {shape: [2, 19, 8, 11]}", 8, false), false},
	} {
		forms = append(forms, formOf("vectors are taken at computed places: "+c.name, c.graph, "const int64_t gather", c.vectors))
	}
	executeForms(t, forms, never)
}

// slicedNet writes a convolution of a part of a wider image, whose channels are innermost or outermost.
func slicedNet(channels, filters, size, from, window int, last bool) string {
	image, view, perm := fmt.Sprintf("0:1, 0:%d, 0:%d, 0:%d", size, size+from+3, channels), fmt.Sprintf("0:1, 0:%d, 0:%d, 0:%d", channels, size, size+from+3), "0, 3, 1, 2"
	if !last {
		image, perm = view, "0, 1, 2, 3"
	}
	return fmt.Sprintf(`%%x = tensor float32 [%s]
%%w = tensor float32 [0:%d, 0:%d, 0:3, 0:%d]
operation op:constant {file: "w", key: "w"} -> (result: %%w)
%%p = tensor float32 [%s]
%%s = tensor float32 [0:1, 0:%d, 0:%d, 0:%d]
%%y = tensor float32 [0:1, 0:%d, 0:%d, 0:%d]
operation op:permute {perm: [%s]} (tensor: %%x) -> (result: %%p)
operation op:slice {starts: [0, 0, 0, %d]} (tensor: %%p) -> (result: %%s)
operation op:conv {pads: [1, %d]} (X: %%s, W: %%w) -> (Y: %%y)
`, image, filters, channels, window, view, channels, size, size, filters, size, size, perm, from, window/2)
}

// TestSlicedImages runs convolutions with pads around a part of an image: what is beyond the part is not read, though it is there.
func TestSlicedImages(t *testing.T) {
	cc := cputest.Compiler(t)
	graphs := []string{slicedNet(8, 8, 21, 2, 7, true), slicedNet(3, 5, 18, 1, 3, true), slicedNet(8, 16, 17, 3, 5, false), slicedNet(6, 20, 19, 4, 9, true)}
	conformance.Graph(t, cputest.Operations(t, cputest.Together(graphs...)), cputest.Device, cputest.RandomConstant, cputest.Strictly(cc)(cputest.RandomConstant))
}
