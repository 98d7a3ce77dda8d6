// Sine or cosine, as TAPC_QUARTER is 0 or 1: x less n quarter turns, and by n mod 4 the series of sine or cosine, or its negative. Angles so large that n is not exact are left to
// the C library (TAPC_PLAIN), and no others, so that a lane does not depend on its neighbours.
TAPC_FN TAPC_VECTOR TAPC_WAVE(TAPC_VECTOR x) {
  const TAPC_MASK far = ~((TAPC_VECTOR)((TAPC_MASK)x & ~(TAPC_MASK) - (TAPC_VECTOR){0}) <= (TAPC_ELEMENT)0x1p19);
  int64_t words[TAPC_BYTES / 8], any = 0;
  __builtin_memcpy(words, &far, sizeof words);
  for (int i = 0; i < TAPC_BYTES / 8; i++) any |= words[i];
  TAPC_VECTOR r;
  TAPC_UNSIGNED k;
#ifdef TAPC_TURNS
  TAPC_FEW in[2], out[2];
  TAPC_FEW_WHOLE turns[2];
  __builtin_memcpy(in, &x, sizeof in);
  out[0] = TAPC_TURNS(in[0], &turns[0]), out[1] = TAPC_TURNS(in[1], &turns[1]);
  __builtin_memcpy(&r, out, sizeof r);
  __builtin_memcpy(&k, turns, sizeof k);
  const TAPC_VECTOR z = r * r, sine = TAPC_P4(z, 1. / 6, -1. / 120, 1. / 5040, -1. / 362880);
  const TAPC_VECTOR cosine = TAPC_P5(z, 1. / 24, -1. / 720, 1. / 40320, -1. / 3628800, 1. / 479001600);
#else
  TAPC_VECTOR n;
  r = TAPC_NAME(tapc_left)(x, &n, &k);
  r = TAPC_NAME(tapc_fma)(n, TAPC_ALL(-0x1.3198a2e037073p-69), r);
  const TAPC_VECTOR z = r * r;
  const TAPC_VECTOR sine = TAPC_P8(z, 1. / 6, -1. / 120, 1. / 5040, -1. / 362880, 1. / 39916800, -1. / 6227020800, 1. / 1307674368000, -1. / 355687428096000);
  const TAPC_VECTOR cosine = TAPC_P8(z, 1. / 24, -1. / 720, 1. / 40320, -1. / 3628800, 1. / 479001600, -1. / 87178291200, 1. / 20922789888000, -1. / 6402373705728000);
#endif
  const TAPC_UNSIGNED turn = k + TAPC_QUARTER;
  const TAPC_VECTOR s = (TAPC_VECTOR)((TAPC_MASK)TAPC_NAME(tapc_fma)(-(r * z), sine, r) | ((TAPC_MASK)r & (TAPC_MASK) - (TAPC_VECTOR){0})); // of -0 too
  const TAPC_VECTOR c = TAPC_NAME(tapc_fma)(-z, TAPC_NAME(tapc_fma)(-z, cosine, TAPC_ALL(0.5)), TAPC_ALL(1));
  const TAPC_VECTOR g = TAPC_NAME(tapc_pick)((TAPC_MASK) - (turn & 1), c, s);
  const TAPC_VECTOR w = (TAPC_VECTOR)((TAPC_UNSIGNED)g ^ ((turn & 2) << (8 * TAPC_BYTES / TAPC_COUNT - 2)));
  return any ? TAPC_NAME(tapc_pick)(far, TAPC_PLAIN(x), w) : w;
}
