package scalar

import (
	"math"
	"sync"
)

// Format is a binary floating point format of at most 16 bits: a sign bit, unless it is unsigned, then Exponent and Mantissa bits,
// from high to low. The magnitudes are the codes from 0 to Last, in order; those whose exponent bits are 0 are subnormal, unless the
// format is unsigned.
type Format struct {
	Exponent, Mantissa int
	Bias               int
	Last               uint16 // the code of the greatest finite number
	Over               uint16 // the code, without the sign, of what is greater
	NaN                uint16 // the code, without the sign, that NaN becomes; that of -0 where the format has no NaN
	Unsigned           bool   // no sign, no 0: 0 and negative numbers become NaN
}

// formats are the floats of at most 16 bits; a table. Sources: IEEE 754-2019 section 3.6; the OCP specifications "8-bit floating
// point" 1.0 and "Microscaling formats" 1.0; for the types whose names end in fnuz, Noune et al., "8-bit Numerical Formats for Deep
// Neural Networks" (2022). What a format without NaN makes of it they leave open; -0 is what ONNX's tests have.
var formats = map[DType]Format{
	Float16:        {5, 10, 15, 0x7bff, 0x7c00, 0x7e00, false},
	BFloat16:       {8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, false},
	Float8E5M2:     {5, 2, 15, 0x7b, 0x7c, 0x7e, false},
	Float8E4M3:     {4, 3, 7, 0x7e, 0x7f, 0x7f, false},
	Float8E4M3FNUZ: {4, 3, 8, 0x7f, 0x80, 0x80, false},
	Float8E5M2FNUZ: {5, 2, 16, 0x7f, 0x80, 0x80, false},
	Float8E8M0:     {8, 0, 127, 0xfe, 0xff, 0xff, true},
	Float6E2M3:     {2, 3, 1, 0x1f, 0x1f, 0x20, false},
	Float6E3M2:     {3, 2, 3, 0x1f, 0x1f, 0x20, false},
	Float4E2M1:     {2, 1, 1, 0x7, 0x7, 0x8, false},
}

// Format describes a float type of at most 16 bits. ok is false for any other type.
func (d DType) Format() (f Format, ok bool) {
	f, ok = formats[d]
	return f, ok
}

// Sign is the code of the sign bit, 0 in an unsigned format.
func (f Format) Sign() uint16 {
	if f.Unsigned {
		return 0
	}
	return 1 << (f.Exponent + f.Mantissa)
}

// HasNaN says whether the format has NaN: else what is too great becomes the greatest number.
func (f Format) HasNaN() bool { return f.Over != f.Last }

// Infinite says whether the format has infinities.
func (f Format) Infinite() bool { return f.HasNaN() && f.Over != f.NaN }

// HasNegativeZero says whether the format tells -0 from 0; where it does not, the code of the sign alone is NaN.
func (f Format) HasNegativeZero() bool { return !f.Unsigned && f.Over != f.Sign() }

// round rounds a float to the precision of d, ties to even, overflowing as its format does: to infinity where there is
// one, else to NaN, else to the greatest number.
func round(d DType, f float64) float64 {
	switch d {
	case Float64, Complex128:
		return f
	case Float32, Complex64:
		return float64(float32(f))
	}
	return formats[d].round(f)
}

// Rounding gives the function that rounds a real number to a float type, or to the parts of a complex type.
func Rounding(d DType) func(float64) float64 {
	switch d {
	case Float64, Complex128:
		return func(f float64) float64 { return f }
	case Float32, Complex64:
		return func(f float64) float64 { return float64(float32(f)) }
	}
	return formats[d].round
}

// round adds and takes away a power of two that leaves only the bits of the format. Numbers near the largest go through the
// code, which knows how the format overflows, and so do those that become 0 in a format where that has no sign.
func (f Format) round(x float64) float64 {
	bits := math.Float64bits(x)
	exp := int(bits>>52&0x7ff) - 1023
	if exp >= f.Bias-1 || exp < -900 || f.Unsigned { // infinite and NaN too
		return f.decode(f.encode(x))
	}
	quantum := max(exp, 1-f.Bias) - f.Mantissa
	anchor := math.Copysign(math.Float64frombits(uint64(quantum+52+1023)<<52), x)
	y := math.Copysign(x+anchor-anchor, x)
	if y == 0 && !f.HasNegativeZero() {
		return 0
	}
	return y
}

// NarrowValues gives the value of every code of a float type of at most 16 bits.
func NarrowValues(d DType) []float64 {
	return narrowValues[d]()
}

var narrowValues = func() map[DType]func() []float64 {
	of := map[DType]func() []float64{}
	for d, f := range formats {
		of[d] = sync.OnceValue(func() []float64 {
			values := make([]float64, 1<<d.Bits())
			for i := range values {
				values[i] = f.decode(uint16(i))
			}
			return values
		})
	}
	return of
}()

// encode gives the code of the nearest number, of two equally near the one whose code is even; in an unsigned format the greater.
func (f Format) encode(x float64) uint16 {
	sign := uint16(0)
	if math.Signbit(x) {
		sign = f.Sign()
	}
	switch {
	case math.IsNaN(x), f.Unsigned && x <= 0:
		return sign | f.NaN
	case f.Unsigned:
		return f.encodeUnsigned(x)
	}
	x = math.Abs(x)
	code := uint64(math.MaxInt32)
	if _, e := math.Frexp(x); x == 0 { // x = m·2^e, m in [0.5, 1)
		code = 0
	} else if quantum := max(e-1, 1-f.Bias) - f.Mantissa; !math.IsInf(x, 1) {
		if units := math.RoundToEven(math.Ldexp(x, -quantum)); units <= math.MaxInt32 {
			code = uint64(units) + uint64(quantum+f.Mantissa+f.Bias-1)<<f.Mantissa
		}
	}
	switch {
	case code > uint64(f.Last):
		return sign | f.Over
	case code == 0 && !f.HasNegativeZero():
		return 0
	}
	return sign | uint16(code)
}

// encodeUnsigned gives the code of the nearest power of two.
func (f Format) encodeUnsigned(x float64) uint16 {
	if math.IsInf(x, 1) {
		return f.Over
	}
	m, e := math.Frexp(x)
	if e--; m >= 0.75 {
		e++
	}
	if e < -f.Bias || e+f.Bias > int(f.Last) {
		return f.Over
	}
	return uint16(e + f.Bias)
}

func (f Format) decode(code uint16) float64 {
	code &= f.Sign()<<1 - 1 // all bits of an unsigned format
	magnitude := code &^ f.Sign()
	var x float64
	switch exp, mant := int(magnitude>>f.Mantissa), int(magnitude)&(1<<f.Mantissa-1); {
	case f.Infinite() && magnitude == f.Over:
		x = math.Inf(1)
	case magnitude > f.Last, code == f.Sign() && code != 0 && !f.HasNegativeZero():
		x = math.NaN()
	case f.Unsigned:
		x = math.Ldexp(1, exp-f.Bias)
	case exp == 0:
		x = math.Ldexp(float64(mant), 1-f.Bias-f.Mantissa)
	default:
		x = math.Ldexp(float64(mant+1<<f.Mantissa), exp-f.Bias-f.Mantissa)
	}
	if code&f.Sign() != 0 {
		x = -x
	}
	return x
}
