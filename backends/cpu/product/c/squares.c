// Copies values of the reduction that are neighbours into a panel that is width wide: whole squares of columns, across apart, which are transposed. Gives how many values there
// were.
TAPC_FN int64_t TAPC_NAME(tapc_pack_squares)(const TAPC_ELEMENT *from, int64_t across, int64_t values, TAPC_ELEMENT *to, int64_t width) {
  int64_t k = 0;
  for (; k + TAPC_COUNT <= values; k += TAPC_COUNT, to += TAPC_COUNT * width)
    for (int64_t x = 0; x < width; x += TAPC_COUNT) TAPC_TRANSPOSE(from + k + x * across, across, to + x, width);
  return k;
}
