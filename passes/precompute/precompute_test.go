package precompute_test

import (
	"fmt"
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
	} {
		y := fmt.Sprintf("[0:%d, 0:4]", c.rows)
		x := y
		if c.reader == product {
			x, y = fmt.Sprintf("[0:2, 0:%d]", c.rows), "[0:2, 0:4]"
		} else if c.reader == sum {
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
