// Reads n values; the lanes behind them are 0. Where processors read some lanes of a vector, they do, and elsewhere on x86-64 a vector is made of numbers of 8 bytes: through
// memory, as memcpy has it, it would wait for what was written in pieces (10 ns on an AMD Zen 3).
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_load)(const TAPC_ELEMENT *p, int n) {
  if (n == TAPC_COUNT) return *(const TAPC_LOOSE *)p;
#ifdef TAPC_HALF
  if (n == TAPC_COUNT / 2) return __builtin_shufflevector(*(const TAPC_HALF *)p, (TAPC_HALF){0}, TAPC_FIRST);
#endif
#if defined(TAPC_X86) && TAPC_BYTES == 64 && defined(__AVX512F__)
  return TAPC_X86(loadu, 512_mask)(p, (TAPC_VECTOR){0}, (TAPC_LANES_MASK)((1u << n) - 1));
#elif defined(TAPC_MASKLOAD) && defined(__AVX__)
  return TAPC_MASKLOAD(p, (TAPC_MASK){TAPC_FIRST} < n);
#elif defined(TAPC_WORDS) && defined(__x86_64__) && TAPC_BYTES == 8
  return (TAPC_VECTOR)tapc_word((const char *)p, n * (int)sizeof *p);
#elif defined(TAPC_WORDS) && defined(__x86_64__)
  TAPC_WORDS w = {0};
  TAPC_UNROLL
  for (int i = 0; i < TAPC_BYTES / 8; i++) w[i] = tapc_word((const char *)p + 8 * i, n * (int)sizeof *p - 8 * i);
  return (TAPC_VECTOR)w;
#else
  TAPC_VECTOR v = {0};
  __builtin_memcpy(&v, p, (unsigned)n * sizeof *p);
  return v;
#endif
}

// Writes the first n values, on x86-64 in pieces of 16 bytes, of 8 and so on.
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
#elif defined(TAPC_WORDS) && defined(__x86_64__)
  TAPC_WORDS w = (TAPC_WORDS)v;
#if TAPC_BYTES == 32
  if (n > TAPC_COUNT / 2) {
    *(TAPC_HALF *)p = __builtin_shufflevector(v, v, TAPC_FIRST_HALF);
    w = __builtin_shufflevector(w, w, 2, 3, 2, 3), p += TAPC_COUNT / 2, n -= TAPC_COUNT / 2;
  }
#endif
  tapc_put((char *)p, w[0], n * (int)sizeof *p);
#if TAPC_BYTES > 8
  tapc_put((char *)p + 8, w[1], n * (int)sizeof *p - 8);
#endif
#else
  __builtin_memcpy(p, &v, (unsigned)n * sizeof *p);
#endif
}
