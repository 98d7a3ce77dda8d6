package cost_test

import (
	"math"
	"testing"

	"tensortapestry.org/tapc/dialects/schedule/cost"
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
