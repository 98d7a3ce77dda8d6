// Puts rows that are step apart into panels of TAPC_ROWS rows each, which are apart: some values of each row.
TAPC_FN void TAPC_NAME(tapc_rows)(const TAPC_ELEMENT *from, int64_t step, int64_t rows, int64_t values, TAPC_ELEMENT *to, int64_t apart) {
  for (; rows > 0; rows -= TAPC_ROWS, from += TAPC_ROWS * step, to += apart) {
    int64_t k = 0;
    if (rows >= TAPC_ROWS)
      for (; k + TAPC_COUNT <= values; k += TAPC_COUNT) TAPC_TRANSPOSE(from + k, step, to + k * TAPC_ROWS, TAPC_ROWS);
    for (; k < values; k++)
      for (int64_t r = 0; r < TAPC_ROWS && r < rows; r++) to[k * TAPC_ROWS + r] = from[r * step + k];
  }
}
