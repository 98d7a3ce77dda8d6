// Packs values of the reduction as tapc_pack does, which are neighbours: whole squares of columns are transposed, and what is left is packed value by value.
TAPC_FN void TAPC_NAME(tapc_pack_squares)(const TAPC_ELEMENT *from, int64_t step, int64_t across, int64_t live, int64_t values, int64_t ahead, TAPC_ELEMENT *to, int64_t width) {
  int64_t k = 0;
  for (; k + TAPC_COUNT <= values; k += TAPC_COUNT)
    for (int64_t x = 0; x < width; x += TAPC_COUNT) TAPC_TRANSPOSE(from + k + x * across, across, to + k * width + x, width);
  TAPC_NAME(tapc_pack)(from + k, step, across, live, values - k, ahead, to + k * width, width);
}
