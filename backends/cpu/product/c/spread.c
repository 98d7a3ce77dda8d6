// Puts one value of the reduction of some rows, which are step apart, into panels of width rows each, which are apart.
TAPC_FN void TAPC_NAME(tapc_spread)(const TAPC_ELEMENT *from, int64_t step, int64_t rows, TAPC_ELEMENT *to, int64_t apart, int64_t width) {
  for (int64_t x = 0; x < rows; x += width, to += apart) {
    if (step == 1 && x + width <= rows) __builtin_memcpy(to, from + x, (uint64_t)width * sizeof *to);
    else
      for (int64_t r = x; r < rows && r < x + width; r++) to[r - x] = from[r * step];
  }
}
