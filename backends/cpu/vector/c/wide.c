// Converts 8 or 16 integers of one or two bytes to four, with one instruction where there is one, TAPC_MOVE: GCC 12 does not find those by itself. TAPC_IN is char or short.
TAPC_FN TAPC_WIDE TAPC_NAME(tapc_wide)(TAPC_VECTOR x) {
#if TAPC_COUNT == 16 && defined(__AVX512F__) && !defined(__clang__)
  typedef TAPC_IN in __attribute__((vector_size(16 * sizeof(TAPC_IN))));
  typedef int out __attribute__((vector_size(64)));
  return (TAPC_WIDE)TAPC_MOVE(512_mask)((in)x, (out){0}, (unsigned short)-1);
#elif TAPC_COUNT == 8 && defined(__AVX2__) && !defined(__clang__)
  typedef TAPC_IN in __attribute__((vector_size(16)));
#if TAPC_SIZE == 1
  return (TAPC_WIDE)TAPC_MOVE(256)((in)__builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
#else
  return (TAPC_WIDE)TAPC_MOVE(256)((in)x);
#endif
#else
  return __builtin_convertvector(__builtin_convertvector(x, TAPC_SHORTS), TAPC_WIDE);
#endif
}
