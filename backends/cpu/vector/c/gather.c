// Reads n values that are step elements apart. Every second element is shuffled out of two vectors, of which the second begins with the last element of the first, and a whole
// vector that goes backwards out of one, so nothing beside what lies between them is read. On processors with AVX2 the halves of vectors of 32 bytes are shuffled before their
// quarters are put in order, as elements that cross halves take several times as long. Where others are set lane by lane, GCC has them go through memory.
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_gather)(const TAPC_ELEMENT *p, int64_t step, int n) {
  TAPC_VECTOR v = {0};
  if (step == 2) {
    const int m = 2 * n - 1;
    if (m >= TAPC_COUNT) v = TAPC_NAME(tapc_load)(p + TAPC_COUNT - 1, m - TAPC_COUNT + 1);
    const TAPC_VECTOR u = TAPC_NAME(tapc_load)(p, m < TAPC_COUNT ? m : TAPC_COUNT);
#if defined(TAPC_HALVES) && defined(__AVX2__)
    const TAPC_QUARTERS x = (TAPC_QUARTERS)__builtin_shufflevector((TAPC_HALVES)u, (TAPC_HALVES)v, TAPC_SECOND_HALVES);
    return (TAPC_VECTOR)__builtin_shufflevector(x, x, 0, 2, 1, 3);
#else
    return __builtin_shufflevector(u, v, TAPC_SECOND);
#endif
  }
  if (step == -1 && n == TAPC_COUNT) return __builtin_shufflevector(*(const TAPC_LOOSE *)(p - TAPC_COUNT + 1), v, TAPC_BACKWARDS);
#if defined(__x86_64__) && TAPC_BYTES <= 32
#define TAPC_LIVE(i) n == TAPC_COUNT || i < n ? p[i * step] : 0
  return (TAPC_VECTOR){TAPC_EACH_LANE(TAPC_LIVE)};
#undef TAPC_LIVE
#else
  for (int i = 0; i < n; i++) v[i] = p[i * step];
  return v;
#endif
}

// Writes the first n values, step elements apart.
TAPC_FN void TAPC_NAME(tapc_scatter)(TAPC_ELEMENT *p, int64_t step, TAPC_VECTOR v, int n) {
  for (int i = 0; i < n; i++) p[i * step] = v[i];
}
