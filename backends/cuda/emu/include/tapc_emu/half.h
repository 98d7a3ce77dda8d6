// __half and __nv_bfloat16: 16-bit formats that compute in float and round once to nearest even.
//
// A float holds sums, products, quotients and square roots of either format exactly enough that one
// more rounding gives the correctly rounded result; fused multiply-add goes through double.
#ifndef TAPC_EMU_HALF_H
#define TAPC_EMU_HALF_H

#include "config.h"
#include "math.h"
#include "vector.h"

namespace tapc_emu {

// A binary format of 16 bits: sign, exponent, mantissa.
struct Half { static constexpr int exponent_bits = 5, mantissa_bits = 10; };
struct Brain { static constexpr int exponent_bits = 8, mantissa_bits = 7; };

enum class Rounding { nearest, zero, down, up };

template <class F>
inline uint16_t encode(double v, Rounding rounding = Rounding::nearest) {
  constexpr int bias = (1 << (F::exponent_bits - 1)) - 1;
  constexpr uint16_t infinity = ((1 << F::exponent_bits) - 1) << F::mantissa_bits;
  const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  const double size = std::fabs(v);
  if (v != v) return 0x7fff;  // the device's canonical not-a-number
  if (std::isinf(v)) return sign | infinity;
  if (size == 0) return sign;
  const int exponent = std::max(std::ilogb(size), 1 - bias);
  const double scaled = std::ldexp(size, F::mantissa_bits - exponent);  // an exact scaling
  const bool inward = rounding == Rounding::zero || rounding == (sign ? Rounding::up : Rounding::down);
  const bool outward = rounding == (sign ? Rounding::down : Rounding::up);
  const double steps = inward ? std::floor(scaled) : outward ? std::ceil(scaled) : std::nearbyint(scaled);
  // Steps of the subnormals begin at 0; a normal number's hidden bit adds one to the exponent field.
  const int packed = static_cast<int>(steps) + ((exponent - 1 + bias) << F::mantissa_bits);
  if (packed < infinity) return sign | static_cast<uint16_t>(packed);
  return sign | (inward ? infinity - 1 : infinity);
}

template <class F>
inline float decode(uint16_t bits) {
  const int field = bits >> F::mantissa_bits & ((1 << F::exponent_bits) - 1);
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t mantissa = static_cast<uint32_t>(bits & ((1 << F::mantissa_bits) - 1)) << (23 - F::mantissa_bits);
  constexpr int bias = (1 << (F::exponent_bits - 1)) - 1;
  if (field == (1 << F::exponent_bits) - 1) return tapc_emu::bits<float>(sign | 0x7f800000u | mantissa);
  if (field != 0) return tapc_emu::bits<float>(sign | static_cast<uint32_t>(field - bias + 127) << 23 | mantissa);
  const float size = std::ldexp(static_cast<float>(mantissa), 1 - bias - 23);
  return tapc_emu::bits<float>(tapc_emu::bits<uint32_t>(size) | sign);
}

template <>
inline float decode<Brain>(uint16_t bits) { return tapc_emu::bits<float>(static_cast<uint32_t>(bits) << 16); }

// A float to the nearest value of F, by integer arithmetic.
template <class F>
inline uint16_t round_float(float v) { return encode<F>(v); }

template <>
inline uint16_t round_float<Brain>(float v) {
  const uint32_t b = tapc_emu::bits<uint32_t>(v);
  if (v != v) return 0x7fff;
  return static_cast<uint16_t>((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

template <>
inline uint16_t round_float<Half>(float v) {
  const uint32_t b = tapc_emu::bits<uint32_t>(v), size = b & 0x7fffffff;
  if (size < 0x38800000 || size >= 0x47800000) return encode<Half>(v);  // subnormal, overflow, not a number
  const uint32_t rounded = size - 0x38000000 + 0xfff + (size >> 13 & 1);
  return static_cast<uint16_t>((b >> 16 & 0x8000) | rounded >> 13);
}

template <class F>
struct Small {
  uint16_t bits;
  Small() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Small(T v) : bits(std::is_same_v<T, float> ? round_float<F>(static_cast<float>(v)) : encode<F>(static_cast<double>(v))) {}
  operator float() const { return decode<F>(bits); }
  static Small of_bits(uint16_t b) { Small s; s.bits = b; return s; }
  Small& operator+=(Small o) { return *this = *this + o; }
  Small& operator-=(Small o) { return *this = *this - o; }
  Small& operator*=(Small o) { return *this = *this * o; }
  Small& operator/=(Small o) { return *this = *this / o; }
  friend Small operator+(Small a, Small b) { return Small(decode<F>(a.bits) + decode<F>(b.bits)); }
  friend Small operator-(Small a, Small b) { return Small(decode<F>(a.bits) - decode<F>(b.bits)); }
  friend Small operator*(Small a, Small b) { return Small(decode<F>(a.bits) * decode<F>(b.bits)); }
  friend Small operator/(Small a, Small b) { return Small(decode<F>(a.bits) / decode<F>(b.bits)); }
  friend Small operator-(Small a) { return of_bits(a.bits ^ 0x8000); }
  friend Small operator+(Small a) { return a; }
  friend bool operator==(Small a, Small b) { return decode<F>(a.bits) == decode<F>(b.bits); }
  friend bool operator!=(Small a, Small b) { return decode<F>(a.bits) != decode<F>(b.bits); }
  friend bool operator<(Small a, Small b) { return decode<F>(a.bits) < decode<F>(b.bits); }
  friend bool operator>(Small a, Small b) { return decode<F>(a.bits) > decode<F>(b.bits); }
  friend bool operator<=(Small a, Small b) { return decode<F>(a.bits) <= decode<F>(b.bits); }
  friend bool operator>=(Small a, Small b) { return decode<F>(a.bits) >= decode<F>(b.bits); }
};

template <class F>
struct alignas(4) Pair {
  Small<F> x, y;
  Pair() = default;
  Pair(Small<F> a, Small<F> b) : x(a), y(b) {}
  friend Pair operator+(Pair a, Pair b) { return Pair(a.x + b.x, a.y + b.y); }
  friend Pair operator-(Pair a, Pair b) { return Pair(a.x - b.x, a.y - b.y); }
  friend Pair operator*(Pair a, Pair b) { return Pair(a.x * b.x, a.y * b.y); }
  friend Pair operator/(Pair a, Pair b) { return Pair(a.x / b.x, a.y / b.y); }
  friend Pair operator-(Pair a) { return Pair(-a.x, -a.y); }
  Pair& operator+=(Pair o) { return *this = *this + o; }
  Pair& operator-=(Pair o) { return *this = *this - o; }
  Pair& operator*=(Pair o) { return *this = *this * o; }
};

template <class F>
inline Small<F> fused(Small<F> a, Small<F> b, Small<F> c) {
  return Small<F>::of_bits(encode<F>(std::fma(static_cast<double>(decode<F>(a.bits)), static_cast<double>(decode<F>(b.bits)),
                                              static_cast<double>(decode<F>(c.bits)))));
}

template <class F>
inline bool is_nan(Small<F> a) { return decode<F>(a.bits) != decode<F>(a.bits); }

}  // namespace tapc_emu

using __half = tapc_emu::Small<tapc_emu::Half>;
using __half2 = tapc_emu::Pair<tapc_emu::Half>;
using half = __half;
using half2 = __half2;
using __nv_bfloat16 = tapc_emu::Small<tapc_emu::Brain>;
using __nv_bfloat162 = tapc_emu::Pair<tapc_emu::Brain>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

// Conversions, whose names differ between the two formats. S is the scalar type, P the pair.
#define TAPC_EMU_CONVERSIONS(F, S, P, FROM, TO, FROM2, FROM22, TO22)                                 \
  inline S FROM(float v) { return S(v); }                                                            \
  inline S FROM##_rn(float v) { return S(v); }                                                       \
  inline S FROM##_rz(float v) { return S::of_bits(tapc_emu::encode<F>(v, tapc_emu::Rounding::zero)); } \
  inline S FROM##_rd(float v) { return S::of_bits(tapc_emu::encode<F>(v, tapc_emu::Rounding::down)); } \
  inline S FROM##_ru(float v) { return S::of_bits(tapc_emu::encode<F>(v, tapc_emu::Rounding::up)); } \
  inline float TO(S v) { return v; }                                                                 \
  inline P FROM2(float v) { return P(S(v), S(v)); }                                                  \
  inline P FROM22(float2 v) { return P(S(v.x), S(v.y)); }                                            \
  inline float2 TO22(P v) { return make_float2(v.x, v.y); }                                          \
  inline float __low2float(P v) { return v.x; }                                                      \
  inline float __high2float(P v) { return v.y; }
TAPC_EMU_CONVERSIONS(tapc_emu::Half, __half, __half2, __float2half, __half2float, __float2half2_rn, __float22half2_rn, __half22float2)
TAPC_EMU_CONVERSIONS(tapc_emu::Brain, __nv_bfloat16, __nv_bfloat162, __float2bfloat16, __bfloat162float, __float2bfloat162_rn,
                     __float22bfloat162_rn, __bfloat1622float2)
#undef TAPC_EMU_CONVERSIONS
inline __half2 __floats2half2_rn(float a, float b) { return __half2(a, b); }
inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return __nv_bfloat162(a, b); }
inline __half __double2half(double v) { return __half(v); }
inline __nv_bfloat16 __double2bfloat16(double v) { return __nv_bfloat16(v); }
inline __half __int2half_rn(int v) { return __half(v); }
inline __nv_bfloat16 __int2bfloat16_rn(int v) { return __nv_bfloat16(v); }
inline int __half2int_rn(__half v) { return __float2int_rn(v); }
inline int __half2int_rz(__half v) { return __float2int_rz(v); }
inline int __bfloat162int_rn(__nv_bfloat16 v) { return __float2int_rn(v); }
inline int __bfloat162int_rz(__nv_bfloat16 v) { return __float2int_rz(v); }
inline unsigned short __half_as_ushort(__half v) { return v.bits; }
inline short __half_as_short(__half v) { return static_cast<short>(v.bits); }
inline __half __ushort_as_half(unsigned short v) { return __half::of_bits(v); }
inline __half __short_as_half(short v) { return __half::of_bits(static_cast<uint16_t>(v)); }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 v) { return v.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short v) { return __nv_bfloat16::of_bits(v); }
inline __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
inline __half2 __half2half2(__half a) { return __half2(a, a); }
inline __half2 make_half2(__half a, __half b) { return __half2(a, b); }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return __nv_bfloat162(a, a); }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }

