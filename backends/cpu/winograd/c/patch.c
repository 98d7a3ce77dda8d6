// Copies some rows and columns of an image, with zeros around, so that its channels are neighbours: pixels are line apart, and rows pitch.
TAPC_FN void tapc_patch(const float *image, int64_t row, int64_t rows, int64_t column, int64_t columns, float *restrict to, int64_t pitch, int64_t line, int64_t height,
  int64_t width, int64_t channels, int64_t down, int64_t across, int64_t apart) {
  const int64_t first = column > 0 ? column : 0, end = column + columns < width ? column + columns : width;
  for (int64_t r = row; r < row + rows; r++, to += pitch) {
    if (r < 0 || r >= height || first >= end) {
      __builtin_memset(to, 0, (uint64_t)(columns * line) * sizeof *to);
      continue;
    }
    const float *from = image + r * down;
    float *const inside = to + (first - column) * line;
    __builtin_memset(to, 0, (uint64_t)((first - column) * line) * sizeof *to);
    __builtin_memset(to + (end - column) * line, 0, (uint64_t)((column + columns - end) * line) * sizeof *to);
    int64_t c = 0;
    if (apart == 1) {
      for (int64_t x = first; x < end; x++) __builtin_memcpy(inside + (x - first) * line, from + x * across, (uint64_t)channels * sizeof *to);
      continue;
    }
    if (across == 1 && end - first >= TAPC_LANES) {
      for (; c + TAPC_LANES <= channels; c += TAPC_LANES) {
        int64_t x = first;
        for (; x + TAPC_LANES <= end; x += TAPC_LANES) TAPC_TRANSPOSE(from + x + c * apart, apart, inside + (x - first) * line + c, line);
        if (x < end) {
          x = end - TAPC_LANES; // some again
          TAPC_TRANSPOSE(from + x + c * apart, apart, inside + (x - first) * line + c, line);
        }
      }
    }
    for (; c < channels; c++)
      for (int64_t x = first; x < end; x++) inside[(x - first) * line + c] = from[x * across + c * apart];
  }
}
