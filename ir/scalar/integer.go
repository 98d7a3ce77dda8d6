package scalar

import (
	"cmp"
	"math/bits"
)

// IntUnary gives an operator on the integers of a type, or on booleans as 0 and 1; the result is not wrapped yet. It panics
// where New refuses the operator.
func IntUnary(op Op, d DType) func(int64) int64 {
	switch op {
	case Neg:
		return func(i int64) int64 { return -i }
	case Abs:
		if !d.IsSigned() {
			return func(i int64) int64 { return i }
		}
		return func(i int64) int64 { return max(i, -i) }
	case Sign:
		if !d.IsSigned() {
			return func(i int64) int64 { return int64(min(uint64(i), 1)) }
		}
		return func(i int64) int64 { return max(-1, min(i, 1)) }
	case Not:
		if d == Bool {
			return func(i int64) int64 { return i ^ 1 }
		}
		return func(i int64) int64 { return ^i }
	case Popcount:
		n := dtypes[d].bits
		return func(i int64) int64 { return int64(bits.OnesCount64(uint64(i) << (64 - n))) }
	case Clz:
		n := dtypes[d].bits
		return func(i int64) int64 { return int64(min(n, bits.LeadingZeros64(uint64(i)<<(64-n)))) }
	}
	panic(undefined(op, d))
}

// IntBinary gives an operator on the integers of a type, or on booleans; the result is wrapped to the type. It panics where
// New refuses the operator.
func IntBinary(op Op, d DType) func(a, b int64) int64 {
	f := rawBinary(op, d)
	switch n := dtypes[d].bits; {
	case n == 64 || d == Bool:
		return f
	case d.IsSigned():
		return func(a, b int64) int64 { return f(a, b) << (64 - n) >> (64 - n) }
	default:
		return func(a, b int64) int64 { return int64(uint64(f(a, b)) << (64 - n) >> (64 - n)) }
	}
}

func rawBinary(op Op, d DType) func(a, b int64) int64 {
	switch op {
	case Add:
		return func(a, b int64) int64 { return a + b }
	case Sub:
		return func(a, b int64) int64 { return a - b }
	case Mul:
		return func(a, b int64) int64 { return a * b }
	case And:
		return func(a, b int64) int64 { return a & b }
	case Or:
		return func(a, b int64) int64 { return a | b }
	case Xor:
		return func(a, b int64) int64 { return a ^ b }
	case Shl, Shr:
		return func(a, b int64) int64 { return intShift(op, d, a, uint64(b)) }
	case Pow:
		return func(a, b int64) int64 { return intPow(d, a, b) }
	}
	if d.IsSigned() {
		return func(a, b int64) int64 { return signedBinary(op, a, b) }
	}
	return func(a, b int64) int64 { return int64(unsignedBinary(op, uint64(a), uint64(b))) }
}

// IntComparison gives a comparison of the integers of a type, or of booleans.
func IntComparison(op Op, d DType) func(a, b int64) bool {
	if d.IsSigned() {
		return comparison[int64](op)
	}
	f := comparison[uint64](op)
	return func(a, b int64) bool { return f(uint64(a), uint64(b)) }
}

func comparison[T cmp.Ordered](op Op) func(a, b T) bool {
	switch op {
	case Eq:
		return func(a, b T) bool { return a == b }
	case Ne:
		return func(a, b T) bool { return a != b }
	case Lt:
		return func(a, b T) bool { return a < b }
	case Le:
		return func(a, b T) bool { return a <= b }
	case Gt:
		return func(a, b T) bool { return a > b }
	case Ge:
		return func(a, b T) bool { return a >= b }
	}
	panic(undefined(op, "ordered numbers"))
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
	panic(undefined(op, "integers"))
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
	panic(undefined(op, "integers"))
}
