// Copies values of the reduction, step apart, into a panel that is width wide: live columns of each, across apart, and 0 behind them. Memory is asked for some values ahead, if
// any.
TAPC_FN void TAPC_NAME(tapc_pack)(const TAPC_ELEMENT *from, int64_t step, int64_t across, int64_t live, int64_t values, int64_t ahead, TAPC_ELEMENT *to, int64_t width) {
  for (int64_t k = 0; k < values; k++, from += step, to += width) {
    if (ahead > 0) TAPC_FETCH(from, ahead * step, 0, 3);
#pragma GCC unroll 8
    for (int64_t x = 0; x < width; x += TAPC_COUNT) {
      const int here = live - x < TAPC_COUNT ? (int)(live - x) : TAPC_COUNT;
      *(TAPC_VECTOR *)(to + x) = here <= 0 ? (TAPC_VECTOR){0} : across == 1 ? TAPC_LOAD(from + x, here) : TAPC_GATHER(from + x * across, across, here);
    }
  }
}
