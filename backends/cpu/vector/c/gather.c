// Reads n values that are step elements apart. Every second element is shuffled out of two vectors, of which the second begins with the last element of the first, and a whole
// vector that goes backwards out of one, so nothing beside what lies between them is read.
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_gather)(const TAPC_ELEMENT *p, int64_t step, int n) {
  TAPC_VECTOR v = {0};
  if (step == 2) {
    const int m = 2 * n - 1;
    if (m >= TAPC_COUNT) v = TAPC_NAME(tapc_load)(p + TAPC_COUNT - 1, m - TAPC_COUNT + 1);
    return __builtin_shufflevector(TAPC_NAME(tapc_load)(p, m < TAPC_COUNT ? m : TAPC_COUNT), v, TAPC_SECOND);
  }
  if (step == -1 && n == TAPC_COUNT) return __builtin_shufflevector(*(const TAPC_LOOSE *)(p - TAPC_COUNT + 1), v, TAPC_BACKWARDS);
  for (int i = 0; i < n; i++) v[i] = p[i * step];
  return v;
}

// Writes the first n values, step elements apart.
TAPC_FN void TAPC_NAME(tapc_scatter)(TAPC_ELEMENT *p, int64_t step, TAPC_VECTOR v, int n) {
  for (int i = 0; i < n; i++) p[i * step] = v[i];
}
