package scalar

import (
	"fmt"
	"math"
	"math/cmplx"
)

// Apply computes an operator on values. Arguments must have the types that Infer accepts; integers wrap in two's complement,
// floats are computed in float64 and rounded once to the type, which is correctly rounded for + - * / and sqrt.
func Apply(op Op, to DType, args ...Value) Value {
	switch op {
	case Where:
		if args[0].Bool() {
			return args[1]
		}
		return args[2]
	case Cast:
		return Convert(args[0], to)
	}
	if len(args) == 1 {
		return applyUnary(op, args[0])
	}
	return applyBinary(op, args[0], args[1])
}

func applyUnary(op Op, a Value) Value {
	d := a.DType
	switch {
	case op == IsNaN:
		return BoolValue(math.IsNaN(a.F) || math.IsNaN(a.Im))
	case d.IsComplex():
		z := complexUnary(op, complex(a.F, a.Im))
		return Value{DType: d, F: round(d, real(z)), Im: round(d, imag(z))}
	case d.IsFloat():
		return FloatValue(d, floatUnary(op, a.F))
	}
	return IntValue(d, intUnary(op, d, a.I))
}

func intUnary(op Op, d DType, i int64) int64 {
	switch op {
	case Neg:
		return -i
	case Abs:
		if d.IsSigned() && i < 0 {
			return -i
		}
		return i
	case Sign:
		if d.IsSigned() && i < 0 {
			return -1
		} else if i != 0 {
			return 1
		}
		return 0
	case Not:
		if d == Bool {
			return i ^ 1
		}
		return ^i
	}
	panic(fmt.Sprintf("scalar: %v is not defined on %v", op, d))
}

func floatUnary(op Op, f float64) float64 {
	switch op {
	case Neg:
		return -f
	case Abs:
		return math.Abs(f)
	case Sign:
		if f > 0 {
			return 1
		} else if f < 0 {
			return -1
		}
		return f
	case Exp:
		return math.Exp(f)
	case Log:
		return math.Log(f)
	case Sqrt:
		return math.Sqrt(f)
	case Rsqrt:
		return 1 / math.Sqrt(f)
	case Sin:
		return math.Sin(f)
	case Cos:
		return math.Cos(f)
	case Tanh:
		return math.Tanh(f)
	case Erf:
		return math.Erf(f)
	case Floor:
		return math.Floor(f)
	case Ceil:
		return math.Ceil(f)
	case Round:
		return math.RoundToEven(f)
	case Trunc:
		return math.Trunc(f)
	}
	panic(fmt.Sprintf("scalar: %v is not defined on floats", op))
}

func complexUnary(op Op, z complex128) complex128 {
	switch op {
	case Neg:
		return -z
	case Exp:
		return cmplx.Exp(z)
	case Log:
		return cmplx.Log(z)
	case Sqrt:
		return cmplx.Sqrt(z)
	case Rsqrt:
		return 1 / cmplx.Sqrt(z)
	case Sin:
		return cmplx.Sin(z)
	case Cos:
		return cmplx.Cos(z)
	case Tanh:
		return cmplx.Tanh(z)
	}
	panic(fmt.Sprintf("scalar: %v is not defined on complex numbers", op))
}

func applyBinary(op Op, a, b Value) Value {
	if op >= Eq && op <= Ge {
		return BoolValue(compare(op, a, b))
	}
	d := a.DType
	switch {
	case d.IsComplex():
		z := complexBinary(op, complex(a.F, a.Im), complex(b.F, b.Im))
		return Value{DType: d, F: round(d, real(z)), Im: round(d, imag(z))}
	case d.IsFloat():
		return FloatValue(d, floatBinary(op, a.F, b.F))
	}
	return IntValue(d, intBinary(op, d, a.I, b.I))
}

func compare(op Op, a, b Value) bool {
	less, equal := false, a.I == b.I
	switch {
	case a.DType.IsComplex():
		equal = a.F == b.F && a.Im == b.Im
	case a.DType.IsFloat():
		if math.IsNaN(a.F) || math.IsNaN(b.F) {
			return op == Ne
		}
		less, equal = a.F < b.F, a.F == b.F
	case a.DType.IsSigned():
		less = a.I < b.I
	default:
		less = uint64(a.I) < uint64(b.I)
	}
	switch op {
	case Eq:
		return equal
	case Ne:
		return !equal
	case Lt:
		return less
	case Le:
		return less || equal
	case Gt:
		return !less && !equal
	}
	return !less
}

