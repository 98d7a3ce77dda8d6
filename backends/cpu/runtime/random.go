package rt

import (
	"encoding/binary"
	"math"

	"tensortapestry.org/tapc/ir/scalar"
)

// Random gives the row-major little-endian bytes of the n elements that an executable makes for an input of this
// dtype and name under --random seed. The function is defined at the head of csrc/random.c: element i depends on seed,
// name and i alone. Floats are uniform in [-1, 1) and exact, signed integers -8 to 7, unsigned ones 0 to 15, those of 2 bits
// any. It panics on an
// invalid dtype and gives nothing for n < 1.
func Random(dtype scalar.DType, seed uint64, name string, n int64) []byte {
	if dtype.Size() == 0 {
		panic("rt: no random values of " + dtype.String())
	}
	if n < 1 {
		return nil
	}
	key := mix(seed ^ mix(hashName(name)))
	out := make([]byte, 0, n*int64(dtype.Size()))
	for i := range uint64(n) {
		out = appendRandom(out, dtype, key, i)
	}
	return out
}

// RandomBelow gives what an executable makes for an input of integers that it checks to be below a limit; 0 is none.
func RandomBelow(limit int64, dtype scalar.DType, seed uint64, name string, n int64) []byte {
	out := Random(dtype, seed, name, n)
	for i := 0; limit > 0 && dtype.IsInt() && i < len(out); i += dtype.Size() {
		v := scalar.Decode(dtype, out[i:]).I
		scalar.IntValue(dtype, (v%limit+limit)%limit).Encode(out[i:])
	}
	return out
}

// golden is 2^64 divided by the golden ratio: SplitMix64's increment.
const golden = 0x9E3779B97F4A7C15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func hashName(name string) uint64 {
	h := uint64(0xCBF29CE484222325)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001B3
	}
	return h
}

func draw(key, i uint64) uint64 { return mix(key + (i+1)*golden) }

// unit is the float in [-1, 1) of a draw's top bits; every value has at most that many bits of precision.
func unit(u uint64, precision uint) float64 {
	return float64(u>>(64-precision))/float64(uint64(1)<<(precision-1)) - 1
}

func appendRandom(out []byte, dtype scalar.DType, key, i uint64) []byte {
	u := draw(key, i)
	switch dtype {
	case scalar.Float64:
		return appendFloat64(out, u)
	case scalar.Float32:
		return appendFloat32(out, u)
	case scalar.Complex64:
		return appendFloat32(appendFloat32(out, draw(key, 2*i)), draw(key, 2*i+1))
	case scalar.Complex128:
		return appendFloat64(appendFloat64(out, draw(key, 2*i)), draw(key, 2*i+1))
	case scalar.Float8E8M0:
		return appendValue(out, scalar.FloatValue(dtype, math.Ldexp(1, int(u>>60)-8)))
	}
	if f, ok := dtype.Format(); ok {
		return appendValue(out, scalar.FloatValue(dtype, unit(u, uint(f.Mantissa)+1)))
	}
	return appendValue(out, integer(dtype, u))
}

func appendValue(out []byte, v scalar.Value) []byte {
	n := len(out)
	out = append(out, make([]byte, v.DType.Size())...)
	v.Encode(out[n:])
	return out
}

func appendFloat32(out []byte, u uint64) []byte {
	return binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(unit(u, 24))))
}

func appendFloat64(out []byte, u uint64) []byte {
	return binary.LittleEndian.AppendUint64(out, math.Float64bits(unit(u, 53)))
}

func integer(dtype scalar.DType, u uint64) scalar.Value {
	bits := min(4, dtype.Bits())
	switch {
	case dtype.IsBool():
		return scalar.BoolValue(u>>63 != 0)
	case dtype.IsSigned():
		return scalar.IntValue(dtype, int64(u>>(64-bits))-1<<(bits-1))
	}
	return scalar.IntValue(dtype, int64(u>>(64-bits)))
}
