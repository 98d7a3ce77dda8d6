// Package casts says which conversions of element types can be left out. It must not import the driver of rewrites. Read next: passes/rewrite/guard.go.
package casts

import (
	"math"

	"tensortapestry.org/tapc/ir/scalar"
)

// floatForm is what a real float type has: significant bits, the least exponent of a subnormal and the greatest exponent of a finite
// number, in powers of two, and which special numbers. Source for float32 and float64: IEEE 754-2019 table 3.5.
type floatForm struct {
	mantissa, least, greatest int
	infinite, nan, signed     bool // signed: it has negative numbers and -0
}

func formOf(d scalar.DType) floatForm {
	switch d {
	case scalar.Float32:
		return floatForm{24, -149, 127, true, true, true}
	case scalar.Float64:
		return floatForm{53, -1074, 1023, true, true, true}
	}
	f, _ := d.Format()
	_, most := d.Limits()
	form := floatForm{f.Mantissa + 1, 1 - f.Bias - f.Mantissa, math.Ilogb(most), f.Infinite(), f.HasNaN(), f.HasNegativeZero()}
	if f.Unsigned {
		form.least = -f.Bias
	}
	return form
}

// Embeds says whether every value of type a is a value of type b that scalar.Convert keeps: b has all integers, or all
// floats, of a, with infinities, NaN and the sign of zero.
func Embeds(a, b scalar.DType) bool {
	if a == b {
		return true
	}
	fa, fb := floatForm{}, floatForm{}
	if a.IsFloat() {
		fa = formOf(a)
	}
	if b.IsFloat() {
		fb = formOf(b)
	}
	switch {
	case b == scalar.Float8E8M0: // it has no 0
		return false
	case a.IsBool():
		return b.IsInt() || b.IsFloat()
	case a.IsInt() && b.IsInt():
		return intBits(a) <= intBits(b) && (b.IsSigned() || !a.IsSigned())
	case a.IsInt() && b.IsFloat():
		return intBits(a) <= fb.mantissa && intBits(a) <= fb.greatest
	case a.IsFloat() && b.IsFloat():
		special := (fb.infinite || !fa.infinite) && (fb.nan || !fa.nan) && (fb.signed || !fa.signed)
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

// Through says whether converting from a to b and then to c gives what converting from a to c gives, for every value of
// a: b must hold all of a, and conversion to c must not treat an integer and the float of its value differently, as it does
// where c wraps the one and clamps the other.
func Through(a, b, c scalar.DType) bool {
	switch {
	case a.IsComplex() || b.IsComplex() || c.IsComplex() || !Embeds(a, b):
		return false
	case a.IsInt() && b.IsFloat() && c.IsInt():
		return Embeds(a, c)
	}
	return true
}

// HasNaN says whether a type of real floats has NaN.
func HasNaN(d scalar.DType) bool {
	return d.IsFraction() && math.IsNaN(scalar.FloatValue(d, math.NaN()).F)
}