func floatBinary(op Op, a, b float64) float64 {
	switch op {
	case Add:
		return a + b
	case Sub:
		return a - b
	case Mul:
		return a * b
	case Div:
		return a / b
	case Rem:
		return math.Mod(a, b)
	case Mod:
		return floorMod(a, b)
	case Pow:
		return math.Pow(a, b)
	case Min:
		if a < b || a != a {
			return a
		}
		return b
	case Max:
		if a > b || a != a {
			return a
		}
		return b
	}
	panic(fmt.Sprintf("scalar: %v is not defined on floats", op))
}

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

func complexBinary(op Op, a, b complex128) complex128 {
	switch op {
	case Add:
		return a + b
	case Sub:
		return a - b
	case Mul:
		return a * b
	case Div:
		return a / b
	}
	panic(fmt.Sprintf("scalar: %v is not defined on complex numbers", op))
}

func intBinary(op Op, d DType, a, b int64) int64 {
	switch op {
	case Add:
		return a + b
	case Sub:
		return a - b
	case Mul:
		return a * b
	case And:
		return a & b
	case Or:
		return a | b
	case Xor:
		return a ^ b
	case Shl, Shr:
		return intShift(op, d, a, uint64(b))
	case Pow:
		return intPow(d, a, b)
	}
	if d.IsSigned() {
		return signedBinary(op, a, b)
	}
	return int64(unsignedBinary(op, uint64(a), uint64(b)))
}

func intShift(op Op, d DType, a int64, by uint64) int64 {
	wide := by >= uint64(dtypes[d].bits)
	switch {
	case op == Shr && d.IsSigned():
		return a >> min(by, 63)
	case wide:
		return 0
	case op == Shr:
		return int64(uint64(a) >> by)
	}
	return a << by
}

// intPow is a to the power b, wrapping; a negative exponent gives 1/a^-b truncated: 0 but for a = ±1.
func intPow(d DType, a, b int64) int64 {
	if d.IsSigned() && b < 0 {
		switch {
		case a == 1 || (a == -1 && b%2 == 0):
			return 1
		case a == -1:
			return -1
		}
		return 0
	}
	r := int64(1)
	for e := uint64(b); e > 0; e >>= 1 {
		if e&1 == 1 {
			r = wrap(d, r*a)
		}
		a = wrap(d, a*a)
	}
	return r
}

func signedBinary(op Op, a, b int64) int64 {
	switch op {
	case Div:
		if b == 0 {
			return 0
		} else if b == -1 {
			return -a
		}
		return a / b
	case Rem, Mod:
		if b == 0 || b == -1 {
			return 0
		}
		r := a % b
		if op == Mod && r != 0 && (r < 0) != (b < 0) {
			r += b
		}
		return r
	case Min:
		return min(a, b)
	case Max:
		return max(a, b)
	}
	panic(fmt.Sprintf("scalar: %v is not defined on integers", op))
}

func unsignedBinary(op Op, a, b uint64) uint64 {
	switch op {
	case Div:
		if b == 0 {
			return 0
		}
		return a / b
	case Rem, Mod:
		if b == 0 {
			return 0
		}
		return a % b
	case Min:
		return min(a, b)
	case Max:
		return max(a, b)
	}
	panic(fmt.Sprintf("scalar: %v is not defined on integers", op))
}

// Convert casts a value: integers wrap, float to integer truncates and saturates with NaN to 0, numbers to boolean test for
// not zero, complex to real keeps the real part.
func Convert(v Value, to DType) Value {
	from := v.DType
	switch {
	case from == to:
		return v
	case to == Bool:
		return BoolValue(v.I != 0 || v.F != 0 || v.Im != 0)
	case to.IsComplex():
		out := Value{DType: to, F: round(to, v.Float())}
		if from.IsComplex() {
			out.Im = round(to, v.Im)
		}
		return out
	case to.IsFloat() && (from.IsFloat() || from.IsComplex()):
		return FloatValue(to, v.F)
	case to.IsFloat():
		return intToFloat(v, to)
	case from.IsFloat() || from.IsComplex():
		return floatToInt(v.F, to)
	}
	return IntValue(to, v.I)
}

// intToFloat rounds once: to float32 directly, to smaller formats through float64, exact for every integer they can tell apart.
func intToFloat(v Value, to DType) Value {
	if to == Float32 {
		if dtypes[v.DType].class == classUInt {
			return Value{DType: to, F: float64(float32(uint64(v.I)))}
		}
		return Value{DType: to, F: float64(float32(v.I))}
	}
	return FloatValue(to, v.Float())
}

func floatToInt(f float64, to DType) Value {
	f = math.Trunc(f)
	lo, hi := Lowest(to), Highest(to)
	switch {
	case math.IsNaN(f):
		return Zero(to)
	case f <= lo.Float():
		return lo
	case f >= hi.Float():
		return hi
	case to == UInt64:
		return Value{DType: to, I: int64(uint64(f))}
	}
	return IntValue(to, int64(f))
}
