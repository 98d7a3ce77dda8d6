// The truth of lanes of four bytes, a bit for each.
TAPC_FN unsigned TAPC_NAME(tapc_bits)(TAPC_VECTOR m) {
#if TAPC_COUNT == 16 && defined(__AVX512DQ__)
  typedef int in __attribute__((vector_size(64)));
  return __builtin_ia32_cvtd2mask512((in)m);
#elif TAPC_COUNT == 8 && defined(__AVX__)
  typedef float in __attribute__((vector_size(32)));
  return (unsigned)__builtin_ia32_movmskps256((in)m);
#elif TAPC_COUNT == 4 && defined(__SSE__)
  typedef float in __attribute__((vector_size(16)));
  return (unsigned)__builtin_ia32_movmskps((in)m);
#else
  unsigned r = 0;
  for (int i = 0; i < TAPC_COUNT; i++) r |= (unsigned)(m[i] & 1) << i;
  return r;
#endif
}
