// Writes a vector past the caches, to an address that is a multiple of its size.
TAPC_FN void TAPC_NAME(tapc_stream)(TAPC_ELEMENT *p, TAPC_VECTOR v) {
#if defined(__clang__)
  __builtin_nontemporal_store(v, (TAPC_VECTOR *)p);
#elif TAPC_BYTES == 64 && defined(__AVX512F__)
  __builtin_ia32_movntps512((float *)p, (TAPC_FLOATS)v);
#elif TAPC_BYTES == 32 && defined(__AVX__)
  __builtin_ia32_movntps256((float *)p, (TAPC_FLOATS)v);
#elif TAPC_BYTES == 16 && defined(__SSE__)
  __builtin_ia32_movntps((float *)p, (TAPC_FLOATS)v);
#else
  *(TAPC_VECTOR *)p = v;
#endif
}
