package scalar

import "math"

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

// bitcast gives the value whose stored bits are the same. The types are as wide as each other. The bits of a NaN may change, but not
// that it is one; a boolean is true if any bit is set.
func bitcast(v Value, to DType) Value {
	var b [16]byte
	v.Encode(b[:])
	return Decode(to, b[:])
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
