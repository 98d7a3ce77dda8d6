package cexpr

import (
	"fmt"
	"math"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
)

// decode gives the function from the code of a narrow float to the float that it stands for.
func decode(d scalar.DType) function {
	f, _ := d.Format()
	name := "tapc_load_" + d.String()
	switch {
	case d == scalar.BFloat16:
		return def(name, fmt.Sprintf("float %s(uint16_t h) { union { uint32_t u; float f; } x; x.u = (uint32_t)h << 16; return x.f; }", name))
	case f.Unsigned: // the exponent alone; that of the least number is a subnormal's
		return def(name, fmt.Sprintf("float %s(uint8_t h) { union { uint32_t u; float f; } x; "+
			"x.u = h == 0x%x ? 0x7fc00000u : h ? (uint32_t)h << 23 : 0x400000u; return x.f; }", name, f.NaN))
	}
	magnitude, special := f.Sign()-1, ""
	switch {
	case f.Infinite(): // the code's NaN keeps its bits; infinity has none
		special = fmt.Sprintf("(h & 0x%x) == 0x%[1]x ? 0x7f800000u | (uint32_t)(h & 0x%x) << %d", f.Over, 1<<f.Mantissa-1, 23-f.Mantissa)
	case !f.HasNegativeZero():
		special = fmt.Sprintf("h == 0x%x ? 0x7fc00000u", f.NaN)
	case f.HasNaN():
		special = fmt.Sprintf("(h & 0x%x) == 0x%x ? 0x7fc00000u", magnitude, f.NaN)
	}
	if special != "" {
		special = "\n  x.u = " + special + " : x.u;"
	}
	text := fmt.Sprintf(`float %s(%s h) {
  union { uint32_t u; float f; } x;
  x.u = (uint32_t)(h & 0x%x) << %d;
  x.f *= %xf;%s
  x.u |= (uint32_t)(h >> %d) << 31;
  return x.f;
}`, name, Stored(d), magnitude, 23-f.Mantissa, math.Ldexp(1, 127-f.Bias), special, f.Exponent+f.Mantissa)
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
	f, _ := d.Format()
	name := "tapc_store_" + d.String()
	if f.Unsigned {
		return encodeUnsigned(name, f)
	}
	width, fraction, bias, t, u, suffix := 32, 23, 127, "float", "uint32_t", "u"
	if from == scalar.Float64 {
		width, fraction, bias, t, u, suffix = 64, 52, 1023, "double", "uint64_t", "ull"
		name += "_double"
	}
	anchor := math.Ldexp(1, fraction+1-f.Bias-f.Mantissa)
	anchorText, anchorBits := fmt.Sprintf("%x", anchor), math.Float64bits(anchor)
	if from == scalar.Float32 {
		anchorText, anchorBits = anchorText+"f", uint64(math.Float32bits(float32(anchor)))
	}
	hex := func(x uint64) string { return fmt.Sprintf("0x%x%s", x, suffix) }
	shift := fraction - f.Mantissa
	result := "sign | code"
	if !f.HasNegativeZero() {
		result = "code ? sign | code : 0"
	}
	text := fmt.Sprintf(`%[1]s %[2]s(%[3]s f) {
  union { %[4]s u; %[3]s f; } x;
  x.f = f;
  const %[1]s sign = (%[1]s)(x.u >> %[5]d << %[6]d);
  %[4]s code;
  x.u &= %[7]s;
  if (x.u > %[8]s) return (%[1]s)(sign | 0x%[9]x);
  if (x.u < %[10]s) {
    x.f += %[11]s;
    code = x.u - %[12]s;
  } else {
    x.u += (x.u >> %[13]d & 1) + %[14]s;
    code = (x.u - %[15]s) >> %[13]d;
    if (code > 0x%[16]x) code = 0x%[17]x;
  }
  return (%[1]s)(%[18]s);
}`, Stored(d), name, t, u, width-1, f.Exponent+f.Mantissa, hex(1<<(width-1)-1), hex(uint64(1<<(width-1-fraction)-1)<<fraction), f.NaN,
		hex(uint64(bias+1-f.Bias)<<fraction), anchorText, hex(anchorBits), shift, hex(1<<(shift-1)-1), hex(uint64(bias-f.Bias)<<fraction),
		f.Last, f.Over, result)
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

// encodeUnsigned gives the function from a float or double to the nearest power of two, the greater of two: the exponent of a double,
// in which all of them are normal numbers. What is less than the least is too small even rounded.
func encodeUnsigned(name string, f scalar.Format) function {
	return def(name, fmt.Sprintf(`uint8_t %s(double f) {
  union { uint64_t u; double f; } x;
  x.f = f;
  const int64_t code = (int64_t)((x.u + 0x8000000000000ull) >> 52) - %d;
  return (uint8_t)(code < 0 || code > 0x%x ? 0x%x : code);
}`, name, 1023-f.Bias, f.Last, f.Over))
}
