// Puts values of the reduction of some rows, which are step apart, into panels of width rows each, which are apart; values are along apart. Memory is asked for some values
// ahead where rows are neighbours.
TAPC_FN void TAPC_NAME(tapc_spread)(
  const TAPC_ELEMENT *from, int64_t step, int64_t along, int64_t rows, int64_t values, int64_t ahead, TAPC_ELEMENT *to, int64_t apart, int64_t width) {
  for (int64_t k = 0; k < values; k++, from += along, to += width) {
    if (step == 1)
      for (int64_t x = 0; x < rows; x += 64 / (int64_t)sizeof *from) TAPC_FETCH(from, ahead * along + x, 0, 3);
    TAPC_ELEMENT *panel = to;
    for (int64_t x = 0; x < rows; x += width, panel += apart) {
      if (step == 1 && x + width <= rows) __builtin_memcpy(panel, from + x, (uint64_t)width * sizeof *to);
      else
        for (int64_t r = x; r < rows && r < x + width; r++) panel[r - x] = from[r * step];
    }
  }
}
