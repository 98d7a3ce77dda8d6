// Package scalar holds what tapc knows of single numbers: element types, exact values, operators and the scalar
// expressions that kernel bodies are made of.
//
// It is the one place that says what an operator means on an element type; the reference evaluator runs these definitions
// and every back end must agree with them. It imports nothing of tapc. Read next: package dialects/tensorops.
package scalar

import (
	"fmt"
	"math"
)

// DType is the type of a tensor's elements.
type DType uint8

// The element types. The order is part of the executables' C interface (tapc_rt.h).
const (
	Invalid DType = iota
	Bool
	Int8
	Int16
	Int32
	Int64
	UInt8
	UInt16
	UInt32
	UInt64
	Float16
	BFloat16
	Float32
	Float64
	Float8E4M3
	Float8E5M2
	Complex64
	Complex128
	Int4
	UInt4
	Float8E4M3FNUZ
	Float8E5M2FNUZ
	Float8E8M0 // powers of two, the scales of microscaling formats; it has no arithmetic
	Float6E2M3
	Float6E3M2
	Float4E2M1
	Int2
	UInt2
	numDTypes
)

type class uint8

const (
	classNone class = iota
	classBool
	classInt
	classUInt
	classFloat
	classComplex
)

type dtypeInfo struct {
	name  string
	class class
	bits  int
}

var dtypes = [numDTypes]dtypeInfo{
	Invalid:    {"invalid", classNone, 0},
	Bool:       {"boolean", classBool, 8},
	Int8:       {"int8", classInt, 8},
	Int16:      {"int16", classInt, 16},
	Int32:      {"int32", classInt, 32},
	Int64:      {"int64", classInt, 64},
	UInt8:      {"uint8", classUInt, 8},
	UInt16:     {"uint16", classUInt, 16},
	UInt32:     {"uint32", classUInt, 32},
	UInt64:     {"uint64", classUInt, 64},
	Float16:    {"float16", classFloat, 16},
	BFloat16:   {"bfloat16", classFloat, 16},
	Float32:    {"float32", classFloat, 32},
	Float64:    {"float64", classFloat, 64},
	Float8E4M3: {"float8_e4m3", classFloat, 8},
	Float8E5M2: {"float8_e5m2", classFloat, 8},
	Complex64:  {"complex64", classComplex, 64},
	Complex128: {"complex128", classComplex, 128},
	Int4:       {"int4", classInt, 4},
	UInt4:      {"uint4", classUInt, 4},

	Float8E4M3FNUZ: {"float8_e4m3fnuz", classFloat, 8},
	Float8E5M2FNUZ: {"float8_e5m2fnuz", classFloat, 8},
	Float8E8M0:     {"float8_e8m0", classFloat, 8},
	Float6E2M3:     {"float6_e2m3", classFloat, 6},
	Float6E3M2:     {"float6_e3m2", classFloat, 6},
	Float4E2M1:     {"float4_e2m1", classFloat, 4},
	Int2:           {"int2", classInt, 2},
	UInt2:          {"uint2", classUInt, 2},
}

// DTypes gives every element type in order.
func DTypes() []DType {
	all := make([]DType, 0, numDTypes-1)
	for d := Invalid + 1; d < numDTypes; d++ {
		all = append(all, d)
	}
	return all
}

// String gives the type's name as graph files write it.
func (d DType) String() string {
	if d >= numDTypes {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return dtypes[d].name
}

// ParseDType finds an element type by its exact name.
func ParseDType(s string) (DType, error) {
	for d := Invalid + 1; d < numDTypes; d++ {
		if dtypes[d].name == s {
			return d, nil
		}
	}
	return Invalid, fmt.Errorf("unknown dtype %q", s)
}

// Bits is the width of the type's numbers in bits; a boolean counts 8.
func (d DType) Bits() int { return dtypes[d].bits }

// Valid says whether d is an element type.
func (d DType) Valid() bool { return d > Invalid && d < numDTypes }

// Size is what one stored element takes, in bytes; types narrower than a byte take one byte each.
func (d DType) Size() int { return (dtypes[d].bits + 7) / 8 }

// IsBool says whether d is the boolean type.
func (d DType) IsBool() bool { return d == Bool }

// IsInt says whether d is a signed or unsigned integer type.
func (d DType) IsInt() bool { return dtypes[d].class == classInt || dtypes[d].class == classUInt }

// IsSigned says whether d is a signed integer type.
func (d DType) IsSigned() bool { return dtypes[d].class == classInt }

// IsFloat says whether d is a real floating point type.
func (d DType) IsFloat() bool { return dtypes[d].class == classFloat }

// IsComplex says whether d is a complex type.
func (d DType) IsComplex() bool { return dtypes[d].class == classComplex }

// IsNumeric says whether arithmetic is defined on d: every type but boolean and float8_e8m0, which has neither 0 nor a sign.
func (d DType) IsNumeric() bool { return d != Invalid && d != Bool && d != Float8E8M0 }

// IsReal says whether arithmetic and order are defined on d: integers and floats.
func (d DType) IsReal() bool { return d.IsNumeric() && !d.IsComplex() }

// IsFraction says whether d is a real floating point type with arithmetic.
func (d DType) IsFraction() bool { return d.IsNumeric() && d.IsFloat() }

// Part is the type of the parts of a complex type; any other type is its own.
func (d DType) Part() DType {
	switch d {
	case Complex64:
		return Float32
	case Complex128:
		return Float64
	}
	return d
}

// Pair is the complex type whose parts have the type d; ok is false if there is none.
func (d DType) Pair() (pair DType, ok bool) {
	switch d {
	case Float32:
		return Complex64, true
	case Float64:
		return Complex128, true
	}
	return Invalid, false
}

// Wide is the type that sums and compositions over elements of type d are computed in: float32 for narrower floats, else d.
func (d DType) Wide() DType {
	if d.IsFloat() && d.Bits() < 32 {
		return Float32
	}
	return d
}

// Limits gives the least and the greatest finite value of a float type.
func (d DType) Limits() (lo, hi float64) {
	switch d {
	case Float32:
		return -math.MaxFloat32, math.MaxFloat32
	case Float64:
		return -math.MaxFloat64, math.MaxFloat64
	}
	f := formats[d]
	hi = f.decode(f.Last)
	if f.Unsigned {
		return f.decode(0), hi
	}
	return -hi, hi
}
