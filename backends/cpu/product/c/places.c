// Copies places that are neighbours, the values of each of them step apart, so that the values are neighbours: squares are transposed, the last ones over what is there already,
// and where there is no room for one, element by element.
TAPC_FN void TAPC_NAME(tapc_transpose_places)(const TAPC_ELEMENT *from, int64_t step, TAPC_KEPT *to, int64_t places, int64_t values) {
  if (places < TAPC_COUNT || values < TAPC_COUNT) {
    for (int64_t x = 0; x < places; x++)
      for (int64_t y = 0; y < values; y++) to[x * values + y] = TAPC_ONE(from[y * step + x]);
    return;
  }
  for (int64_t u = 0; u < places; u += TAPC_COUNT) {
    for (int64_t v = 0; v < values; v += TAPC_COUNT) {
      const int64_t x = u + TAPC_COUNT <= places ? u : places - TAPC_COUNT, y = v + TAPC_COUNT <= values ? v : values - TAPC_COUNT;
      TAPC_TRANSPOSE(from + y * step + x, step, to + x * values + y, values);
    }
  }
}
