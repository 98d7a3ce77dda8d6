package precompute_test

import (
	"fmt"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/precompute"
)

// TestGrowth broadcasts a row of 4 floats to n rows and lets an operation read them.
func TestGrowth(t *testing.T) {
	const product, sum = "matmul (X: %x, Y: %b) -> (Z: %y)", "sum {dims: [0]} (tensor: %b) -> (result: %y)"
	for _, c := range []struct {
		rows   int64
		reader string
		marked int
	}{
		{8, product, 1},
		{8, "neg (tensor: %b) -> (result: %y)", 2}, // all of it is constant
		{100, "add (tensors: [%x, %b]) -> (result: %y)", 1},
		{1000, "add (tensors: [%x, %b]) -> (result: %y)", 0}, // more than a few KiB, and cheap to make on the way
		{1000, product, 1},
		{4 << 20, product, 1},
		{5 << 20, product, 0}, // more than maxGrowth
		{4 << 20, sum, 2},     // not cheap, but no larger than that on its way
		{5 << 20, sum, 0},
		{1000, sum + "\n%z = tensor float32 [0:1000, 0:4]\noperation op:add (tensors: [%x, %b]) -> (result: %z)", 2}, // what is carried out reads it, and the program
	} {
		y := fmt.Sprintf("[0:%d, 0:4]", c.rows)
		x := y
		if c.reader == product {
			x, y = fmt.Sprintf("[0:2, 0:%d]", c.rows), "[0:2, 0:4]"
		} else if strings.HasPrefix(c.reader, sum) {
			y = "[0:4]"
		}
		source := fmt.Sprintf("tapc 1\n%%r = tensor float32 [0:4]\n%%b = tensor float32 [0:%d, 0:4]\n%%x = tensor float32 %s\n%%y = tensor float32 %s\n"+
			"operation op:constant {value: [1, 2, 3, 4]} -> (result: %%r)\noperation op:broadcast {shape: [%d, 4]} (tensor: %%r) -> (result: %%b)\noperation op:%s\n", c.rows, x, y, c.rows, c.reader)
		g, err := text.Read([]byte(source), "growth.tap", dialects.Registry())
		if err != nil {
			t.Fatal(err)
		}
		n, err := precompute.Run(g, kernels.Builtin())
		marks := 0
		for n := range g.Nodes() {
			if tensorops.IsPrecomputed(n) {
				marks++
			}
		}
		if err != nil || n != c.marked || marks != n {
			t.Errorf("%d rows, %s: %d operations are marked, %d counted (%v), want %d", c.rows, c.reader, marks, n, err, c.marked)
		}
	}
}

// TestWeightsStayPacked unpacks constant weights for a product: the program does that itself.
func TestWeightsStayPacked(t *testing.T) {
	for operation, marked := range map[string]int{
		"unpack_weights {bits: 8} (W: %w, scale: %s) -> (Y: %u)": 0,
		"cast {dtype: \"float32\"} (tensor: %w) -> (result: %u)": 1, // followed by a reshape
	} {
		shape := "[0:2, 0:3, 0:1, 0:1]"
		if marked > 0 {
			shape = "[0:2, 0:3, 0:1]"
		}
		source := "tapc 1\n%w = tensor uint8 [0:2, 0:3, 0:1]\n%s = tensor float32 [0:2, 0:3]\n%u = tensor float32 " + shape + "\n%r = tensor float32 [0:2, 0:3]\n" +
			"%x = tensor float32 [0:9, 0:2]\n%y = tensor float32 [0:9, 0:3]\noperation op:constant {value: [[[1], [2], [3]], [[4], [5], [6]]]} -> (result: %w)\n" +
			"operation op:constant {value: [[1, 2, 3], [1, 2, 3]]} -> (result: %s)\noperation op:" + operation + "\noperation op:reshape {shape: [2, 3]} (tensor: %u) -> (result: %r)\n" +
			"operation op:matmul (X: %x, Y: %r) -> (Z: %y)\n"
		g, err := text.Read([]byte(source), "packed.tap", dialects.Registry())
		if err != nil {
			t.Fatal(err)
		}
		if n, err := precompute.Run(g, kernels.Builtin()); err != nil || (n > 0) != (marked > 0) {
			t.Errorf("%s: %d operations are marked (%v)", operation, n, err)
		}
	}
}
