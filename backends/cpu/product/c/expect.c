// Asks for the lines of some runs of bytes that are apart, to be read or to be written.
TAPC_FN void tapc_expect_read(const void *p, int64_t runs, int64_t apart, int64_t bytes) {
  for (int64_t r = 0; r < runs; r++)
    for (int64_t x = 0; x < bytes; x += 64) TAPC_FETCH((const char *)p, r * apart + x, 0, 3);
}

TAPC_FN void tapc_expect_written(const void *p, int64_t runs, int64_t apart, int64_t bytes) {
  for (int64_t r = 0; r < runs; r++)
    for (int64_t x = 0; x < bytes; x += 64) TAPC_FETCH((const char *)p, r * apart + x, 1, 3);
}
