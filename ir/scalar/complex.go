package scalar

import "math"

// Complex numbers are computed in float64 and their parts rounded once. The formulas are the plain ones, so that C code can
// follow them step by step; infinite and NaN parts come out as the formulas give them.

// ComplexUnary gives an operator on a complex number, before rounding; Abs, Real and Imag give a real number. It panics where
// New refuses the operator.
func ComplexUnary(op Op) func(complex128) complex128 {
	switch op {
	case Neg:
		return func(z complex128) complex128 { return -z }
	case Abs:
		return func(z complex128) complex128 { return complex(math.Hypot(real(z), imag(z)), 0) }
	case Conj:
		return func(z complex128) complex128 { return complex(real(z), -imag(z)) }
	case Real:
		return func(z complex128) complex128 { return complex(real(z), 0) }
	case Imag:
		return func(z complex128) complex128 { return complex(imag(z), 0) }
	case Exp:
		return func(z complex128) complex128 { return polar(math.Exp(real(z)), imag(z)) }
	case Log:
		return func(z complex128) complex128 {
			return complex(math.Log(math.Hypot(real(z), imag(z))), math.Atan2(imag(z), real(z)))
		}
	case Sqrt:
		return complexSqrt
	case Rsqrt:
		return func(z complex128) complex128 { return complexDiv(1, complexSqrt(z)) }
	case Sin:
		return func(z complex128) complex128 {
			x, y := real(z), imag(z)
			return complex(math.Sin(x)*math.Cosh(y), math.Cos(x)*math.Sinh(y))
		}
	case Cos:
		return func(z complex128) complex128 {
			x, y := real(z), imag(z)
			return complex(math.Cos(x)*math.Cosh(y), -math.Sin(x)*math.Sinh(y))
		}
	case Tanh:
		return complexTanh
	}
	panic(undefined(op, "complex numbers"))
}

// ComplexBinary gives an operator on two complex numbers, before rounding. It panics where New refuses the operator.
func ComplexBinary(op Op) func(a, b complex128) complex128 {
	switch op {
	case Add:
		return func(a, b complex128) complex128 { return a + b }
	case Sub:
		return func(a, b complex128) complex128 { return a - b }
	case Mul:
		return complexMul
	case Div:
		return complexDiv
	}
	panic(undefined(op, "complex numbers"))
}

func polar(r, angle float64) complex128 { return complex(r*math.Cos(angle), r*math.Sin(angle)) }

// complexMul rounds every product, as C code without contraction does.
func complexMul(a, b complex128) complex128 {
	rr, ii := float64(real(a)*real(b)), float64(imag(a)*imag(b))
	ri, ir := float64(real(a)*imag(b)), float64(imag(a)*real(b))
	return complex(rr-ii, ri+ir)
}

// complexDiv divides without needless overflow. Source: R. Smith, "Algorithm 116: Complex Division", CACM 5 (1962).
func complexDiv(a, b complex128) complex128 {
	if math.Abs(real(b)) >= math.Abs(imag(b)) {
		ratio := imag(b) / real(b)
		d := real(b) + float64(ratio*imag(b))
		return complex((real(a)+float64(imag(a)*ratio))/d, (imag(a)-float64(real(a)*ratio))/d)
	}
	ratio := real(b) / imag(b)
	d := float64(real(b)*ratio) + imag(b)
	return complex((float64(real(a)*ratio)+imag(a))/d, (float64(imag(a)*ratio)-real(a))/d)
}

// complexSqrt is the root with a real part that is not negative.
func complexSqrt(z complex128) complex128 {
	x, y := real(z), imag(z)
	if x == 0 && y == 0 {
		return complex(0, y)
	}
	t := math.Sqrt((math.Abs(x) + math.Hypot(x, y)) / 2)
	if x >= 0 {
		return complex(t, y/(2*t))
	}
	return complex(math.Abs(y)/(2*t), math.Copysign(t, y))
}

// complexTanh is ±1 where the real part is so large that nothing else shows. The denominator has no difference in it, so the
// result is exact near the poles too.
func complexTanh(z complex128) complex128 {
	x, y := real(z), imag(z)
	if math.Abs(x) > 22 {
		return complex(math.Copysign(1, x), math.Copysign(0, y))
	}
	s, c := math.Sinh(x), math.Cos(y)
	d := s*s + c*c
	return complex(s*math.Cosh(x)/d, math.Sin(y)*c/d)
}
