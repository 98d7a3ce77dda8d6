package scalar

import "math"

// float1 are the operators of one real number, computed in float64. A table: one line an operator.
var float1 = map[Op]func(float64) float64{
	Neg:   func(f float64) float64 { return -f },
	Abs:   math.Abs,
	Sign:  floatSign,
	Exp:   math.Exp,
	Exp2:  math.Exp2,
	Expm1: math.Expm1,
	Log:   math.Log,
	Log2:  math.Log2,
	Log10: math.Log10,
	Log1p: math.Log1p,
	Sqrt:  math.Sqrt,
	Rsqrt: func(f float64) float64 { return 1 / math.Sqrt(f) },
	Cbrt:  math.Cbrt,
	Sin:   math.Sin,
	Cos:   math.Cos,
	Tan:   math.Tan,
	Asin:  math.Asin,
	Acos:  math.Acos,
	Atan:  math.Atan,
	Sinh:  math.Sinh,
	Cosh:  math.Cosh,
	Tanh:  math.Tanh,
	Asinh: math.Asinh,
	Acosh: math.Acosh,
	Atanh: math.Atanh,
	Erf:   math.Erf,
	Erfc:  math.Erfc,
	Floor: math.Floor,
	Ceil:  math.Ceil,
	Round: math.RoundToEven,
	Trunc: math.Trunc,
}

var float2 = map[Op]func(a, b float64) float64{
	Add:      func(a, b float64) float64 { return a + b },
	Sub:      func(a, b float64) float64 { return a - b },
	Mul:      func(a, b float64) float64 { return a * b },
	Div:      func(a, b float64) float64 { return a / b },
	Rem:      math.Mod,
	Mod:      floorMod,
	Pow:      pow,
	Atan2:    math.Atan2,
	Copysign: math.Copysign,
	Min:      floatMin,
	Max:      floatMax,
}

// FloatUnary gives an operator on real numbers before rounding to a type. It panics where New refuses the operator.
func FloatUnary(op Op) func(float64) float64 {
	if f := float1[op]; f != nil {
		return f
	}
	panic(undefined(op, "floats"))
}

// FloatBinary gives an operator on two real numbers before rounding to a type. It panics where New refuses the operator.
func FloatBinary(op Op) func(a, b float64) float64 {
	if f := float2[op]; f != nil {
		return f
	}
	panic(undefined(op, "floats"))
}

// FloatComparison gives a comparison of real numbers; with NaN only != is true.
func FloatComparison(op Op) func(a, b float64) bool { return comparison[float64](op) }

func floatSign(f float64) float64 {
	switch {
	case f > 0:
		return 1
	case f < 0:
		return -1
	}
	return f
}

func floatMin(a, b float64) float64 {
	if a < b || a != a {
		return a
	}
	return b
}

func floatMax(a, b float64) float64 {
	if a > b || a != a {
		return a
	}
	return b
}

// floorMod is the remainder with the divisor's sign; a zero has the divisor's sign too.
func floorMod(a, b float64) float64 {
	r := math.Mod(a, b)
	switch {
	case r == 0:
		return math.Copysign(0, b)
	case (r < 0) != (b < 0):
		return r + b
	}
	return r
}
