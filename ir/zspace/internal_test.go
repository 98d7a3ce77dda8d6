package zspace

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// edgy draws numbers from everywhere, the ends of the space often among them.
func edgy(t *rapid.T, name string) int64 {
	return rapid.OneOf(
		rapid.Int64(),
		rapid.Int64Range(-3, 3),
		rapid.Int64Range(math.MinInt64, math.MinInt64+3),
		rapid.Int64Range(math.MaxInt64-3, math.MaxInt64),
		rapid.Int64Range(1<<31-2, 1<<31+2),
		rapid.Int64Range(-1<<32-2, -1<<32+2),
	).Draw(t, name)
}

// Checked arithmetic agrees with unbounded arithmetic.
func TestCheckedArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := edgy(t, "a"), edgy(t, "b")
		x, y := big.NewInt(a), big.NewInt(b)
		for name, c := range map[string]struct {
			f    func(a, b int64) (int64, bool)
			want *big.Int
		}{
			"+": {addOK, new(big.Int).Add(x, y)},
			"-": {subOK, new(big.Int).Sub(x, y)},
			"*": {mulOK, new(big.Int).Mul(x, y)},
		} {
			got, ok := c.f(a, b)
			if ok != c.want.IsInt64() || ok && got != c.want.Int64() {
				t.Fatalf("%d %s %d = %d, %v; want %v", a, name, b, got, ok, c.want)
			}
		}
	})
}

func TestDotIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 4).Draw(t, "n")
		off, row, x := edgy(t, "off"), make([]int64, n), make([]int64, n)
		want := big.NewInt(off)
		for i := range n {
			row[i], x[i] = edgy(t, "row"), edgy(t, "x")
			want.Add(want, new(big.Int).Mul(big.NewInt(row[i]), big.NewInt(x[i])))
		}
		got, ok := dot(off, row, x)
		if ok != want.IsInt64() || ok && got != want.Int64() {
			t.Fatalf("%d + %v·%v = %d, %v; want %v", off, row, x, got, ok, want)
		}
	})
}

func TestDivisionRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Int64Range(-math.MaxInt64, math.MaxInt64).Draw(t, "a")
		b := rapid.Int64Range(1, 9).Draw(t, "b")
		f, c := floorDiv(a, b), ceilDiv(a, b)
		if r := a - f*b; r < 0 || r >= b {
			t.Fatalf("floor of %d/%d = %d", a, b, f)
		}
		if r := c*b - a; r < 0 || r >= b {
			t.Fatalf("ceiling of %d/%d = %d", a, b, c)
		}
	})
}

// The narrowing of the search never loses a solution, and elimination finds the
// kernel: searching with and without them gives the same verdict.
func TestSolveAgreesWithSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 3).Draw(t, "rows"), rapid.IntRange(1, 3).Draw(t, "cols")
		s := &stepSearch{rank: cols, budget: 1 << 20}
		for range rows {
			s.rows = append(s.rows, rapid.SliceOfN(rapid.Int64Range(-6, 6), cols, cols).Draw(t, "row"))
			s.slack = append(s.slack, rapid.Int64Range(0, 2).Draw(t, "slack"))
		}
		for i := range cols {
			s.dims = append(s.dims, i)
			s.reach = append(s.reach, rapid.Int64Range(1, 9).Draw(t, "reach"))
		}
		want, decided := s.searchAll()
		if !decided {
			t.Fatal("undecided")
		}
		step, decided := s.solve()
		if decided && (step == nil) != (want == nil) {
			t.Fatalf("%v slack %v reach %v: solve %v, search %v", s.rows, s.slack, s.reach, step, want)
		}
		if !decided && want != nil {
			s.dropFixed()
			if again, _ := s.searchAll(); again == nil {
				t.Fatalf("%v slack %v: reach %v excludes %v", s.rows, s.slack, s.reach, want)
			}
		}
	})
}
