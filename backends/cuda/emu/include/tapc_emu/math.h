// CUDA's mathematical functions that the host's math.h does not have, and its intrinsics.
//
// The approximate intrinsics (__expf and so on) are computed exactly here: a device may differ from
// these values by the errors that the programming guide lists.
#ifndef TAPC_EMU_MATH_H
#define TAPC_EMU_MATH_H

#include "block.h"
#include "config.h"

namespace tapc_emu {

template <class To, class From>
inline To bits(From v) {
  static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
  To r;
  __builtin_memcpy(&r, &v, sizeof r);
  return r;
}

// Converts as the device does: out of range to the nearest end, not-a-number to 0.
template <class Int, class Float>
inline Int to_integer(Float v) {
  if (v != v) return 0;
  const Float low = static_cast<Float>(std::numeric_limits<Int>::min());
  const Float high = std::ldexp(Float(1), std::numeric_limits<Int>::digits);  // one more than the largest
  if (v < low) return std::numeric_limits<Int>::min();
  return v >= high ? std::numeric_limits<Int>::max() : static_cast<Int>(v);
}

// The x with erf(x) = y and erfc(x) = q, where y + q = 1 and each is given as exactly as it is known:
// a closed guess (Winitzki's), then Newton's steps on whichever of erf and erfc loses no digits.
inline double erf_inverse(double y, double q) {
  if (!(q > 0 && q < 2)) return q == 0 ? INFINITY : q == 2 ? -INFINITY : NAN;
  const double l = std::log(q * (2 - q)), a = 0.147, b = 2 / (M_PI * a) + l / 2;
  double x = std::copysign(std::sqrt(std::fmax(std::sqrt(b * b - l / a) - b, 0)), y);
  for (int step = 0; step < 5; step++) {
    const double error = q < 0.5 ? std::erfc(x) - q : q > 1.5 ? (2 - q) - std::erfc(-x) : y - std::erf(x);
    x += error * std::sqrt(M_PI) / 2 * std::exp(x * x);
  }
  return x;
}

// exp(x*x) * erfc(x), by its asymptotic series where the factors leave the range of double.
inline double scaled_erfc(double x) {
  if (x < 20) return std::exp(x * x) * std::erfc(x);
  const double r = 1 / (2 * x * x);
  return (1 - r * (1 - 3 * r * (1 - 5 * r))) / (x * std::sqrt(M_PI));
}

template <class A, class B>
using mixed = std::enable_if_t<!std::is_same_v<A, B> && ((std::is_integral_v<A> && std::is_integral_v<B>) ||
                                                         (std::is_floating_point_v<A> && std::is_floating_point_v<B>))>;

}  // namespace tapc_emu

// min and max take any two integers or any two floating numbers, as in CUDA; of a number and a
// not-a-number they give the number.
#define TAPC_EMU_MINMAX(T, MIN, MAX)                  \
  inline T min(T a, T b) { return MIN; }              \
  inline T max(T a, T b) { return MAX; }
TAPC_EMU_MINMAX(int, a < b ? a : b, a > b ? a : b)
TAPC_EMU_MINMAX(unsigned, a < b ? a : b, a > b ? a : b)
TAPC_EMU_MINMAX(long, a < b ? a : b, a > b ? a : b)
TAPC_EMU_MINMAX(unsigned long, a < b ? a : b, a > b ? a : b)
TAPC_EMU_MINMAX(long long, a < b ? a : b, a > b ? a : b)
TAPC_EMU_MINMAX(unsigned long long, a < b ? a : b, a > b ? a : b)
TAPC_EMU_MINMAX(float, fminf(a, b), fmaxf(a, b))
TAPC_EMU_MINMAX(double, fmin(a, b), fmax(a, b))
#undef TAPC_EMU_MINMAX
template <class A, class B, class = tapc_emu::mixed<A, B>>
inline auto min(A a, B b) { return min(static_cast<std::common_type_t<A, B>>(a), static_cast<std::common_type_t<A, B>>(b)); }
template <class A, class B, class = tapc_emu::mixed<A, B>>
inline auto max(A a, B b) { return max(static_cast<std::common_type_t<A, B>>(a), static_cast<std::common_type_t<A, B>>(b)); }
inline int umin(unsigned a, unsigned b) { return static_cast<int>(min(a, b)); }
inline int umax(unsigned a, unsigned b) { return static_cast<int>(max(a, b)); }

