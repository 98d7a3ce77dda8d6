// Copies some bytes of some rows into what the matrix unit loads, with zeros around.
#if defined(TAPC_TILES)
TAPC_FN void tapc_tile_rows(uint8_t *to, const uint8_t *from, int64_t step, int rows, int bytes) {
  __builtin_memset(to, 0, 1024);
  for (int r = 0; r < rows; r++) __builtin_memcpy(to + r * 64, from + r * step, (unsigned)bytes);
}
#endif
