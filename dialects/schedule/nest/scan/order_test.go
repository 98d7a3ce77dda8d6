package scan

import (
	"testing"

	"tensortapestry.org/tapc/ir/scalar"
)

// Only comparisons that sorting can follow are orders: not one that counts equals as before each other, nor one for which NaN is
// neither before nor after any number.
func TestStrict(t *testing.T) {
	make := func(op scalar.Op, args ...*scalar.Expr) *scalar.Expr {
		e, err := scalar.New(op, args...)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, d := range []scalar.DType{scalar.Float32, scalar.Int32, scalar.UInt8} {
		a, b := scalar.NewLoad(0, d), scalar.NewLoad(1, d)
		no := scalar.NewConst(scalar.BoolValue(false))
		less := make(scalar.Lt, a, b)
		last := make(scalar.Where, make(scalar.IsNaN, a), no, make(scalar.Or, make(scalar.IsNaN, b), less))
		for _, c := range []struct {
			name   string
			before *scalar.Expr
			want   bool
		}{
			{"less", less, d.IsInt()}, {"more", make(scalar.Gt, a, b), d.IsInt()}, {"NaN last", last, true}, {"not greater", make(scalar.Le, a, b), false},
			{"unequal", make(scalar.Ne, a, b), false}, {"never", no, true},
		} {
			if got := strict(c.before, 0, 1, d); got != c.want {
				t.Errorf("%v %s: %v", d, c.name, got)
			}
		}
	}
}
