package scalar

import (
	"fmt"
	"math"
)

// Apply computes an operator on values. Arguments must have the types that New accepts; integers wrap in two's complement,
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
	case Bitcast:
		return bitcast(args[0], to)
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
	case op == IsInf:
		return BoolValue(math.IsInf(a.F, 0) || math.IsInf(a.Im, 0))
	case d.IsComplex():
		z, out := ComplexUnary(op)(complex(a.F, a.Im)), d
		if op == Abs || op == Real || op == Imag {
			out = d.Part()
		}
		return complexValue(out, z)
	case d.IsFloat():
		return FloatValue(d, FloatUnary(op)(a.F))
	}
	return IntValue(d, IntUnary(op, d)(a.I))
}

func complexValue(d DType, z complex128) Value {
	return Value{DType: d, F: round(d, real(z)), Im: round(d, imag(z))}
}

func applyBinary(op Op, a, b Value) Value {
	if op >= Eq && op <= Ge {
		return BoolValue(compare(op, a, b))
	}
	d := a.DType
	switch {
	case op == Complex:
		pair, _ := d.Pair()
		return Value{DType: pair, F: a.F, Im: b.F}
	case d.IsComplex():
		return complexValue(d, ComplexBinary(op)(complex(a.F, a.Im), complex(b.F, b.Im)))
	case d.IsFloat():
		return FloatValue(d, FloatBinary(op)(a.F, b.F))
	}
	return Value{DType: d, I: IntBinary(op, d)(a.I, b.I)}
}

func compare(op Op, a, b Value) bool {
	switch {
	case a.DType.IsComplex():
		equal := a.F == b.F && a.Im == b.Im
		return equal == (op == Eq)
	case a.DType.IsFloat():
		return FloatComparison(op)(a.F, b.F)
	}
	return IntComparison(op, a.DType)(a.I, b.I)
}

func undefined(op Op, on any) string { return fmt.Sprintf("scalar: %v is not defined on %v", op, on) }
