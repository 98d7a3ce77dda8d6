package expr

import (
	"fmt"
	"math"

	"tensortapestry.org/tapc/frontends/foreign"
)

// arithmetic computes with numbers. Integers that overflow, and divisions by zero, refuse; "/" gives a number with a fraction.
func arithmetic(op string, a, b foreign.Value) (foreign.Value, error) {
	x, okA := a.Number()
	y, okB := b.Number()
	if !okA || !okB {
		return foreign.Value{}, fmt.Errorf("%v %s %v", a.Kind, op, b.Kind)
	}
	switch op {
	case "<":
		return foreign.BoolValue(x < y), nil
	case "<=":
		return foreign.BoolValue(x <= y), nil
	case ">":
		return foreign.BoolValue(x > y), nil
	case ">=":
		return foreign.BoolValue(x >= y), nil
	case "/":
		return foreign.FloatValue(x / y), nil
	}
	if a.Kind == foreign.Int && b.Kind == foreign.Int {
		return integer(op, a.Int, b.Int)
	}
	switch op {
	case "+":
		return foreign.FloatValue(x + y), nil
	case "-":
		return foreign.FloatValue(x - y), nil
	case "*":
		return foreign.FloatValue(x * y), nil
	case "//":
		return foreign.FloatValue(math.Floor(x / y)), nil
	}
	return foreign.Value{}, fmt.Errorf("%v %s %v", a.Kind, op, b.Kind)
}

func integer(op string, a, b int64) (foreign.Value, error) {
	switch op {
	case "+":
		if c := a + b; (c > a) == (b > 0) {
			return foreign.IntValue(c), nil
		}
	case "-":
		if c := a - b; (c < a) == (b > 0) {
			return foreign.IntValue(c), nil
		}
	case "*":
		if c := a * b; a == 0 || c/a == b && !(a == -1 && b == math.MinInt64) {
			return foreign.IntValue(c), nil
		}
	case "//", "%":
		if b == 0 {
			return foreign.Value{}, Refuse("%d %s 0", a, op)
		}
		if b == -1 {
			if op == "%" {
				return foreign.IntValue(0), nil
			}
			return integer("-", 0, a)
		}
		q, r := a/b, a%b
		if r != 0 && (r < 0) != (b < 0) {
			q, r = q-1, r+b
		}
		if op == "%" {
			return foreign.IntValue(r), nil
		}
		return foreign.IntValue(q), nil
	}
	return foreign.Value{}, Refuse("%d %s %d does not fit 64 bits", a, op, b)
}
