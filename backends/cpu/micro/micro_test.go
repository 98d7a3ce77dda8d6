package micro

import "testing"

// Loops over single numbers are unrolled to as many products as fit, and those over groups to two steps, in every row.
func TestUnrolled(t *testing.T) {
	for _, m := range Table {
		for products, want := range map[int64]int64{1: 4, 8: 4, 10: 3, 24: 1, 32: 1, 33: 0} {
			if m.Group > 1 {
				want = 2
			}
			if got := m.Unrolled(products); got != want {
				t.Errorf("%s of %v with %d products: %d steps, expected %d", m.Name, m.Sum, products, got, want)
			}
		}
	}
}