// Elementary functions in single (f) and double precision.
#define TAPC_EMU_MATH1(NAME, EXPR)                                                    \
  inline double NAME(double x) { return EXPR; }                                       \
  inline float NAME##f(float v) { const double x = v; return static_cast<float>(EXPR); } \
  inline float NAME(float v) { return NAME##f(v); }
TAPC_EMU_MATH1(rsqrt, 1 / std::sqrt(x))
TAPC_EMU_MATH1(rcbrt, 1 / std::cbrt(x))
TAPC_EMU_MATH1(sinpi, std::sin(std::remainder(x, 2.0) * M_PI))
TAPC_EMU_MATH1(cospi, std::cos(std::remainder(x, 2.0) * M_PI))
TAPC_EMU_MATH1(erfinv, tapc_emu::erf_inverse(x, 1 - x))
TAPC_EMU_MATH1(erfcinv, tapc_emu::erf_inverse(1 - x, x))
TAPC_EMU_MATH1(erfcx, tapc_emu::scaled_erfc(x))
TAPC_EMU_MATH1(normcdf, 0.5 * std::erfc(-x * M_SQRT1_2))
TAPC_EMU_MATH1(normcdfinv, -M_SQRT2 * tapc_emu::erf_inverse(1 - 2 * x, 2 * x))
#undef TAPC_EMU_MATH1
inline void sincospi(double x, double* s, double* c) { *s = sinpi(x), *c = cospi(x); }
inline void sincospif(float x, float* s, float* c) { *s = sinpif(x), *c = cospif(x); }
inline float rhypotf(float x, float y) { return static_cast<float>(1 / std::hypot(static_cast<double>(x), y)); }
inline float norm3df(float x, float y, float z) { return static_cast<float>(std::sqrt(static_cast<double>(x) * x + static_cast<double>(y) * y + static_cast<double>(z) * z)); }
inline float fdividef(float a, float b) { return a / b; }
inline float fdivide(float a, float b) { return a / b; }

// Names that the host's headers declare for themselves; macros, so that both can be.
namespace tapc_emu {
inline float powf_fast(float a, float b) { return ::powf(a, b); }
inline void sincosf_fast(float x, float* s, float* c) { *s = ::sinf(x), *c = ::cosf(x); }
}
#define __expf(x) ::expf(x)
#define __exp10f(x) ::exp10f(x)
#define __logf(x) ::logf(x)
#define __log2f(x) ::log2f(x)
#define __log10f(x) ::log10f(x)
#define __sinf(x) ::sinf(x)
#define __cosf(x) ::cosf(x)
#define __tanf(x) ::tanf(x)
#define __tanhf(x) ::tanhf(x)
#define __powf(x, y) ::tapc_emu::powf_fast(x, y)
#define __sincosf(x, s, c) ::tapc_emu::sincosf_fast(x, s, c)

inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return x >= 0 ? (x < 1 ? x : 1.0f) : 0.0f; }

// Arithmetic rounded to nearest, never contracted.
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return ::fmaf(a, b, c); }
inline float __frcp_rn(float a) { return 1 / a; }
inline float __fsqrt_rn(float a) { return ::sqrtf(a); }
inline float __frsqrt_rn(float a) { return rsqrtf(a); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return ::fma(a, b, c); }
inline double __drcp_rn(double a) { return 1 / a; }
inline double __dsqrt_rn(double a) { return ::sqrt(a); }

// Conversions in the four directions: rn nearest even, rz to zero, rd down, ru up.
#define TAPC_EMU_TO_INT(NAME, INT, FLOAT)                                                     \
  inline INT NAME##_rn(FLOAT v) { return tapc_emu::to_integer<INT>(std::nearbyint(v)); }      \
  inline INT NAME##_rz(FLOAT v) { return tapc_emu::to_integer<INT>(std::trunc(v)); }          \
  inline INT NAME##_rd(FLOAT v) { return tapc_emu::to_integer<INT>(std::floor(v)); }          \
  inline INT NAME##_ru(FLOAT v) { return tapc_emu::to_integer<INT>(std::ceil(v)); }
