package affine_test

import (
	"fmt"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/affine"
	"tensortapestry.org/tapc/ir/scalar"
)

// What is read as a sum depends on the extents: beside each that is one is one that is none.
func TestSum(t *testing.T) {
	box := affine.Extents{4, 8}
	i, j, n := scalar.NewLoop(0), scalar.NewLoop(1), affine.Number
	row := affine.New(scalar.Add, affine.New(scalar.Mul, i, n(8)), j)
	for _, c := range []struct {
		e    *scalar.Expr
		want string // "" for none
	}{
		{row, "[8 1] + 0"},
		{affine.New(scalar.Div, row, n(8)), "[1 0] + 0"},
		{affine.New(scalar.Div, row, n(7)), ""}, // j goes beyond 6
		{affine.New(scalar.Mod, row, n(8)), "[0 1] + 0"},
		{affine.New(scalar.Mod, row, n(4)), ""},
		{affine.New(scalar.Min, j, n(7)), "[0 1] + 0"},
		{affine.New(scalar.Min, j, n(6)), ""},
		{affine.New(scalar.Where, affine.New(scalar.Lt, j, n(8)), i, j), "[1 0] + 0"},
		{affine.New(scalar.Where, affine.New(scalar.Lt, j, n(7)), i, j), ""},
		{affine.New(scalar.Mul, i, j), ""},
	} {
		got := ""
		if s, ok := box.Sum(c.e); ok {
			got = fmt.Sprintf("%v + %d", s.Row, s.Offset)
		}
		if got != c.want {
			t.Errorf("%v is %q, expected %q", c.e, got, c.want)
		}
	}
}
