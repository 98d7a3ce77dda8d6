// e and 2 to the power of x.
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_exp)(TAPC_VECTOR x) {
  TAPC_VECTOR n;
  TAPC_UNSIGNED k;
  x = TAPC_NAME(tapc_greater)(TAPC_ALL(TAPC_FD(-104, -746)), TAPC_NAME(tapc_less)(TAPC_ALL(TAPC_FD(89, 710)), x));
  const TAPC_VECTOR p = TAPC_NAME(tapc_power)(x, &n, &k);
  return TAPC_NAME(tapc_scaled)(p, n, k);
}

TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_exp2)(TAPC_VECTOR x) {
  TAPC_UNSIGNED k;
  const double ln2 = 0x1.62e42fefa39efp-1;
  x = TAPC_NAME(tapc_greater)(TAPC_ALL(TAPC_FD(-104, -746) / ln2), TAPC_NAME(tapc_less)(TAPC_ALL(TAPC_FD(89, 710) / ln2), x));
  const TAPC_VECTOR n = TAPC_NAME(tapc_whole)(x, 1, &k);
  return TAPC_NAME(tapc_scaled)(TAPC_NAME(tapc_series)((x - n) * (TAPC_ELEMENT)ln2), n, k);
}
