// Random inputs that anyone can repeat: package rt's Random in Go gives the same bytes.
//
// Element i of tensor NAME under seed S is made from the 64-bit draw
//     u(i) = mix(key + (i + 1) * 0x9E3779B97F4A7C15),   key = mix(S ^ mix(fnv(NAME)))
// with all arithmetic modulo 2^64, i the row-major position from 0, fnv the 64-bit FNV-1a hash of the name's bytes, and mix
// the finisher of SplitMix64 (Steele, Lea, Flood 2014). From the draw's top bits:
//     float with p bits of precision   (u >> (64 - p)) * 2^(1-p) - 1: uniform in [-1, 1), every value exact
//     integer v of an input whose values must be below a limit: v modulo the limit, from 0 on; else
//     signed integer                   (u >> 60) - 8: -8 to 7; int2 (u >> 62) - 2: -2 to 1
//     unsigned integer                 u >> 60: 0 to 15; uint2 u >> 62: 0 to 3
//     boolean                          u >> 63
//     complex                          real part from draw 2i, imaginary part from draw 2i + 1
//     float8_e8m0                      2^((u >> 60) - 8): 2^-8 to 2^7
// p is the number of stored mantissa bits and one: 53 for float64, 24 float32, 11 float16, 4 float8_e4m3.
#include <string.h>

#include "internal.h"

static const uint64_t golden = 0x9E3779B97F4A7C15u;

static uint64_t mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static uint64_t hash_name(const char *name) {
  uint64_t h = 0xCBF29CE484222325u;
  for (; *name; name++) h = (h ^ (unsigned char)*name) * 0x100000001B3u;
  return h;
}

static uint64_t draw(uint64_t key, uint64_t i) { return mix(key + (i + 1) * golden); }

static double real(uint64_t u, int precision) { return (double)(int64_t)(u >> (64 - precision)) / (double)((uint64_t)1 << (precision - 1)) - 1.0; }

// The code of a value that a narrow float holds exactly.
static unsigned small_bits(double value, const tapc_float_format *f) {
  unsigned sign = value < 0 ? 1u << (f->exponent + f->mantissa) : 0, exponent = f->bias;
  if (value == 0) return 0;
  if (value < 0) value = -value;
  for (; value < 1 && exponent > 1; value *= 2) exponent--;
  return sign | ((exponent << f->mantissa) + (unsigned)(value * (1u << f->mantissa)) - (1u << f->mantissa));
}

static void put_single(unsigned char *to, uint64_t u) {
  float f = (float)real(u, 24);
  memcpy(to, &f, 4);
}

static void put_double(unsigned char *to, uint64_t u) {
  double d = real(u, 53);
  memcpy(to, &d, 8);
}

static void put_integer(unsigned char *to, uint64_t u, const tapc_dtype_info *info, int64_t limit) {
  int shift = info->kind == 'b' ? 63 : info->bits == 2 ? 62 : 60;
  int64_t value = (int64_t)(u >> shift) - (info->kind == 'i' ? (int64_t)1 << (63 - shift) : 0);
  if (limit > 0) value = (value % limit + limit) % limit;
  memcpy(to, &value, info->size);
}

static void put_small(unsigned char *to, uint64_t u, const tapc_float_format *f, size_t size) {
  unsigned stored = f->has_sign ? small_bits(real(u, f->mantissa + 1), f) : (unsigned)(u >> 60) + f->bias - 8;
  uint16_t half = (uint16_t)stored;
  memcpy(to, &half, size);
}

static void put_random(unsigned char *to, const tapc_tensor *tensor, uint64_t key, uint64_t i) {
  int dtype = tensor->dtype;
  uint64_t u = draw(key, i);
  const tapc_float_format *format = tapc_float_of(dtype);
  switch (dtype) {
  case TAPC_F64:
    put_double(to, u);
    return;
  case TAPC_F32:
    put_single(to, u);
    return;
  case TAPC_C64:
    put_single(to, draw(key, 2 * i));
    put_single(to + 4, draw(key, 2 * i + 1));
    return;
  case TAPC_C128:
    put_double(to, draw(key, 2 * i));
    put_double(to + 8, draw(key, 2 * i + 1));
    return;
  default:
    break;
  }
  if (format) put_small(to, u, format, tapc_dtype_of(dtype)->size);
  else put_integer(to, u, tapc_dtype_of(dtype), tensor->limit);
}

void tapc_random(const tapc_tensor *tensor, uint64_t seed, void *memory) {
  uint64_t key = mix(seed ^ mix(hash_name(tensor->name)));
  size_t size = tapc_dtype_of(tensor->dtype)->size, n = tapc_count(tensor);
  unsigned char *to = memory;
  for (size_t i = 0; i < n; i++) put_random(to + i * size, tensor, key, i);
}
