package lowprecision_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/precompute"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/simplify"
	"tensortapestry.org/tapc/passes/standard"
)

// quantizedCase is a product of dequantized bytes that is quantized again. Where its scale is that of the products, times a few, many
// results lie between two steps: as far beside the middle as the floats were rounded.
type quantizedCase struct {
	name           string
	x, w, y        string  // element types
	xs, ws, ys     float64 // scales
	graph          string  // of %xf and %wf, float32, which makes %p
	dimX, dimW, at string  // shapes of x, w and the result
	bias           string  // its shape; "" for none
	eachScale      int     // rows of w that have a scale of their own; 0 is one for all
	behind         string  // "", relu, or add
}

func (c quantizedCase) text() string {
	var b strings.Builder
	number := func(name, typ string, value any) {
		fmt.Fprintf(&b, "%%%s = tensor %s []\noperation op:constant {value: %v} -> (result: %%%s)\n", name, typ, value, name)
	}
	number("xs", "float32", c.xs)
	number("ys", "float32", c.ys)
	zero := func(name, typ string, unsigned, signed int) {
		number(name, typ, map[string]int{"uint8": unsigned, "int8": signed}[typ])
	}
	zero("xz", c.x, 100, -7)
	zero("yz", c.y, 128, 3)
	fmt.Fprintf(&b, "%%x = tensor %s %s\n%%xf = tensor float32 %s\n%%w = tensor %s %s\n%%wf = tensor float32 %s\n", c.x, c.dimX, c.dimX, c.w, c.dimW, c.dimW)
	if c.eachScale > 0 {
		var list []string
		for i := range c.eachScale {
			list = append(list, fmt.Sprintf("[%v]", c.ws*(1+float64(i%5)/8)))
		}
		value := strings.Join(list, ", ")
		if strings.Count(c.dimW, ":") == 4 {
			value = strings.NewReplacer("[", "[[[", "]", "]]]").Replace(value)
			fmt.Fprintf(&b, "%%ws = tensor float32 [0:%d, 0:1, 0:1, 0:1]\n", c.eachScale)
		} else {
			fmt.Fprintf(&b, "%%ws = tensor float32 [0:%d, 0:1]\n", c.eachScale)
		}
		fmt.Fprintf(&b, "operation op:constant {value: [%s]} -> (result: %%ws)\n", value)
	} else {
		number("ws", "float32", c.ws)
	}
	b.WriteString("operation op:constant {file: \"w\", key: \"w\"} -> (result: %w)\n")
	b.WriteString("operation op:dequantize (scale: %xs, tensor: %x, zero_point: %xz) -> (result: %xf)\noperation op:dequantize (scale: %ws, tensor: %w) -> (result: %wf)\n")
	if c.bias != "" {
		fmt.Fprintf(&b, "%%b = tensor float32 %s\noperation op:constant {file: \"w\", key: \"w\"} -> (result: %%b)\n", c.bias)
	}
	fmt.Fprintf(&b, "%%p = tensor float32 %s\n%s\n", c.at, c.graph)
	from := "%p"
	if c.behind == "relu" {
		fmt.Fprintf(&b, "%%r = tensor float32 %s\noperation op:relu (tensor: %%p) -> (result: %%r)\n", c.at)
		from = "%r"
	}
	fmt.Fprintf(&b, "%%q = tensor %s %s\noperation op:quantize {dtype: %q} (scale: %%ys, tensor: %s, zero_point: %%yz) -> (result: %%q)\n", c.y, c.at, c.y, from)
	if c.behind == "add" { // of what is quantized with itself moved: the result may take the place of %o
		fmt.Fprintf(&b, "%%o = tensor float32 %s\n%%qf = tensor float32 %s\n%%s = tensor float32 %s\n%%z = tensor %s %s\n", c.at, c.at, c.at, c.y, c.at)
		b.WriteString("operation op:dequantize (scale: %ys, tensor: %q, zero_point: %yz) -> (result: %qf)\noperation op:add (tensors: [%qf, %o]) -> (result: %s)\n")
		fmt.Fprintf(&b, "operation op:quantize {dtype: %q} (scale: %%ys, tensor: %%s, zero_point: %%yz) -> (result: %%z)\n", c.y)
	}
	return b.String()
}

