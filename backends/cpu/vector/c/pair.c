// A function of two numbers: where vectors of four are registers, that of four, so that they have the bits that they have among more; elsewhere all numbers come two by two.
TAPC_FN TAPC_VECTOR TAPC_PAIR(TAPC_VECTOR x) {
#if defined(__AVX__) || TAPC_BYTES == 8
  const TAPC_FOUR y = TAPC_OF_FOUR(__builtin_shufflevector(x, x, 0, 1, 0, 1));
  return __builtin_shufflevector(y, y, 0, 1);
#else
  return TAPC_PLAIN(x);
#endif
}
