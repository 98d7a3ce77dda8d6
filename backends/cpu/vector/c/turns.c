// What is left of angles beside n quarter turns, but for the last part of each, and the bits k of n. Parts of a quarter turn have so few bits that their products with small whole
// numbers are exact.
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_left)(TAPC_VECTOR x, TAPC_VECTOR *n, TAPC_UNSIGNED *k) {
  *n = TAPC_NAME(tapc_whole)(x, 0x1.45f306dc9c883p-1, k);
  return TAPC_NAME(tapc_fma)(*n, TAPC_ALL(-0x1.0b4611a6p-34), TAPC_NAME(tapc_fma)(*n, TAPC_ALL(-0x1.921fb544p+0), x));
}

// The same of half the angles of a vector of float32, which are exact enough without the last part.
TAPC_FN TAPC_FEW TAPC_NAME(tapc_turns)(TAPC_FEW x, TAPC_FEW_WHOLE *whole) {
  TAPC_VECTOR n;
  TAPC_UNSIGNED k;
  const TAPC_VECTOR r = TAPC_NAME(tapc_left)(__builtin_convertvector(x, TAPC_VECTOR), &n, &k);
  *whole = __builtin_convertvector((TAPC_MASK)k, TAPC_FEW_WHOLE);
  return __builtin_convertvector(r, TAPC_FEW);
}
