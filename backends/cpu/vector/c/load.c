// Reads n values; the lanes behind them are 0. Where processors read and write some lanes of a vector, they do: through memory, as memcpy has it, a vector would wait for what was
// written in pieces.
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_load)(const TAPC_ELEMENT *p, int n) {
  if (n == TAPC_COUNT) return *(const TAPC_LOOSE *)p;
#ifdef TAPC_HALF
  if (n == TAPC_COUNT / 2) return __builtin_shufflevector(*(const TAPC_HALF *)p, (TAPC_HALF){0}, TAPC_FIRST);
#endif
#if defined(TAPC_X86) && TAPC_BYTES == 64 && defined(__AVX512F__)
  return TAPC_X86(loadu, 512_mask)(p, (TAPC_VECTOR){0}, (TAPC_LANES_MASK)((1u << n) - 1));
#endif
  TAPC_VECTOR v = {0};
  __builtin_memcpy(&v, p, (unsigned)n * sizeof *p);
  return v;
}

// Writes the first n values.
TAPC_FN void TAPC_NAME(tapc_store)(TAPC_ELEMENT *p, TAPC_VECTOR v, int n) {
  if (n == TAPC_COUNT) {
    *(TAPC_LOOSE *)p = v;
    return;
  }
#ifdef TAPC_HALF
  if (n == TAPC_COUNT / 2) {
    *(TAPC_HALF *)p = __builtin_shufflevector(v, v, TAPC_FIRST_HALF);
    return;
  }
#endif
#if defined(TAPC_X86) && TAPC_BYTES == 64 && defined(__AVX512F__)
  TAPC_X86(storeu, 512_mask)(p, v, (TAPC_LANES_MASK)((1u << n) - 1));
  return;
#endif
  __builtin_memcpy(p, &v, (unsigned)n * sizeof *p);
}
