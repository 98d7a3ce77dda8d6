package scalar

import (
	"math"
	"sync"
)

// floatFormat is a binary floating point format of at most 16 bits.
type floatFormat struct {
	exp, mant int
	finite    bool // no infinities: the top code is NaN alone (e4m3)
}

var smallFloats = map[DType]floatFormat{
	Float16:    {5, 10, false},
	BFloat16:   {8, 7, false},
	Float8E4M3: {4, 3, true},
	Float8E5M2: {5, 2, false},
}

// round rounds a float to the precision of d, ties to even, overflowing to infinity (to NaN in float8_e4m3).
func round(d DType, f float64) float64 {
	switch d {
	case Float64, Complex128:
		return f
	case Float32, Complex64:
		return float64(float32(f))
	}
	return smallFloats[d].round(f)
}

// Rounding gives the function that rounds a real number to a float type, or to the parts of a complex type.
func Rounding(d DType) func(float64) float64 {
	switch d {
	case Float64, Complex128:
		return func(f float64) float64 { return f }
	case Float32, Complex64:
		return func(f float64) float64 { return float64(float32(f)) }
	}
	return smallFloats[d].round
}

// round adds and takes away a power of two that leaves only the bits of the format. Numbers near the largest go through the
// code, which knows how the format overflows.
func (ff floatFormat) round(f float64) float64 {
	bits := math.Float64bits(f)
	exp, bias := int(bits>>52&0x7ff)-1023, 1<<(ff.exp-1)-1
	if exp >= bias-1 || exp < -900 { // infinite and NaN too
		return ff.decode(ff.encode(f))
	}
	quantum := max(exp, 1-bias) - ff.mant
	anchor := math.Copysign(math.Float64frombits(uint64(quantum+52+1023)<<52), f)
	return math.Copysign(f+anchor-anchor, f)
}

// NarrowValues gives the value of every code of a float type of at most 16 bits.
func NarrowValues(d DType) []float64 {
	return narrowValues[d]()
}

var narrowValues = func() map[DType]func() []float64 {
	of := map[DType]func() []float64{}
	for d, ff := range smallFloats {
		of[d] = sync.OnceValue(func() []float64 {
			values := make([]float64, 1<<d.Bits())
			for i := range values {
				values[i] = ff.decode(uint16(i))
			}
			return values
		})
	}
	return of
}()

func (ff floatFormat) encode(f float64) uint16 {
	sign := uint16(0)
	if math.Signbit(f) {
		sign = 1 << (ff.exp + ff.mant)
	}
	f = math.Abs(f)
	top := uint16(1<<ff.exp-1) << ff.mant
	switch {
	case math.IsNaN(f) && ff.finite:
		return sign | top | (1<<ff.mant - 1)
	case math.IsNaN(f):
		return sign | top | 1<<(ff.mant-1)
	case f == 0:
		return sign
	}
	bias := 1<<(ff.exp-1) - 1
	_, e := math.Frexp(f) // f = m·2^e, m in [0.5, 1)
	quantum := max(e-1, 1-bias) - ff.mant
	units := math.RoundToEven(math.Ldexp(f, -quantum))
	code := uint64(0)
	if math.IsInf(f, 1) || units > math.MaxInt32 {
		code = math.MaxInt32
	} else {
		code = uint64(units) + uint64(quantum+ff.mant+bias-1)<<ff.mant
	}
	limit := uint64(top)
	if ff.finite {
		limit = uint64(top) | (1<<ff.mant - 1)
	}
	if code >= limit {
		return sign | uint16(limit)
	}
	return sign | uint16(code)
}

func (ff floatFormat) decode(code uint16) float64 {
	bias := 1<<(ff.exp-1) - 1
	mant := int(code) & (1<<ff.mant - 1)
	exp := int(code) >> ff.mant & (1<<ff.exp - 1)
	var f float64
	switch {
	case exp == 1<<ff.exp-1 && !ff.finite:
		f = math.Inf(1)
		if mant != 0 {
			f = math.NaN()
		}
	case exp == 1<<ff.exp-1 && mant == 1<<ff.mant-1:
		f = math.NaN()
	case exp == 0:
		f = math.Ldexp(float64(mant), 1-bias-ff.mant)
	default:
		f = math.Ldexp(float64(mant+1<<ff.mant), exp-bias-ff.mant)
	}
	if code>>(ff.exp+ff.mant)&1 == 1 {
		f = -f
	}
	return f
}
