// n, a whole number near x times a factor, and its bits k, found by adding a number so large that its last place is 1.
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_whole)(TAPC_VECTOR x, double factor, TAPC_UNSIGNED *k) {
  const double large = TAPC_FD(0x1.8p23, 0x1.8p52);
  const TAPC_VECTOR t = TAPC_NAME(tapc_fma)(x, TAPC_ALL(factor), TAPC_ALL(large));
  *k = (TAPC_UNSIGNED)t - TAPC_FD(0x4b400000u, UINT64_C(0x4338000000000000));
  return t - (TAPC_ELEMENT)large;
}

// e^r - 1 near 0. The rest of the series is below a tenth of a unit in the last place of 1.
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_series)(TAPC_VECTOR r) {
  const TAPC_VECTOR s = TAPC_FD(TAPC_P6(r, 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040),
    TAPC_P12(r, 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800));
  return TAPC_NAME(tapc_fma)(r * r, s, r);
}

// e^x without the power of 2 in it, less 1; n is that, and k its bits. The high part of ln 2 has so few bits that its products with small whole numbers are exact.
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_power)(TAPC_VECTOR x, TAPC_VECTOR *n, TAPC_UNSIGNED *k) {
  *n = TAPC_NAME(tapc_whole)(x, 0x1.71547652b82fep+0, k);
  return TAPC_NAME(tapc_series)(TAPC_NAME(tapc_fma)(*n, TAPC_ALL(-TAPC_LN2_LOW), TAPC_NAME(tapc_fma)(*n, TAPC_ALL(-TAPC_LN2_HIGH), x)));
}

// (p + 1) 2^n, in two steps where it is no normal number.
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_scaled)(TAPC_VECTOR p, TAPC_VECTOR n, TAPC_UNSIGNED k) {
#if TAPC_BYTES == 64 && defined(__AVX512F__)
  (void)k;
  return TAPC_X86(scalef, 512_mask)(p + 1, n, p, (TAPC_LANES_MASK)-1, 4);
#else
  (void)n;
  const TAPC_MASK half = (TAPC_MASK)k >> 1;
  return (p + 1) * (TAPC_VECTOR)((TAPC_UNSIGNED)(half + TAPC_BIAS) << TAPC_MANTISSA) * (TAPC_VECTOR)((TAPC_UNSIGNED)((TAPC_MASK)k - half + TAPC_BIAS) << TAPC_MANTISSA);
#endif
}