TAPC_EMU_TO_INT(__float2int, int, float)
TAPC_EMU_TO_INT(__float2uint, unsigned, float)
TAPC_EMU_TO_INT(__float2ll, long long, float)
TAPC_EMU_TO_INT(__float2ull, unsigned long long, float)
TAPC_EMU_TO_INT(__double2int, int, double)
TAPC_EMU_TO_INT(__double2uint, unsigned, double)
TAPC_EMU_TO_INT(__double2ll, long long, double)
TAPC_EMU_TO_INT(__double2ull, unsigned long long, double)
#undef TAPC_EMU_TO_INT
inline float __int2float_rn(int v) { return static_cast<float>(v); }
inline float __uint2float_rn(unsigned v) { return static_cast<float>(v); }
inline float __ll2float_rn(long long v) { return static_cast<float>(v); }
inline float __ull2float_rn(unsigned long long v) { return static_cast<float>(v); }
inline double __int2double_rn(int v) { return v; }
inline double __uint2double_rn(unsigned v) { return v; }
inline double __ll2double_rn(long long v) { return static_cast<double>(v); }
inline double __ull2double_rn(unsigned long long v) { return static_cast<double>(v); }
inline float __double2float_rn(double v) { return static_cast<float>(v); }

inline int __float_as_int(float v) { return tapc_emu::bits<int>(v); }
inline unsigned __float_as_uint(float v) { return tapc_emu::bits<unsigned>(v); }
inline float __int_as_float(int v) { return tapc_emu::bits<float>(v); }
inline float __uint_as_float(unsigned v) { return tapc_emu::bits<float>(v); }
inline long long __double_as_longlong(double v) { return tapc_emu::bits<long long>(v); }
inline double __longlong_as_double(long long v) { return tapc_emu::bits<double>(v); }
inline int __double2hiint(double v) { return static_cast<int>(tapc_emu::bits<uint64_t>(v) >> 32); }
inline int __double2loint(double v) { return static_cast<int>(tapc_emu::bits<uint64_t>(v)); }
inline double __hiloint2double(int hi, int lo) {
  return tapc_emu::bits<double>(static_cast<uint64_t>(static_cast<unsigned>(hi)) << 32 | static_cast<unsigned>(lo));
}

// Integer intrinsics.
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(int v) { return v == 0 ? 32 : __builtin_clz(static_cast<unsigned>(v)); }
inline int __clzll(long long v) { return v == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(v)); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned long long __brevll(unsigned long long v) {
  unsigned long long r = 0;
  for (int i = 0; i < 64; i++) r |= (v >> i & 1) << (63 - i);
  return r;
}
inline unsigned __brev(unsigned v) { return static_cast<unsigned>(__brevll(v) >> 32); }
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32); }
inline long long __mul64hi(long long a, long long b) { return static_cast<long long>(static_cast<__int128>(a) * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __mul24(int a, int b) { return static_cast<int>(static_cast<unsigned>(a << 8 >> 8) * static_cast<unsigned>(b << 8 >> 8)); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
inline unsigned __sad(int a, int b, unsigned c) { return c + (a > b ? static_cast<unsigned>(a) - b : static_cast<unsigned>(b) - a); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a > b ? a - b : b - a); }
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
  return static_cast<unsigned>((static_cast<unsigned long long>(hi) << 32 | lo) << (n & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
  return static_cast<unsigned>((static_cast<unsigned long long>(hi) << 32 | lo) >> (n & 31));
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long both = static_cast<unsigned long long>(b) << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) {
    const unsigned s = selector >> (4 * i);
    unsigned byte = static_cast<unsigned>(both >> (8 * (s & 7))) & 0xff;
    if (s & 8) byte = byte & 0x80 ? 0xff : 0;  // the selector's high bit asks for the sign
    r |= byte << (8 * i);
  }
  return r;
}
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; i++) c += static_cast<signed char>(a >> (8 * i)) * static_cast<signed char>(b >> (8 * i));
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; i++) c += (a >> (8 * i) & 0xff) * (b >> (8 * i) & 0xff);
  return c;
}

// Clocks count nanoseconds here.
inline long long clock64() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}
[[noreturn]] inline void __trap() { tapc_emu::fail("__trap()"); }
inline void __brkpt() {}
inline size_t __cvta_generic_to_shared(const void* p) { return reinterpret_cast<size_t>(p); }
inline size_t __cvta_generic_to_global(const void* p) { return reinterpret_cast<size_t>(p); }
#if !defined(__clang__)
#define __builtin_assume(condition) ((void)0)
#endif

#endif
