// Reads the lanes from low up to high, at most all, and takes the others from a vector. Without an instruction for it, lanes go through an array: GCC 12 fails on some vectors that
// are set lane by lane.
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_part)(const TAPC_ELEMENT *p, int64_t low, int64_t high, TAPC_VECTOR v) {
  if (low <= 0 && high == TAPC_COUNT) return *(const TAPC_LOOSE *)p;
#if defined(TAPC_X86) && TAPC_BYTES == 64 && defined(__AVX512F__)
  if (high <= low) return v;
  return TAPC_X86(loadu, 512_mask)(p, v, (TAPC_LANES_MASK)((1u << high) - (1u << (low > 0 ? low : 0))));
#elif defined(TAPC_MASKLOAD) && defined(__AVX__)
  const TAPC_MASK lane = {TAPC_FIRST}, m = (lane >= (int)low) & (lane < (int)high);
  return (TAPC_VECTOR)(((TAPC_MASK)TAPC_MASKLOAD(p, m) & m) | ((TAPC_MASK)v & ~m));
#else
  TAPC_ELEMENT x[TAPC_COUNT];
  __builtin_memcpy(x, &v, sizeof x);
  for (int64_t l = low > 0 ? low : 0; l < high; l++) x[l] = p[l];
  __builtin_memcpy(&v, x, sizeof x);
  return v;
#endif
}
