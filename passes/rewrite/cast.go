package rewrite

import "tensortapestry.org/tapc/ir/scalar"

// mantissa is the number of significant bits of a real float type, and exponents its range: the least exponent of a
// subnormal and the greatest exponent of a finite number, in powers of two. Sources: IEEE 754-2019 table 3.5; for bfloat16
// and the two eight-bit types the OCP 8-bit floating point specification, section 5.
var floatForm = map[scalar.DType]struct{ mantissa, least, greatest int }{
	scalar.Float8E4M3: {4, -9, 8},
	scalar.Float8E5M2: {3, -16, 15},
	scalar.Float16:    {11, -24, 15},
	scalar.BFloat16:   {8, -133, 127},
	scalar.Float32:    {24, -149, 127},
	scalar.Float64:    {53, -1074, 1023},
}

// Embeds says whether every value of type a is a value of type b that scalar.Convert keeps: b has all integers, or all
// floats, of a, with infinities, NaN and the sign of zero.
func Embeds(a, b scalar.DType) bool {
	fa, fb := floatForm[a], floatForm[b]
	switch {
	case a == b:
		return true
	case a.IsBool():
		return b.IsInt() || b.IsFloat()
	case a.IsInt() && b.IsInt():
		return intBits(a) <= intBits(b) && (b.IsSigned() || !a.IsSigned())
	case a.IsInt() && b.IsFloat():
		return intBits(a) <= fb.mantissa && intBits(a) <= fb.greatest
	case a.IsFloat() && b.IsFloat():
		special := b != scalar.Float8E4M3 // it has no infinity
		return special && fa.mantissa <= fb.mantissa && fa.least >= fb.least && fa.greatest <= fb.greatest
	}
	return false
}

// intBits is the number of bits of the greatest magnitude of an integer type, the sign left out.
func intBits(d scalar.DType) int {
	if d.IsSigned() {
		return d.Bits() - 1
	}
	return d.Bits()
}

// CastThrough says whether converting from a to b and then to c gives what converting from a to c gives, for every value of
// a: b must hold all of a, and conversion to c must not treat an integer and the float of its value differently, as it does
// where c wraps the one and clamps the other.
func CastThrough(a, b, c scalar.DType) bool {
	switch {
	case a.IsComplex() || b.IsComplex() || c.IsComplex() || !Embeds(a, b):
		return false
	case a.IsInt() && b.IsFloat() && c.IsInt():
		return Embeds(a, c)
	}
	return true
}
