// The error function, to the precision of float32: x + x P(x²) below 1, 1 - exp(Q(|x|)) above. P and Q were fitted to the exact values with the Remez exchange; their errors are
// below 1.2e-9.
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_erf)(TAPC_VECTOR x) {
  const TAPC_MASK sign = (TAPC_MASK)x & (TAPC_MASK) - (TAPC_VECTOR){0};
  const TAPC_VECTOR y = (TAPC_VECTOR)((TAPC_MASK)x ^ sign), z = x * x, c = TAPC_NAME(tapc_less)(TAPC_ALL(4), y);
  const TAPC_VECTOR low = TAPC_P7(z, 0.128379165914, -0.37612627136, 0.112836001758, -0.0268544445625, 0.00518953527781, -0.000802084071355, 7.88911757925e-5);
  const TAPC_VECTOR q = TAPC_P7(c, -0.000332707133369, -1.12712242472, -0.638093691221, -0.103147857732, 0.0218562577208, -0.00295186308346, 0.000186775584658);
  const TAPC_VECTOR high = (TAPC_VECTOR)((TAPC_MASK)(1 - TAPC_NAME(tapc_exp)(q)) | sign);
  return TAPC_NAME(tapc_pick)(y < 1, TAPC_NAME(tapc_fma)(x, low, x), high);
}
