// A function of two numbers by that of four, so that they have the bits that they have among more.
TAPC_FN TAPC_VECTOR TAPC_PAIR(TAPC_VECTOR x) {
  const TAPC_FOUR y = TAPC_OF_FOUR(__builtin_shufflevector(x, x, 0, 1, 0, 1));
  return __builtin_shufflevector(y, y, 0, 1);
}
