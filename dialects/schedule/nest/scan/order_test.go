package scan

import (
	"testing"

	"tensortapestry.org/tapc/ir/scalar"
)

// Only comparisons that sorting can follow are orders: not one that counts equals as before each other, nor one for which NaN is
// neither before nor after any number.
func TestStrict(t *testing.T) {
	for _, d := range []scalar.DType{scalar.Float32, scalar.Int32, scalar.UInt8} {
		a, b := scalar.NewLoad(0, d), scalar.NewLoad(1, d)
		no := scalar.NewConst(scalar.BoolValue(false))
		less := scalar.Must(scalar.Lt, a, b)
		last := scalar.Must(scalar.Where, scalar.Must(scalar.IsNaN, a), no, scalar.Must(scalar.Or, scalar.Must(scalar.IsNaN, b), less))
		for _, c := range []struct {
			name   string
			before *scalar.Expr
			want   bool
		}{
			{"less", less, d.IsInt()}, {"more", scalar.Must(scalar.Gt, a, b), d.IsInt()}, {"NaN last", last, true}, {"not greater", scalar.Must(scalar.Le, a, b), false},
			{"unequal", scalar.Must(scalar.Ne, a, b), false}, {"never", no, true},
		} {
			if got := strict(c.before, 0, 1, d); got != c.want {
				t.Errorf("%v %s: %v", d, c.name, got)
			}
		}
	}
}