// Functions whose names the two formats share; the second form works on pairs.
#define TAPC_EMU_SMALL template <class F> inline tapc_emu::Small<F>
#define TAPC_EMU_PAIR template <class F> inline tapc_emu::Pair<F>
#define TAPC_EMU_BINARY(NAME, EXPR)                                                            \
  TAPC_EMU_SMALL NAME(tapc_emu::Small<F> a, tapc_emu::Small<F> b) { return EXPR; }             \
  TAPC_EMU_PAIR NAME##2(tapc_emu::Pair<F> a, tapc_emu::Pair<F> b) { return {NAME(a.x, b.x), NAME(a.y, b.y)}; }
TAPC_EMU_BINARY(__hadd, a + b)
TAPC_EMU_BINARY(__hsub, a - b)
TAPC_EMU_BINARY(__hmul, a * b)
TAPC_EMU_BINARY(__hadd_rn, a + b)
TAPC_EMU_BINARY(__hsub_rn, a - b)
TAPC_EMU_BINARY(__hmul_rn, a * b)
TAPC_EMU_BINARY(__hdiv, a / b)
TAPC_EMU_BINARY(__hmax, tapc_emu::is_nan(a) ? b : tapc_emu::is_nan(b) ? a : a > b ? a : b)
TAPC_EMU_BINARY(__hmin, tapc_emu::is_nan(a) ? b : tapc_emu::is_nan(b) ? a : a < b ? a : b)
TAPC_EMU_BINARY(__hmax_nan, tapc_emu::is_nan(a) ? a : tapc_emu::is_nan(b) ? b : a > b ? a : b)
TAPC_EMU_BINARY(__hmin_nan, tapc_emu::is_nan(a) ? a : tapc_emu::is_nan(b) ? b : a < b ? a : b)
#undef TAPC_EMU_BINARY

