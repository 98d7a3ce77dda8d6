// Element types: names in the three formats, sizes, and how to read one element.
#include <math.h>
#include <string.h>

#include "internal.h"

// Flat table in the order of enum tapc_dtype. Types narrower than a byte live in bytes, so files hold them as 8-bit integers.
static const tapc_dtype_info table[TAPC_DTYPES] = {
  [TAPC_BOOL] = {"boolean", "|b1", "BOOL", 8, 1, 1, 'b', 1},
  [TAPC_I8] = {"int8", "|i1", "I8", 8, 1, 1, 'i', 3},
  [TAPC_I16] = {"int16", "<i2", "I16", 16, 2, 2, 'i', 5},
  [TAPC_I32] = {"int32", "<i4", "I32", 32, 4, 4, 'i', 10},
  [TAPC_I64] = {"int64", "<i8", "I64", 64, 8, 8, 'i', 19},
  [TAPC_U8] = {"uint8", "|u1", "U8", 8, 1, 1, 'u', 3},
  [TAPC_U16] = {"uint16", "<u2", "U16", 16, 2, 2, 'u', 5},
  [TAPC_U32] = {"uint32", "<u4", "U32", 32, 4, 4, 'u', 10},
  [TAPC_U64] = {"uint64", "<u8", "U64", 64, 8, 8, 'u', 20},
  [TAPC_F16] = {"float16", "<f2", "F16", 16, 2, 2, 'f', 5},
  [TAPC_BF16] = {"bfloat16", NULL, "BF16", 16, 2, 2, 'f', 4},
  [TAPC_F32] = {"float32", "<f4", "F32", 32, 4, 4, 'f', 9},
  [TAPC_F64] = {"float64", "<f8", "F64", 64, 8, 8, 'f', 17},
  [TAPC_F8E4M3] = {"float8_e4m3", NULL, "F8_E4M3", 8, 1, 1, 'f', 3},
  [TAPC_F8E5M2] = {"float8_e5m2", NULL, "F8_E5M2", 8, 1, 1, 'f', 2},
  [TAPC_C64] = {"complex64", "<c8", "C64", 64, 8, 4, 'c', 9},
  [TAPC_C128] = {"complex128", "<c16", NULL, 128, 16, 8, 'c', 17},
  [TAPC_I4] = {"int4", "|i1", "I8", 4, 1, 1, 'i', 2},
  [TAPC_U4] = {"uint4", "|u1", "U8", 4, 1, 1, 'u', 2},
  [TAPC_F8E4M3FNUZ] = {"float8_e4m3fnuz", NULL, "F8_E4M3FNUZ", 8, 1, 1, 'f', 3},
  [TAPC_F8E5M2FNUZ] = {"float8_e5m2fnuz", NULL, "F8_E5M2FNUZ", 8, 1, 1, 'f', 2},
  [TAPC_F8E8M0] = {"float8_e8m0", NULL, "F8_E8M0", 8, 1, 1, 'f', 1},
  [TAPC_F6E2M3] = {"float6_e2m3", "|u1", "U8", 6, 1, 1, 'f', 3},
  [TAPC_F6E3M2] = {"float6_e3m2", "|u1", "U8", 6, 1, 1, 'f', 2},
  [TAPC_F4E2M1] = {"float4_e2m1", "|u1", "U8", 4, 1, 1, 'f', 2},
  [TAPC_I2] = {"int2", "|i1", "I8", 2, 1, 1, 'i', 2},
  [TAPC_U2] = {"uint2", "|u1", "U8", 2, 1, 1, 'u', 1},
};

// The formats of package ir/scalar; a test holds the two together.
static const tapc_float_format formats[TAPC_DTYPES] = {
  [TAPC_F16] = {5, 10, 15, 1, 0x7bff, 1, '0'},
  [TAPC_BF16] = {8, 7, 127, 1, 0x7f7f, 1, '0'},
  [TAPC_F8E5M2] = {5, 2, 15, 1, 0x7b, 1, '0'},
  [TAPC_F8E4M3] = {4, 3, 7, 0, 0x7e, 1, '0'},
  [TAPC_F8E4M3FNUZ] = {4, 3, 8, 0, 0x7f, 1, 'n'},
  [TAPC_F8E5M2FNUZ] = {5, 2, 16, 0, 0x7f, 1, 'n'},
  [TAPC_F8E8M0] = {8, 0, 127, 0, 0xfe, 0, '0'},
  [TAPC_F6E2M3] = {2, 3, 1, 0, 0x1f, 1, '0'},
  [TAPC_F6E3M2] = {3, 2, 3, 0, 0x1f, 1, '0'},
  [TAPC_F4E2M1] = {2, 1, 1, 0, 0x7, 1, '0'},
};

