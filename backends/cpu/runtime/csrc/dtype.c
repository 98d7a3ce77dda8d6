// Element types: names in the three formats, sizes, and how to read one element.
#include <math.h>
#include <string.h>

#include "internal.h"

// Flat table in the order of enum tapc_dtype. 4-bit integers live in bytes, so files hold them as 8-bit ones.
static const tapc_dtype_info table[TAPC_DTYPES] = {
    [TAPC_BOOL] = {"boolean", "|b1", "BOOL", 1, 1, 'b', 1},
    [TAPC_I8] = {"int8", "|i1", "I8", 1, 1, 'i', 3},
    [TAPC_I16] = {"int16", "<i2", "I16", 2, 2, 'i', 5},
    [TAPC_I32] = {"int32", "<i4", "I32", 4, 4, 'i', 10},
    [TAPC_I64] = {"int64", "<i8", "I64", 8, 8, 'i', 19},
    [TAPC_U8] = {"uint8", "|u1", "U8", 1, 1, 'u', 3},
    [TAPC_U16] = {"uint16", "<u2", "U16", 2, 2, 'u', 5},
    [TAPC_U32] = {"uint32", "<u4", "U32", 4, 4, 'u', 10},
    [TAPC_U64] = {"uint64", "<u8", "U64", 8, 8, 'u', 20},
    [TAPC_F16] = {"float16", "<f2", "F16", 2, 2, 'f', 5},
    [TAPC_BF16] = {"bfloat16", NULL, "BF16", 2, 2, 'f', 4},
    [TAPC_F32] = {"float32", "<f4", "F32", 4, 4, 'f', 9},
    [TAPC_F64] = {"float64", "<f8", "F64", 8, 8, 'f', 17},
    [TAPC_F8E4M3] = {"float8_e4m3", NULL, "F8_E4M3", 1, 1, 'f', 3},
    [TAPC_F8E5M2] = {"float8_e5m2", NULL, "F8_E5M2", 1, 1, 'f', 2},
    [TAPC_C64] = {"complex64", "<c8", "C64", 8, 4, 'c', 9},
    [TAPC_C128] = {"complex128", "<c16", NULL, 16, 8, 'c', 17},
    [TAPC_I4] = {"int4", "|i1", "I8", 1, 1, 'i', 2},
    [TAPC_U4] = {"uint4", "|u1", "U8", 1, 1, 'u', 2},
};

const tapc_dtype_info *tapc_dtype_of(int dtype) {
  return dtype >= TAPC_BOOL && dtype < TAPC_DTYPES ? &table[dtype] : NULL;
}

int64_t tapc_load_int(int dtype, const void *element) {
  int16_t h;
  int32_t w;
  int64_t d;
  switch (table[dtype].size) {
  case 1: return dtype == TAPC_BOOL ? *(const uint8_t *)element : *(const int8_t *)element;
  case 2: memcpy(&h, element, 2); return h;
  case 4: memcpy(&w, element, 4); return w;
  default: memcpy(&d, element, 8); return d;
  }
}

uint64_t tapc_load_uint(int dtype, const void *element) {
  uint64_t value = 0;
  memcpy(&value, element, table[dtype].size);
  return value;
}

// The value of a small float: sign, `exponent` bits, `mantissa` bits. finite: the format has no infinity, and NaN is all ones
// (float8_e4m3); otherwise the largest exponent means infinity or NaN, as in IEEE 754.
static double small_float(unsigned bits, int exponent, int mantissa, int finite) {
  unsigned top = (1u << exponent) - 1, e = bits >> mantissa & top, m = bits & ((1u << mantissa) - 1);
  int bias = (1 << (exponent - 1)) - 1;
  double sign = bits >> (exponent + mantissa) & 1 ? -1.0 : 1.0;
  if (finite && e == top && m == (1u << mantissa) - 1) return NAN;
  if (!finite && e == top) return m ? NAN : sign * INFINITY;
  int scale = (e ? (int)e : 1) - bias - mantissa;
  double value = (double)(e ? m + (1u << mantissa) : m);
  for (; scale > 0; scale--) value *= 2;
  for (; scale < 0; scale++) value /= 2;
  return sign * value;
}

double tapc_load_float(int dtype, const void *element) {
  uint16_t half;
  uint32_t word;
  float single;
  double number;
  switch (dtype) {
  case TAPC_F16: memcpy(&half, element, 2); return small_float(half, 5, 10, 0);
  case TAPC_BF16:
    memcpy(&half, element, 2);
    word = (uint32_t)half << 16;
    memcpy(&single, &word, 4);
    return single;
  case TAPC_F8E4M3: return small_float(*(const uint8_t *)element, 4, 3, 1);
  case TAPC_F8E5M2: return small_float(*(const uint8_t *)element, 5, 2, 0);
  case TAPC_F32:
  case TAPC_C64: memcpy(&single, element, 4); return single;
  default: memcpy(&number, element, 8); return number;
  }
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
