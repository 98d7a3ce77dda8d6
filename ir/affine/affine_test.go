package affine_test

import (
	"fmt"
	"testing"

	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// What is read as a sum depends on the extents: beside each that is one is one that is none.
func TestSum(t *testing.T) {
	box := affine.Box{Range: zspace.MustShape(4, 8)}
	i, j, n := scalar.NewLoop(0), scalar.NewLoop(1), scalar.Number
	row := scalar.Must(scalar.Add, scalar.Must(scalar.Mul, i, n(8)), j)
	for _, c := range []struct {
		e    *scalar.Expr
		want string // "" for none
	}{
		{row, "[8 1] + 0"},
		{scalar.Must(scalar.Div, row, n(8)), "[1 0] + 0"},
		{scalar.Must(scalar.Div, row, n(7)), ""}, // j goes beyond 6
		{scalar.Must(scalar.Mod, row, n(8)), "[0 1] + 0"},
		{scalar.Must(scalar.Mod, row, n(4)), ""},
		{scalar.Must(scalar.Min, j, n(7)), "[0 1] + 0"},
		{scalar.Must(scalar.Min, j, n(6)), ""},
		{scalar.Must(scalar.Max, n(0), j), "[0 1] + 0"},
		{scalar.Must(scalar.Max, j, n(7)), "[0 0] + 7"},
		{scalar.Must(scalar.Max, j, n(1)), ""},
		{scalar.Must(scalar.Where, scalar.Must(scalar.Lt, j, n(8)), i, j), "[1 0] + 0"},
		{scalar.Must(scalar.Where, scalar.Must(scalar.Lt, j, n(7)), i, j), ""},
		{scalar.Must(scalar.Mul, i, j), ""},
	} {
		got := ""
		if s, ok := box.Sum(c.e); ok {
			got = fmt.Sprintf("%v + %d", s.Row(2), s.Constant)
		}
		if got != c.want {
			t.Errorf("%v is %q, expected %q", c.e, got, c.want)
		}
	}
}

// Without a box, only what is a sum wherever loops stand is read.
func TestOf(t *testing.T) {
	i, j, n := scalar.NewLoop(0), scalar.NewLoop(1), scalar.Number
	for _, c := range []struct {
		e    *scalar.Expr
		want *affine.Sum
	}{
		{scalar.Must(scalar.Sub, scalar.Must(scalar.Mul, n(3), j), n(5)), &affine.Sum{Factors: []int64{0, 3}, Constant: -5}},
		{scalar.Must(scalar.Neg, i), &affine.Sum{Factors: []int64{-1}}},
		{scalar.Must(scalar.Div, scalar.Must(scalar.Mul, i, n(8)), n(8)), nil},
		{scalar.Must(scalar.Min, i, i), nil},
		{scalar.Must(scalar.Mul, scalar.Must(scalar.Mul, i, n(1<<40)), n(1<<40)), nil}, // it leaves 64 bits
		{scalar.Must(scalar.Sub, scalar.Must(scalar.Mul, scalar.Must(scalar.Mul, i, n(1<<40)), n(1<<40)), scalar.Must(scalar.Mul, i, n(1<<59))), nil},
	} {
		got, ok := affine.Of(c.e)
		if ok != (c.want != nil) || ok && !got.Equal(*c.want) {
			t.Errorf("%v is %v, %t, expected %v", c.e, got, ok, c.want)
		}
	}
}

// The sums that a condition asks for are at least 0 just where it holds.
func TestBorders(t *testing.T) {
	box := zspace.MustShape(5, 7)
	i, j, n := scalar.NewLoop(0), scalar.NewLoop(1), scalar.Number
	for _, op := range []scalar.Op{scalar.Lt, scalar.Le, scalar.Gt, scalar.Ge} {
		condition := scalar.Must(scalar.And, scalar.Must(op, scalar.Must(scalar.Mul, i, n(2)), scalar.Must(scalar.Add, j, n(1))), scalar.Must(scalar.Ge, i, n(1)))
		sums, ok := affine.Borders(condition)
		if !ok || len(sums) != 2 {
			t.Fatalf("%v has the borders %v, expected two", condition, sums)
		}
		for p := range box.Points() {
			inside := true
			for _, s := range sums {
				lo, hi := s.Hull(zspace.Range{Start: p, End: zspace.Point{p[0] + 1, p[1] + 1}})
				if lo != hi {
					t.Fatalf("%v has values from %d to %d at %v", s, lo, hi, p)
				}
				inside = inside && lo >= 0
			}
			if holds := condition.Eval(point(p)).Bool(); holds != inside {
				t.Errorf("%v is %t at %v, but its borders say %t", condition, holds, p, inside)
			}
		}
	}
	if _, ok := affine.Borders(scalar.Must(scalar.Eq, i, j)); ok {
		t.Error("an equality has no border")
	}
}

// point is where loops stand.
type point zspace.Point

func (p point) Loop(i int) int64     { return p[i] }
func (point) Load(int) scalar.Value  { return scalar.Value{} }
func (point) Local(int) scalar.Value { return scalar.Value{} }
func (point) Over([]int, func())     {}

func TestSumArithmetic(t *testing.T) {
	s := affine.Sum{Factors: []int64{8, -3, 16}, Constant: -5}
	q, r := s.Divide(8)
	if !q.Equal(affine.Sum{Factors: []int64{1, 0, 2}, Constant: -1}) || !r.Equal(affine.Sum{Factors: []int64{0, -3}, Constant: 3}) || !q.Times(8).Plus(r, 1).Equal(s) {
		t.Errorf("%v is 8 times %v and %v", s, q, r)
	}
	box := zspace.Range{Start: zspace.Point{1, 0, -2}, End: zspace.Point{4, 5, 2}}
	if lo, hi := s.Hull(box); lo != 8-12-32-5 || hi != 24+16-5 {
		t.Errorf("%v has values from %d to %d", s, lo, hi)
	}
	if least := s.Least(box, 1); least != 8-32-5 {
		t.Errorf("%v is at least %d with its second symbol at the start", s, least)
	}
	far := affine.Constant(1 << 61)
	if !far.Reaches(affine.Limit) || !far.Plus(far, 5).Reaches(affine.Limit) || s.Reaches(affine.Limit) || !s.Reaches(16) {
		t.Error("what leaves the limit stays there")
	}
}
