// Copies neighbours that stay neighbours, as the instructions take them: TAPC_ONE gives an element so, TAPC_SOME a vector of TAPC_AT_ONCE.
TAPC_FN void TAPC_NAME(tapc_image_line)(const TAPC_ELEMENT *from, TAPC_KEPT *to, int64_t n) {
  int64_t x = 0;
  for (; x + TAPC_AT_ONCE <= n; x += TAPC_AT_ONCE) *(TAPC_TO *)(to + x) = TAPC_SOME(from + x);
  for (; x < n; x++) to[x] = TAPC_ONE(from[x]);
}
