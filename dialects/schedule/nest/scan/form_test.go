package scan

import (
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
)

// What is left out of a fold may count as nothing, or as a number below all places that are folded; else it matters whether
// anything is.
func TestInitial(t *testing.T) {
	r := reader{&schedule.Kernel{Loops: []schedule.Loop{{Start: 3, End: 9}}}}
	place := &scalar.Expr{Op: scalar.Loop, Type: scalar.Int64, Ref: 0}
	for _, c := range []struct {
		name      string
		monoid    scalar.Op
		value     *scalar.Expr
		otherwise int64
		want      bool
	}{
		{"a sum of nothing", scalar.Add, scalar.NewLoad(0, scalar.Int64), 0, true},
		{"a sum of ones", scalar.Add, scalar.NewLoad(0, scalar.Int64), 1, false},
		{"a place or one before all", scalar.Max, place, 2, true},
		{"a place or the first", scalar.Max, place, 3, true},
		{"a place or the second", scalar.Max, place, 4, false},
		{"the least place or one before all", scalar.Min, place, 2, false},
		{"a value or a number", scalar.Max, scalar.NewLoad(0, scalar.Int64), 2, false},
	} {
		otherwise := scalar.IntValue(scalar.Int64, c.otherwise)
		fold := scalar.NewReduce(c.monoid, []int{0}, c.value)
		initial, ok := r.initial(fold, c.value, otherwise)
		if ok != c.want || ok && c.monoid == scalar.Max && !initial.Same(otherwise) {
			t.Errorf("%s: %v, %v", c.name, initial.Number(), ok)
		}
	}
}