// quantizedCases are convolutions and products with scales of two kinds: with results all over, and with most of them between two steps.
func quantizedCases() []quantizedCase {
	const conv = "operation op:conv {pads: [1, 1]} (B: %b, W: %wf, X: %xf) -> (Y: %p)"
	list := []quantizedCase{
		{name: "conv", x: "uint8", w: "int8", y: "uint8", xs: 0.0173, ws: 0.0031, ys: 0.37, graph: conv,
			dimX: cputest.Box(1, 20, 13, 15), dimW: cputest.Box(24, 20, 3, 3), at: cputest.Box(1, 24, 13, 15), bias: cputest.Box(24), eachScale: 24},
		{name: "signed, strides", x: "int8", w: "int8", y: "int8", xs: 0.0173, ws: 0.0031, ys: 0.37, graph: strings.Replace(conv, "pads: [1, 1]", "pads: [1, 1], strides: [2, 2]", 1),
			dimX: cputest.Box(2, 16, 9, 16), dimW: cputest.Box(20, 16, 3, 3), at: cputest.Box(2, 20, 5, 8), bias: cputest.Box(20)},
		{name: "point, relu", x: "uint8", w: "int8", y: "int8", xs: 0.0173, ws: 0.0031, ys: 0.21, graph: "operation op:conv (B: %b, W: %wf, X: %xf) -> (Y: %p)",
			dimX: cputest.Box(1, 37, 7, 9), dimW: cputest.Box(33, 37, 1, 1), at: cputest.Box(1, 33, 7, 9), bias: cputest.Box(33), eachScale: 33, behind: "relu"},
		{name: "groups", x: "uint8", w: "uint8", y: "uint8", xs: 0.0173, ws: 0.0031, ys: 0.37, graph: "operation op:conv {groups: 2, pads: [1, 1]} (W: %wf, X: %xf) -> (Y: %p)",
			dimX: cputest.Box(1, 12, 8, 8), dimW: cputest.Box(16, 6, 3, 3), at: cputest.Box(1, 16, 8, 8)},
		{name: "residual", x: "uint8", w: "int8", y: "uint8", xs: 0.0173, ws: 0.0031, ys: 0.37, graph: conv,
			dimX: cputest.Box(1, 16, 12, 12), dimW: cputest.Box(16, 16, 3, 3), at: cputest.Box(1, 16, 12, 12), bias: cputest.Box(16), eachScale: 16, behind: "add"},
		{name: "gemm", x: "uint8", w: "int8", y: "uint8", xs: 0.0173, ws: 0.0031, ys: 0.37, graph: "operation op:gemm {transpose_b: true} (A: %xf, B: %wf, C: %b) -> (Y: %p)",
			dimX: cputest.Box(19, 75), dimW: cputest.Box(21, 75), at: cputest.Box(19, 21), bias: cputest.Box(21), eachScale: 21},
		{name: "matmul", x: "int8", w: "int8", y: "uint8", xs: 0.0173, ws: 0.0031, ys: 0.37, graph: "operation op:matmul (X: %xf, Y: %wf) -> (Z: %p)",
			dimX: cputest.Box(2, 11, 130), dimW: cputest.Box(130, 40), at: cputest.Box(2, 11, 40)},
	}
	for _, c := range list {
		c.name += ", between steps"
		c.graph, c.bias, c.eachScale = strings.NewReplacer("B: %b, ", "", ", C: %b", "").Replace(c.graph), "", 0
		c.ys = float64(float32(c.xs) * float32(c.ws) * 256) // half a step for each 128
		list = append(list, c)
	}
	return list
}

// TestQuantizedProducts runs products of dequantized bytes that are quantized again: sums of integers give the bytes of the definition,
// the exact sum of the dequantized numbers rounded once, on every processor. Without what computes some anew they do not.
func TestQuantizedProducts(t *testing.T) {
	runs := testkit.Turns(t, 4)
	var texts []string
	for _, c := range quantizedCases() {
		texts = append(texts, c.text())
	}
	all := cputest.Together(texts...)
	load := func(c tensorops.Const, x *tensorops.Tensor) (tensorfile.Tensor, error) {
		if c.Value != nil {
			return constants.Inline(*c.Value, x)
		}
		return wholeConstant(c, x)
	}
	in := cputest.RandomInputs(t, cputest.Operations(t, all))
	for name, x := range in {
		if x.DType.Size() == 1 {
			in[name] = wholeBytes(name, x)
		}
	}
	ev := reference.Evaluator{Library: kernels.Builtin(), Constants: load}
	want, err := ev.Evaluate(t.Context(), cputest.Operations(t, all), in)
	if err != nil {
		t.Fatal(err)
	}
	prepared := func(repair bool, allow permission.Set) *ir.Graph {
		g := cputest.Operations(t, all)
		if _, err := simplify.RunEarly(t.Context(), g, repair, rewrite.Options{Library: kernels.Builtin(), Load: load, Allow: allow, Verify: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := precompute.Run(g, kernels.Builtin()); err != nil {
			t.Fatal(err)
		}
		return g
	}
	same, err := ev.Evaluate(t.Context(), prepared(true, 0), in)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := ev.Evaluate(t.Context(), prepared(false, permission.IntegerSums), in)
	if err != nil {
		t.Fatal(err)
	}
	differ := 0
	for i, c := range quantizedCases() {
		name := fmt.Sprintf("c%d_%s", i, map[bool]string{true: "z", false: "q"}[c.behind == "add"])
		if !bytes.Equal(want[name].Data, same[name].Data) {
			t.Errorf("%s: the rewritten graph has other values", c.name)
		}
		for at, b := range want[name].Data {
			if sums[name].Data[at] != b {
				differ++
			}
		}
	}
	if differ < 3 {
		t.Errorf("sums of integers alone give other bytes in %d places, so this shows little", differ)
	}
	targets := lowPrecisionTargets(t)
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		if name != "x86-64-v4" && !runs() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := prepared(true, 0)
			if err := standard.Run(g, kernels.Builtin(), lower.Options{}, cpu.Choosers()...); err != nil {
				t.Fatal(err)
			}
			found := 0
			for n := range g.Nodes() {
				if k, ok := n.Body.(*schedule.Kernel); ok {
					if f, ok := nest.FindLowPrecision(k, whole.Buffers(g)); ok && f.Seldom != nil {
						found++
					}
				}
			}
			if found != len(texts) {
				t.Errorf("%d kernels compute some results anew, expected %d", found, len(texts))
			}
			values := reference.Values{Graph: g, Library: kernels.Builtin(), Stored: load}
			got := targets[name].execute(t, func(c tensorops.Const, _ *tensorops.Tensor) (tensorfile.Tensor, error) {
				return values.Load(context.Background(), c)
			})(t, g, in)
			for output, w := range want {
				if !bytes.Equal(w.Data, got[output].Data) {
					t.Errorf("%s: other bytes than the reference evaluator's", output)
				}
			}
		})
	}
}
