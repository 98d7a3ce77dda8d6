package scalar

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// Value is one exact number of an element type. Integers and booleans live in I (unsigned ones as the same 64 bits), floats
// in F already rounded to the type, complex numbers in F and Im.
type Value struct {
	DType DType
	I     int64
	F, Im float64
}

// IntValue makes an integer value, wrapped to the width of d.
func IntValue(d DType, i int64) Value { return Value{DType: d, I: wrap(d, i)} }

// FloatValue makes a float value, rounded to d with ties to even.
func FloatValue(d DType, f float64) Value { return Value{DType: d, F: round(d, f)} }

// BoolValue makes a boolean value.
func BoolValue(b bool) Value {
	if b {
		return Value{DType: Bool, I: 1}
	}
	return Value{DType: Bool}
}

// Zero is the value 0 (or false) of a type, NaN in float8_e8m0, which has no 0.
func Zero(d DType) Value {
	if d == Float8E8M0 {
		return Value{DType: d, F: math.NaN()}
	}
	return Value{DType: d}
}

// Bool says whether the value is true (not zero).
func (v Value) Bool() bool { return v.I != 0 }

// Float gives the value's real part as a float64: exact for floats and for integers below 2^53.
func (v Value) Float() float64 {
	switch {
	case v.DType.IsFloat() || v.DType.IsComplex():
		return v.F
	case dtypes[v.DType].class == classUInt:
		return float64(uint64(v.I))
	}
	return float64(v.I)
}

// Same says whether two values are the same number of the same type; NaN is the same as NaN, and 0 differs from -0.
func (v Value) Same(w Value) bool {
	return v.DType == w.DType && v.I == w.I && sameFloat(v.F, w.F) && sameFloat(v.Im, w.Im)
}

func sameFloat(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || (math.IsNaN(a) && math.IsNaN(b))
}

// String gives the value as expression text: dtype(number), or true and false.
func (v Value) String() string {
	switch {
	case v.DType == Bool:
		return strconv.FormatBool(v.I != 0)
	case v.DType.IsComplex():
		return fmt.Sprintf("%s(%s, %s)", v.DType, floatText(v.F), floatText(v.Im))
	}
	return fmt.Sprintf("%s(%s)", v.DType, v.Number())
}

// Number gives the number alone, in the shortest decimal form that reads back to the same value.
func (v Value) Number() string {
	switch dtypes[v.DType].class {
	case classFloat:
		if v.DType == Float32 {
			return shortFloat(v.F, 32)
		}
		return floatText(v.F)
	case classComplex:
		return floatText(v.F) + "+" + floatText(v.Im) + "i"
	case classUInt:
		return strconv.FormatUint(uint64(v.I), 10)
	case classBool:
		return strconv.FormatBool(v.I != 0)
	}
	return strconv.FormatInt(v.I, 10)
}

func floatText(f float64) string { return shortFloat(f, 64) }

func shortFloat(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

// wrap reduces i to the width of an integer type, two's complement.
func wrap(d DType, i int64) int64 {
	n := dtypes[d].bits
	switch dtypes[d].class {
	case classBool:
		if i != 0 {
			return 1
		}
		return 0
	case classInt:
		return i << (64 - n) >> (64 - n)
	case classUInt:
		return int64(uint64(i) << (64 - n) >> (64 - n))
	}
	return i
}

// Decode reads one stored element of type d from little-endian bytes; b must hold at least d.Size() bytes.
func Decode(d DType, b []byte) Value {
	v := Value{DType: d}
	switch d {
	case Float32:
		v.F = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case Float64:
		v.F = math.Float64frombits(binary.LittleEndian.Uint64(b))
	case Complex64:
		v.F = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		v.Im = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4:])))
	case Complex128:
		v.F = math.Float64frombits(binary.LittleEndian.Uint64(b))
		v.Im = math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))
	default:
		if code := loadInt(b, d.Size()); d.IsFloat() {
			values := NarrowValues(d)
			v.F = values[code&int64(len(values)-1)]
		} else {
			v.I = wrap(d, code)
		}
	}
	return v
}

func loadInt(b []byte, size int) int64 {
	switch size {
	case 1:
		return int64(b[0])
	case 2:
		return int64(binary.LittleEndian.Uint16(b))
	case 4:
		return int64(binary.LittleEndian.Uint32(b))
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// Encode stores the value as little-endian bytes; b must hold at least v.DType.Size() bytes.
func (v Value) Encode(b []byte) {
	switch v.DType {
	case Float32:
		binary.LittleEndian.PutUint32(b, math.Float32bits(float32(v.F)))
	case Float64:
		binary.LittleEndian.PutUint64(b, math.Float64bits(v.F))
	case Complex64:
		binary.LittleEndian.PutUint32(b, math.Float32bits(float32(v.F)))
		binary.LittleEndian.PutUint32(b[4:], math.Float32bits(float32(v.Im)))
	case Complex128:
		binary.LittleEndian.PutUint64(b, math.Float64bits(v.F))
		binary.LittleEndian.PutUint64(b[8:], math.Float64bits(v.Im))
	default:
		code := v.I
		if v.DType.IsFloat() {
			code = int64(formats[v.DType].encode(v.F))
		}
		storeInt(b, v.DType.Size(), code)
	}
}

func storeInt(b []byte, size int, i int64) {
	switch size {
	case 1:
		b[0] = byte(i)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(i))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(i))
	default:
		binary.LittleEndian.PutUint64(b, uint64(i))
	}
}

// Lowest is the least value of a type: -inf for floats that have it, the minimum for other types, false for booleans.
func Lowest(d DType) Value {
	switch dtypes[d].class {
	case classFloat:
		lo, _ := infinities(d)
		return Value{DType: d, F: lo}
	case classInt:
		return IntValue(d, -1<<(dtypes[d].bits-1))
	}
	return Zero(d)
}

// Highest is the greatest value of a type: +inf for floats that have it, the maximum for other types, true for booleans.
func Highest(d DType) Value {
	switch dtypes[d].class {
	case classFloat:
		_, hi := infinities(d)
		return Value{DType: d, F: hi}
	case classInt:
		return IntValue(d, 1<<(dtypes[d].bits-1)-1)
	case classUInt:
		return IntValue(d, -1)
	case classBool:
		return BoolValue(true)
	}
	return Zero(d)
}

// infinities gives a float type's infinities, its least and greatest value where it has none.
func infinities(d DType) (lo, hi float64) {
	if f, narrow := formats[d]; narrow && !f.Infinite() {
		return d.Limits()
	}
	return math.Inf(-1), math.Inf(1)
}

// Identity is the neutral element of a monoid operator on a type.
func Identity(op Op, d DType) Value {
	switch op {
	case Mul:
		return one(d)
	case Min:
		return Highest(d)
	case Max:
		return Lowest(d)
	case And:
		if d == Bool {
			return BoolValue(true)
		}
		return IntValue(d, -1)
	}
	return Zero(d)
}

func one(d DType) Value {
	if d.IsFloat() || d.IsComplex() {
		return Value{DType: d, F: 1}
	}
	return Value{DType: d, I: 1}
}
