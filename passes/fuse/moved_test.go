package fuse

import (
	"testing"

	"tensortapestry.org/tapc/ir/scalar"
)

// A border goes around each of the elements that loops choose among, and stays around elements that others choose: what these read is not there outside it.
func TestWithin(t *testing.T) {
	load := func(i int, d scalar.DType) *scalar.Expr { return scalar.NewLoad(i, d) }
	least := func(loop int, n int64) *scalar.Expr {
		return scalar.Must(scalar.Ge, &scalar.Expr{Op: scalar.Loop, Ref: loop, Type: scalar.Int64}, scalar.Number(n))
	}
	choose := func(c, a, b *scalar.Expr) *scalar.Expr { return scalar.Must(scalar.Where, c, a, b) }
	zero := scalar.NewConst(scalar.Zero(scalar.Float32))
	a, b := load(0, scalar.Float32), load(1, scalar.Float32)
	border, loops, element := least(0, 1), least(0, 12), load(2, scalar.Bool)
	both := scalar.Must(scalar.And, border, loops)
	for name, c := range map[string]struct{ from, want *scalar.Expr }{
		"loops choose":               {choose(border, choose(loops, a, b), zero), choose(loops, choose(border, a, zero), choose(border, b, zero))},
		"one border of two":          {choose(border, choose(loops, a, zero), zero), choose(both, a, zero)},
		"elements choose":            {choose(border, choose(element, a, b), zero), choose(border, choose(element, a, b), zero)},
		"elements choose or nothing": {choose(border, choose(element, a, zero), zero), choose(border, choose(element, a, zero), zero)},
		"no border":                  {choose(loops, a, b), choose(loops, a, b)},
	} {
		if got := within(c.from); !got.Equal(c.want) {
			t.Errorf("%s: %v, expected %v", name, got, c.want)
		}
	}
}
