// Copies places that are across apart, the values of each of them step apart, so that the values are neighbours: TAPC_LINE copies neighbours, TAPC_ONE an element. Where places are
// neighbours, squares are transposed, the last ones over what is there already.
TAPC_FN void TAPC_NAME(tapc_places)(const TAPC_ELEMENT *from, int64_t across, int64_t step, TAPC_KEPT *to, int64_t places, int64_t values) {
  if (step == 1) {
    const int64_t lines = across == values ? 1 : places;
    for (int64_t x = 0; x < lines; x++) TAPC_LINE(from + x * across, to + x * values, places / lines * values);
    return;
  }
  if (across != 1 || places < TAPC_COUNT || values < TAPC_COUNT) {
    for (int64_t x = 0; x < places; x++)
      for (int64_t y = 0; y < values; y++) to[x * values + y] = TAPC_ONE(from[x * across + y * step]);
    return;
  }
  for (int64_t u = 0; u < places; u += TAPC_COUNT) {
    for (int64_t v = 0; v < values; v += TAPC_COUNT) {
      const int64_t x = u + TAPC_COUNT <= places ? u : places - TAPC_COUNT, y = v + TAPC_COUNT <= values ? v : values - TAPC_COUNT;
      TAPC_TRANSPOSE(from + y * step + x, step, to + x * values + y, values);
    }
  }
}

// Fills what is around with a byte.
TAPC_FN void TAPC_NAME(tapc_around)(const int32_t *byte, TAPC_KEPT *to, int64_t n) { __builtin_memset(to, *byte, (uint64_t)n * sizeof *to); }
