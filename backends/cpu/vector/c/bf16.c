// Numbers of bfloat16, and the bits of float32 numbers that are rounded to them, to nearest even; NaN stays NaN.
TAPC_FN TAPC_FLOATS TAPC_NAME(tapc_from)(TAPC_VECTOR x) { return (TAPC_FLOATS)(__builtin_convertvector(x, TAPC_BITS) << 16); }

TAPC_FN TAPC_BITS TAPC_NAME(tapc_to)(TAPC_BITS x) {
  const TAPC_BITS nan = (TAPC_BITS)((TAPC_WHOLE)(x & 0x7fffffffu) > 0x7f800000);
  return ((x + 0x7fffu + (x >> 16 & 1u)) >> 16 & ~nan) | ((x >> 16 | 0x40u) & nan);
}
