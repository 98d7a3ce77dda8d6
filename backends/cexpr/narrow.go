package cexpr

import (
	"fmt"
	"math"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
)

// decode gives the function from the code of a narrow float to the float that it stands for.
func decode(d scalar.DType) function {
	exp, mant, finite, _ := d.Format()
	name := "tapc_load_" + d.String()
	bits := 1 + exp + mant
	if d == scalar.BFloat16 {
		return def(name, fmt.Sprintf("float %s(uint16_t h) { union { uint32_t u; float f; } x; x.u = (uint32_t)h << 16; return x.f; }", name))
	}
	special := fmt.Sprintf("(h & 0x%x) == 0x%x ? 0x7fc00000u", 1<<(bits-1)-1, 1<<(bits-1)-1)
	if !finite { // the code's NaN keeps its bits; infinity has none
		top := (1<<exp - 1) << mant
		special = fmt.Sprintf("(h & 0x%x) == 0x%x ? 0x7f800000u | (uint32_t)(h & 0x%x) << %d", top, top, 1<<mant-1, 23-mant)
	}
	scale := math.Ldexp(1, 127-(1<<(exp-1)-1))
	text := fmt.Sprintf(`float %s(uint%d_t h) {
  union { uint32_t u; float f; } x;
  x.u = (uint32_t)(h & 0x%x) << %d;
  x.f *= %xf;
  x.u = %s : x.u;
  x.u |= (uint32_t)(h >> %d) << 31;
  return x.f;
}`, name, d.Bits(), 1<<(bits-1)-1, 23-mant, scale, special, bits-1)
	if d == scalar.Float16 {
		text = fmt.Sprintf(`float %s(uint16_t h) {
#if defined(__F16C__) && defined(__FLT16_MANT_DIG__) && !defined(__cplusplus)
  union { uint16_t u; _Float16 f; } x;
  x.u = h;
  return (float)x.f;
#else
%s
#endif
}`, name, inner(text))
	}
	return def(name, text)
}

// inner gives the lines of a function between its braces.
func inner(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[1:len(lines)-1], "\n")
}

// encode gives the function from a float or double to the nearest code of a narrow float, ties to even.
func encode(d, from scalar.DType) function {
	exp, mant, finite, _ := d.Format()
	name := "tapc_store_" + d.String()
	width, fraction, bias, t, u, suffix := 32, 23, 127, "float", "uint32_t", "u"
	if from == scalar.Float64 {
		width, fraction, bias, t, u, suffix = 64, 52, 1023, "double", "uint64_t", "ull"
		name += "_double"
	}
	own := 1<<(exp-1) - 1
	top := (1<<exp - 1) << mant
	limit, nan := top, top|1<<(mant-1)
	if finite {
		limit, nan = top|(1<<mant-1), top|(1<<mant-1)
	}
	anchor := math.Ldexp(1, fraction+1-own-mant)
	anchorText, anchorBits := fmt.Sprintf("%x", anchor), math.Float64bits(anchor)
	if from == scalar.Float32 {
		anchorText, anchorBits = anchorText+"f", uint64(math.Float32bits(float32(anchor)))
	}
	hex := func(x uint64) string { return fmt.Sprintf("0x%x%s", x, suffix) }
	shift := fraction - mant
	text := fmt.Sprintf(`uint%[1]d_t %[2]s(%[3]s f) {
  union { %[4]s u; %[3]s f; } x;
  x.f = f;
  const uint%[1]d_t sign = (uint%[1]d_t)(x.u >> %[5]d << %[6]d);
  x.u &= %[7]s;
  if (x.u > %[8]s) return (uint%[1]d_t)(sign | 0x%[9]x);
  if (x.u < %[10]s) {
    x.f += %[11]s;
    return (uint%[1]d_t)(sign | (x.u - %[12]s));
  }
  x.u += (x.u >> %[13]d & 1) + %[14]s;
  x.u = (x.u - %[15]s) >> %[13]d;
  return (uint%[1]d_t)(sign | (x.u > 0x%[16]x ? 0x%[16]x : x.u));
}`, d.Bits(), name, t, u, width-1, exp+mant, hex(1<<(width-1)-1), hex(uint64(1<<(width-1-fraction)-1)<<fraction), nan,
		hex(uint64(bias+1-own)<<fraction), anchorText, hex(anchorBits), shift, hex(1<<(shift-1)-1), hex(uint64(bias-own)<<fraction), limit)
	if d == scalar.Float16 && from == scalar.Float32 {
		text = fmt.Sprintf(`uint16_t %s(float f) {
#if defined(__F16C__) && defined(__FLT16_MANT_DIG__) && !defined(__cplusplus)
  union { _Float16 f; uint16_t u; } h;
  h.f = (_Float16)f;
  return h.u;
#else
%s
#endif
}`, name, inner(text))
	}
	return def(name, text)
}
