package scan

import (
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
)

// A value may be stored where it goes if it is the one with the number that the cell chose, and nothing else is: by any other number, the last of
// several for a cell would not be the one that counts.
func TestNumbers(t *testing.T) {
	k := &schedule.Kernel{Loops: []schedule.Loop{{End: 3}, {End: 4}, {Start: 1, End: 5}}, Statements: []schedule.Statement{{}, {}}}
	r := reader{k}
	op, number, loop := scalar.Must, scalar.Number, scalar.NewLoop
	at := func(e *scalar.Expr, by int64) *scalar.Expr { return op(scalar.Mul, e, number(by)) }
	for _, c := range []struct {
		name  string
		value *scalar.Expr
		over  []int
		want  bool
	}{
		{"one loop", loop(0), []int{0}, true},
		{"another loop", loop(1), []int{0}, false},
		{"two loops", op(scalar.Add, at(loop(0), 4), loop(1)), []int{0, 1}, true},
		{"two loops, by less than there are", op(scalar.Add, at(loop(0), 3), loop(1)), []int{0, 1}, false},
		{"the inner loop outside", op(scalar.Add, at(loop(1), 3), loop(0)), []int{0, 1}, false},
		{"a loop that begins at 1", loop(2), []int{2}, false},
		{"backwards", op(scalar.Sub, number(2), loop(0)), []int{0}, false},
	} {
		if got := r.numbers(c.value, c.over); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	last := &scalar.Expr{Op: scalar.Local, Type: scalar.Int64, Ref: 1}
	other := &scalar.Expr{Op: scalar.Local, Type: scalar.Int64, Ref: 0}
	for _, c := range []struct {
		name  string
		index *scalar.Expr
		i     int
		want  bool
	}{
		{"outer", op(scalar.Mod, op(scalar.Div, last, number(4)), number(3)), 0, true},
		{"outer, not reduced", op(scalar.Div, last, number(4)), 0, true},
		{"outer, not divided", op(scalar.Mod, last, number(3)), 0, false},
		{"inner", op(scalar.Mod, last, number(4)), 1, true},
		{"inner, divided by 1", op(scalar.Mod, op(scalar.Div, last, number(1)), number(4)), 1, true},
		{"inner, not reduced", last, 1, false},
		{"inner, reduced by another number", op(scalar.Mod, last, number(5)), 1, false},
		{"of another statement", op(scalar.Mod, other, number(4)), 1, false},
	} {
		if got := r.isIndexOf(c.index, 1, []int{0, 1}, c.i); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
