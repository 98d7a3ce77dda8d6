package rt

import (
	"encoding/binary"
	"math"

	"tensortapestry.org/tapc/ir/scalar"
)

// Random gives the row-major little-endian bytes of the n elements that an executable makes for an input of this
// dtype and name under --random seed. The function is defined at the head of csrc/random.c: element i depends on seed,
// name and i alone. Floats are uniform in [-1, 1) and exact, signed integers -8 to 7, unsigned ones 0 to 15. It panics on an
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
	case scalar.Float16:
		return binary.LittleEndian.AppendUint16(out, uint16(smallBits(unit(u, 11), 15, 10, 15)))
	case scalar.BFloat16:
		return binary.LittleEndian.AppendUint16(out, uint16(smallBits(unit(u, 8), 15, 7, 127)))
	case scalar.Float8E4M3:
		return append(out, byte(smallBits(unit(u, 4), 7, 3, 7)))
	case scalar.Float8E5M2:
		return append(out, byte(smallBits(unit(u, 3), 7, 2, 15)))
	case scalar.Complex64:
		return appendFloat32(appendFloat32(out, draw(key, 2*i)), draw(key, 2*i+1))
	case scalar.Complex128:
		return appendFloat64(appendFloat64(out, draw(key, 2*i)), draw(key, 2*i+1))
	default:
		return appendInteger(out, dtype, u)
	}
}

func appendFloat32(out []byte, u uint64) []byte {
	return binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(unit(u, 24))))
}

func appendFloat64(out []byte, u uint64) []byte {
	return binary.LittleEndian.AppendUint64(out, math.Float64bits(unit(u, 53)))
}

func appendInteger(out []byte, dtype scalar.DType, u uint64) []byte {
	value := u >> 60
	if dtype.IsBool() {
		value = u >> 63
	} else if dtype.IsSigned() {
		value -= 8 // modulo 2^64: the low bytes are the two's complement
	}
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], value)
	return append(out, word[:dtype.Size()]...)
}

// smallBits encodes a value that a narrow float holds exactly: its sign bit's position, stored mantissa bits, exponent bias.
func smallBits(value float64, sign, mantissa, bias uint) uint {
	if value == 0 {
		return 0
	}
	fraction, exponent := math.Frexp(math.Abs(value)) // fraction in [0.5, 1)
	significand := uint(math.Ldexp(fraction, int(mantissa)+1))
	bits := (uint(exponent-1)+bias)<<mantissa | significand&(1<<mantissa-1)
	if value < 0 {
		bits |= 1 << sign
	}
	return bits
}
