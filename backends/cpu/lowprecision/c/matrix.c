// Two by two tiles of sums of a matrix unit, or those of them that there are: of 16 rows and columns each. TAPC_TAKE adds products of a tile of rows and one of columns to sums.
#if TAPC_TILES
#define TAPC_LIVE(operation)                                                                                                                                                       \
  do {                                                                                                                                                                             \
    operation(0);                                                                                                                                                                  \
    if (across) operation(1);                                                                                                                                                      \
    if (down) operation(2);                                                                                                                                                        \
    if (down && across) operation(3);                                                                                                                                              \
  } while (0)

// Begins with sums that are kept, or with none.
TAPC_FN void TAPC_NAME(tapc_matrix_begin)(int64_t first, const uint32_t *c, int down, int across) {
#define TAPC_LOAD_SUMS(x) tapc_tile_load(x, c + 256 * x)
  if (first > 0) TAPC_LIVE(TAPC_LOAD_SUMS);
  else {
    tapc_tile_zero(0);
    tapc_tile_zero(1);
    tapc_tile_zero(2);
    tapc_tile_zero(3);
  }
#undef TAPC_LOAD_SUMS
}

TAPC_FN void TAPC_NAME(tapc_matrix_end)(uint32_t *c, int down, int across) {
#define TAPC_STORE_SUMS(x) tapc_tile_store(x, c + 256 * x)
  TAPC_LIVE(TAPC_STORE_SUMS);
#undef TAPC_STORE_SUMS
}

// Adds the products of a block of rows, which are loaded into the registers 4 and 5, and one of columns.
#define TAPC_ADD_BLOCK(rows, more, columns)                                                                                                                                        \
  do {                                                                                                                                                                             \
    rows;                                                                                                                                                                          \
    tapc_tile_load(6, columns);                                                                                                                                                    \
    TAPC_TAKE(0, 4, 6);                                                                                                                                                            \
    if (across) {                                                                                                                                                                  \
      tapc_tile_load(7, (columns) + t.panel);                                                                                                                                      \
      TAPC_TAKE(1, 4, 7);                                                                                                                                                          \
    }                                                                                                                                                                              \
    if (down) {                                                                                                                                                                    \
      more;                                                                                                                                                                        \
      TAPC_TAKE(2, 5, 6);                                                                                                                                                          \
      if (across) TAPC_TAKE(3, 5, 7);                                                                                                                                              \
    }                                                                                                                                                                              \
  } while (0)

// Adds the products of some bytes of each row, step apart, and of a block of columns. Fewer than sixteen rows, or than 64 bytes of them, are copied first.
TAPC_FN void TAPC_NAME(tapc_matrix_block)(
  const struct tapc_tile t, const uint8_t *a, const uint8_t *half, int64_t step, int rows, int bytes, const uint8_t *w, int down, int across, uint8_t *some) {
#define TAPC_LOAD_ROWS(x, from, count)                                                                                                                                             \
  do {                                                                                                                                                                             \
    if ((count) >= 16 && bytes == 64) tapc_tile_load_apart(x, from, step);                                                                                                         \
    else {                                                                                                                                                                         \
      tapc_tile_rows(some, from, step, (count) < 16 ? (count) : 16, bytes);                                                                                                        \
      tapc_tile_load(x, some);                                                                                                                                                     \
    }                                                                                                                                                                              \
  } while (0)
  TAPC_ADD_BLOCK(TAPC_LOAD_ROWS(4, a, rows), TAPC_LOAD_ROWS(5, half, rows - 16), w);
#undef TAPC_LOAD_ROWS
}

// Adds those of some blocks of panels, from one on. The panels of columns are those of the tiles before and behind, and fit in the first cache with the rows of one block, which
// are loaded past it.
TAPC_FN void TAPC_NAME(tapc_matrix_panels)(const struct tapc_tile t, const uint8_t *a, const uint8_t *w, int64_t first, int64_t count, int down, int across) {
  a += first * 1024, w += first * 1024;
  for (int64_t k = 0; k < count; k++, a += 1024, w += 1024) TAPC_ADD_BLOCK(tapc_tile_load_once(4, a), tapc_tile_load_once(5, a + t.half), w);
}

// Adds those of neighbours in the rows where they are.
TAPC_FN void TAPC_NAME(tapc_matrix_run)(const struct tapc_tile t, const uint8_t *a, const uint8_t *w, int rows, int down, int across) {
  _Alignas(64) uint8_t some[1024];
  const int64_t run = t.whole * 4 + t.some;
  for (int64_t k = 0; k < run; k += 64, w += 1024) {
    TAPC_NAME(tapc_matrix_block)(t, a + k, a + k + t.half, t.row, rows, (int)(run - k < 64 ? run - k : 64), w, down, across, some);
  }
}
#undef TAPC_LIVE
#undef TAPC_ADD_BLOCK
#endif