const tapc_dtype_info *tapc_dtype_of(int dtype) { return dtype >= TAPC_BOOL && dtype < TAPC_DTYPES ? &table[dtype] : NULL; }

const tapc_float_format *tapc_float_of(int dtype) { return formats[dtype].last ? &formats[dtype] : NULL; }

int64_t tapc_load_int(int dtype, const void *element) {
  int16_t h;
  int32_t w;
  int64_t d;
  switch (table[dtype].size) {
  case 1:
    return dtype == TAPC_BOOL ? *(const uint8_t *)element : *(const int8_t *)element;
  case 2:
    memcpy(&h, element, 2);
    return h;
  case 4:
    memcpy(&w, element, 4);
    return w;
  default:
    memcpy(&d, element, 8);
    return d;
  }
}

uint64_t tapc_load_uint(int dtype, const void *element) {
  uint64_t value = 0;
  memcpy(&value, element, table[dtype].size);
  return value;
}

// The value of a code.
static double small_float(unsigned code, const tapc_float_format *f) {
  unsigned sign = f->has_sign ? 1u << (f->exponent + f->mantissa) : 0, magnitude = code & ~sign;
  unsigned e = magnitude >> f->mantissa, m = magnitude & ((1u << f->mantissa) - 1);
  double minus = code & sign ? -1.0 : 1.0;
  if (f->infinite && magnitude == f->last + 1u) return minus * INFINITY;
  if (magnitude > f->last || (sign && code == sign && f->minus == 'n')) return NAN;
  int normal = e || !f->has_sign, scale = (int)(normal ? e : 1) - f->bias - f->mantissa;
  double value = (double)(normal ? m + (1u << f->mantissa) : m);
  for (; scale > 0; scale--) value *= 2;
  for (; scale < 0; scale++) value /= 2;
  return minus * value;
}

double tapc_load_float(int dtype, const void *element) {
  float single;
  double number;
  const tapc_float_format *format = tapc_float_of(dtype);
  if (format) return small_float((unsigned)tapc_load_uint(dtype, element), format);
  if (table[dtype].unit == 8) {
    memcpy(&number, element, 8);
    return number;
  }
  memcpy(&single, element, 4);
  return single;
}

// Appends to text while it fits; the last call that does not fit leaves "...".
static size_t append(char *text, size_t bytes, size_t used, const char *piece) {
  size_t length = strlen(piece);
  if (used + length + 5 < bytes) {
    memcpy(text + used, piece, length + 1);
    return used + length;
  }
  if (used + 4 < bytes) memcpy(text + used, "...", 4);
  return bytes;
}

char *tapc_shape_text(char *text, size_t bytes, int rank, const int64_t *shape) {
  size_t used = append(text, bytes, 0, "[");
  for (int i = 0; i < rank && used < bytes; i++) {
    char number[32];
    snprintf(number, sizeof number, "%s%lld", i ? ", " : "", (long long)shape[i]);
    used = append(text, bytes, used, number);
  }
  append(text, bytes, used, "]");
  return text;
}

char *tapc_range_text(char *text, size_t bytes, const tapc_tensor *tensor) {
  size_t used = append(text, bytes, 0, "[");
  for (int i = 0; i < tensor->rank && used < bytes; i++) {
    char number[64];
    long long start = tensor->start ? (long long)tensor->start[i] : 0;
    snprintf(number, sizeof number, "%s%lld:%lld", i ? ", " : "", start, start + (long long)tensor->shape[i]);
    used = append(text, bytes, used, number);
  }
  append(text, bytes, used, "]");
  return text;
}

int tapc_starts_at_zero(const tapc_tensor *tensor) {
  for (int i = 0; tensor->start && i < tensor->rank; i++)
    if (tensor->start[i]) return 0;
  return 1;
}

size_t tapc_count(const tapc_tensor *tensor) { return tensor->bytes / table[tensor->dtype].size; }
