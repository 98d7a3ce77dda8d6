// The natural logarithm: of x = 2^e (1 + f), with f small, e ln 2 + log(1 + f), which is a series in s = f / (2 + f). The arrangement that keeps the error below one unit in the
// last place is FDLIBM's (Sun Microsystems, 1993).
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_log)(TAPC_VECTOR x) {
  const TAPC_MASK small = x < TAPC_FD(0x1p-126f, 0x1p-1022);
  const TAPC_VECTOR y = TAPC_NAME(tapc_pick)(small, x * (TAPC_ELEMENT)TAPC_FD(0x1p23, 0x1p52), x);
  const TAPC_MASK root = TAPC_FD(0x3f3504f3, INT64_C(0x3fe6a09e667f3bcd)) + (TAPC_MASK){0}, bits = (TAPC_MASK)y - root;
  const TAPC_VECTOR e = __builtin_convertvector((bits >> TAPC_MANTISSA) - (small & TAPC_MANTISSA), TAPC_VECTOR);
  const TAPC_VECTOR f = (TAPC_VECTOR)((bits & TAPC_FD(0x7fffff, INT64_C(0xfffffffffffff))) + root) - 1;
  const TAPC_VECTOR s = f / (2 + f), z = s * s, h = f * f * (TAPC_ELEMENT)0.5;
  const TAPC_VECTOR q =
    z * TAPC_FD(TAPC_P5(z, 2. / 3, 2. / 5, 2. / 7, 2. / 9, 2. / 11), TAPC_P11(z, 2. / 3, 2. / 5, 2. / 7, 2. / 9, 2. / 11, 2. / 13, 2. / 15, 2. / 17, 2. / 19, 2. / 21, 2. / 23));
  const TAPC_VECTOR low = TAPC_NAME(tapc_fma)(s, h + q, e * (TAPC_ELEMENT)TAPC_LN2_LOW);
  TAPC_VECTOR g = TAPC_NAME(tapc_fma)(e, TAPC_ALL(TAPC_LN2_HIGH), -((h - low) - f));
  g = TAPC_NAME(tapc_pick)(x == 0, TAPC_ALL(-TAPC_INF), g);
  g = TAPC_NAME(tapc_pick)(x == (TAPC_ELEMENT)TAPC_INF, x, g);
  return TAPC_NAME(tapc_pick)(x >= 0, g, (x - x) / (x - x));
}
