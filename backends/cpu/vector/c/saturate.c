// Converts float32 to integers of at most 16 bits: truncated, the nearest that there is, 0 of NaN. Below AVX-512 GCC 12 takes low bytes out of a vector one by one, unless
// they are told to be moved.
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_saturate)(TAPC_FLOATS x) {
  const TAPC_WHOLE i = __builtin_convertvector((TAPC_FLOATS)((TAPC_WHOLE)TAPC_WITHIN(x) & (TAPC_WHOLE)(x == x)), TAPC_WHOLE);
#if TAPC_SIZE == 1 && defined(__AVX2__) && !defined(__AVX512VL__)
  typedef TAPC_ELEMENT bytes __attribute__((vector_size(4 * TAPC_COUNT)));
  return __builtin_shufflevector((bytes)i, (bytes)i, TAPC_LOW);
#else
  return __builtin_convertvector(i, TAPC_VECTOR);
#endif
}
