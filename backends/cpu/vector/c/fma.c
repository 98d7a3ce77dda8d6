#if !defined(__has_builtin)
#define __has_builtin(x) 0
#endif
// a·b + c, rounded once where the processor has an instruction for it.
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_fma)(TAPC_VECTOR a, TAPC_VECTOR b, TAPC_VECTOR c) {
#if !defined(TAPC_FAST_FMA) && !defined(__FMA__) && !defined(__aarch64__)
  return a * b + c;
#elif __has_builtin(__builtin_elementwise_fma)
  return __builtin_elementwise_fma(a, b, c);
#elif TAPC_BYTES == 64 && defined(__AVX512F__)
  return TAPC_X86(vfmadd, 512_mask)(a, b, c, (TAPC_LANES_MASK)-1, 4);
#elif TAPC_BYTES == 32 && defined(__FMA__)
  return TAPC_X86(vfmadd, 256)(a, b, c);
#elif TAPC_BYTES == 16 && defined(__FMA__)
  return TAPC_X86(vfmadd, )(a, b, c);
#elif TAPC_BYTES == 16 && defined(__aarch64__) && !defined(__clang__)
  return TAPC_ARM_FMA(a, b, c);
#elif defined(__clang__)
  _Pragma("clang fp contract(fast)") return a * b + c;
#else
  for (int i = 0; i < TAPC_COUNT; i++) c[i] = TAPC_ONE_FMA(a[i], b[i], c[i]);
  return c;
#endif
}
