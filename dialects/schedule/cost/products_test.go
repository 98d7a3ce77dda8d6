package cost_test

import (
	"math"
	"testing"

	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// TestSteps holds the times of register tiles of packed columns to those that Zen 3 took, for each vector of sums beside tiles of 6 × 2 (docs/performance.md, "Steps of register tiles").
func TestSteps(t *testing.T) {
	const rows, vectors = 240, 48
	core := cost.Core{Registers: 16, Load: cost.Near}
	full := core.Steps(rows, vectors, 6, 2)
	for _, c := range []struct {
		rows, vectors int64
		times         float64
	}{{5, 2, 1.01}, {4, 2, 1.00}, {3, 2, 1.19}, {2, 2, 1.60}, {12, 1, 1.27}, {10, 1, 1.26}, {8, 1, 1.32}, {6, 1, 1.42}, {2, 4, 1.12}} {
		if got := core.Steps(rows, vectors, c.rows, c.vectors) / full; math.Abs(math.Log(got/c.times)) > math.Log(1.09) {
			t.Errorf("tiles of %d × %d take %.2f of the time of 6 × 2, measured %.2f", c.rows, c.vectors, got, c.times)
		}
	}
	unpacked := core
	unpacked.Unpacked = true
	if a, b := unpacked.Steps(rows, vectors, 2, 2), core.Steps(rows, vectors, 2, 2); a <= b {
		t.Errorf("few sums take %v with unpacked columns, %v with packed ones", a, b)
	}
	if a, b := core.Steps(8, vectors, 2, 2)/8, core.Steps(rows, vectors, 2, 2)/rows; a <= b {
		t.Errorf("a row of 8 takes %v, one of %d %v: few rows use columns seldom", a, rows, b)
	}
}

// TestShortSums holds the times of products of short sums in tiles of 4 × 2 to those that Zen 3 took, for that in tiles of 6 × 2 (docs/performance.md, "Ends of register tiles").
func TestShortSums(t *testing.T) {
	for _, c := range []struct {
		rows, cols, sum int64
		times           float64
	}{{64, 64, 16, 0.83}, {64, 64, 32, 0.91}, {64, 64, 64, 0.967}, {512, 512, 24, 0.91}, {100, 100, 30, 0.94}, {1000, 1000, 16, 0.87}} {
		core := cost.Core{Registers: 16, Load: cost.Near, Sum: c.sum}
		vectors := (c.cols + 7) / 8
		if got := core.Steps(c.rows, vectors, 4, 2) / core.Steps(c.rows, vectors, 6, 2); math.Abs(math.Log(got/c.times)) > math.Log(1.06) {
			t.Errorf("%d × %d × %d takes %.3f in tiles of 4 × 2, measured %.3f", c.rows, c.sum, c.cols, got, c.times)
		}
	}
	product := func(sum, cols int64) *nest.Contraction {
		return &nest.Contraction{Reduction: []nest.Dim{{Extent: sum}}, Col: nest.Dim{Extent: cols}, Sum: &scalar.Expr{Type: scalar.Float32}}
	}
	for _, c := range []struct{ sum, cols, registers, short int64 }{
		{64, 64, 16, 64}, {64, 65, 16, 0}, {32, 1000, 16, 32}, {33, 1000, 16, 0}, {65, 1, 16, 0}, {32, 32, 32, 0},
	} {
		if got := cost.ShortSum(product(c.sum, c.cols), c.registers); got != c.short {
			t.Errorf("sums of %d products with %d columns and %d registers: short sum %d, expected %d", c.sum, c.cols, c.registers, got, c.short)
		}
	}
}

// TestShortRun says of which reductions partial sums are so short that they are kept in registers beside their sums.
func TestShortRun(t *testing.T) {
	for _, c := range []struct {
		rows      int64
		reduction []int64
		registers int64
		run       int64
	}{
		{32, []int64{7, 7, 3}, 16, 3}, {32, []int64{3, 3, 4}, 16, 4}, {32, []int64{3, 3, 5}, 16, 0}, {32, []int64{3}, 16, 0}, {5, []int64{7, 7, 3}, 16, 0}, {32, []int64{7, 7, 3}, 32, 0},
	} {
		product := &nest.Contraction{Row: nest.Dim{Extent: c.rows}, Sum: &scalar.Expr{Type: scalar.Float32}}
		for _, n := range c.reduction {
			product.Reduction = append(product.Reduction, nest.Dim{Extent: n})
		}
		if got := cost.ShortRun(product, c.registers); got != c.run {
			t.Errorf("%d rows, reduction %v and %d registers: run of %d, expected %d", c.rows, c.reduction, c.registers, got, c.run)
		}
	}
	for _, c := range []struct {
		rows, vectors int64
		resident      bool
	}{{6, 1, true}, {7, 1, true}, {8, 1, false}, {3, 2, true}, {4, 2, false}} {
		if got := cost.Resident(c.rows, c.vectors, 16); got != c.resident {
			t.Errorf("a tile of %d × %d: resident %v, expected %v", c.rows, c.vectors, got, c.resident)
		}
	}
	core := cost.Core{Registers: 16, Load: cost.Near, Run: 3}
	if one, two := core.Steps(36, 48, 6, 1), core.Steps(36, 48, 6, 2); one > two*1.01 {
		t.Errorf("runs in tiles of 6 × 1 are stated %v, in tiles of 6 × 2 %v: they take 0.86 to 0.99 of the time", one, two)
	}
}