TAPC_EMU_SMALL __hfma(tapc_emu::Small<F> a, tapc_emu::Small<F> b, tapc_emu::Small<F> c) { return tapc_emu::fused(a, b, c); }
TAPC_EMU_PAIR __hfma2(tapc_emu::Pair<F> a, tapc_emu::Pair<F> b, tapc_emu::Pair<F> c) {
  return {tapc_emu::fused(a.x, b.x, c.x), tapc_emu::fused(a.y, b.y, c.y)};
}

#define TAPC_EMU_UNARY(NAME, NAME2, EXPR)                                                      \
  TAPC_EMU_SMALL NAME(tapc_emu::Small<F> a) {                                                  \
    const double v = static_cast<float>(a);                                                    \
    (void)v;                                                                                   \
    return tapc_emu::Small<F>(EXPR);                                                           \
  }                                                                                            \
  TAPC_EMU_PAIR NAME2(tapc_emu::Pair<F> a) { return {NAME(a.x), NAME(a.y)}; }
TAPC_EMU_UNARY(__hneg, __hneg2, -a)
TAPC_EMU_UNARY(__habs, __habs2, tapc_emu::Small<F>::of_bits(a.bits & 0x7fff))
TAPC_EMU_UNARY(hexp, h2exp, std::exp(v))
TAPC_EMU_UNARY(hexp2, h2exp2, std::exp2(v))
TAPC_EMU_UNARY(hlog, h2log, std::log(v))
TAPC_EMU_UNARY(hlog2, h2log2, std::log2(v))
TAPC_EMU_UNARY(hsqrt, h2sqrt, std::sqrt(v))
TAPC_EMU_UNARY(hrsqrt, h2rsqrt, 1 / std::sqrt(v))
TAPC_EMU_UNARY(hrcp, h2rcp, 1 / v)
TAPC_EMU_UNARY(hsin, h2sin, std::sin(v))
TAPC_EMU_UNARY(hcos, h2cos, std::cos(v))
TAPC_EMU_UNARY(htanh, h2tanh, std::tanh(v))
TAPC_EMU_UNARY(hfloor, h2floor, std::floor(v))
TAPC_EMU_UNARY(hceil, h2ceil, std::ceil(v))
TAPC_EMU_UNARY(htrunc, h2trunc, std::trunc(v))
TAPC_EMU_UNARY(hrint, h2rint, std::nearbyint(v))
#undef TAPC_EMU_UNARY

#define TAPC_EMU_COMPARE(NAME, OP) \
  template <class F> inline bool NAME(tapc_emu::Small<F> a, tapc_emu::Small<F> b) { return a OP b; }
TAPC_EMU_COMPARE(__heq, ==)
TAPC_EMU_COMPARE(__hlt, <)
TAPC_EMU_COMPARE(__hle, <=)
TAPC_EMU_COMPARE(__hgt, >)
TAPC_EMU_COMPARE(__hge, >=)
#undef TAPC_EMU_COMPARE
template <class F> inline bool __hne(tapc_emu::Small<F> a, tapc_emu::Small<F> b) { return a < b || a > b; }  // ordered
template <class F> inline bool __hisnan(tapc_emu::Small<F> a) { return tapc_emu::is_nan(a); }
template <class F> inline int __hisinf(tapc_emu::Small<F> a) { return std::isinf(static_cast<float>(a)) ? (a.bits >> 15 ? -1 : 1) : 0; }
TAPC_EMU_SMALL __low2half(tapc_emu::Pair<F> v) { return v.x; }
TAPC_EMU_SMALL __high2half(tapc_emu::Pair<F> v) { return v.y; }
TAPC_EMU_SMALL __low2bfloat16(tapc_emu::Pair<F> v) { return v.x; }
TAPC_EMU_SMALL __high2bfloat16(tapc_emu::Pair<F> v) { return v.y; }
TAPC_EMU_PAIR __lowhigh2highlow(tapc_emu::Pair<F> v) { return {v.y, v.x}; }
#undef TAPC_EMU_SMALL
#undef TAPC_EMU_PAIR

#endif
