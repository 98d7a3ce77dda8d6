// Register tiles of products of groups of four bytes: TAPC_TAKE adds those of a group of a row and of the groups of a vector of columns to sums. The numbers of a tile are
// constants where these functions are inlined, so that loops over sums are unrolled and the sums c stay in registers. After TAPC_RUN blocks of float products they are added to the
// sums s, after all that there are if it is 0.
#if TAPC_KNOWN
#define TAPC_EACH(t) for (int x = 0; x < (t).rows * (t).vectors; x++)

// Adds the products of a group of which each row has some bytes.
TAPC_ROW_FN void TAPC_NAME(tapc_group)(const struct tapc_tile t, const uint8_t *a, int bytes, const uint8_t *w, TAPC_VECTOR *c) {
  TAPC_GROUPS right[32];
  TAPC_UNROLL
  for (int x = 0; x < t.vectors; x++) right[x] = *(const TAPC_GROUPS_AT *)(w + x * TAPC_COUNT / 16 * t.panel + x * TAPC_COUNT % 16 * 4);
  TAPC_UNROLL
  for (int r = 0; r < t.rows; r++) {
    const uint8_t *p = a + r * t.row;
    const TAPC_GROUPS left = TAPC_SPLAT(bytes < 4 ? tapc_some(p, bytes) : *(const tapc_u32_at *)p);
    TAPC_UNROLL
    for (int x = 0; x < t.vectors; x++) c[r * t.vectors + x] = TAPC_TAKE(c[r * t.vectors + x], left, right[x]);
  }
}

// Adds those of some groups.
TAPC_ROW_FN void TAPC_NAME(tapc_groups)(const struct tapc_tile t, const uint8_t *a, const uint8_t *w, int groups, TAPC_VECTOR *c) {
#pragma GCC unroll 2
  for (int x = 0; x < groups; x++, a += 4, w += 64) TAPC_NAME(tapc_group)(t, a, 4, w, c);
}

TAPC_ROW_FN void TAPC_NAME(tapc_groups_begin)(const struct tapc_tile t, TAPC_VECTOR *c) {
  TAPC_UNROLL
  TAPC_EACH(t) c[x] = (TAPC_VECTOR){0};
}

// Adds the sums c to s.
TAPC_ROW_FN void TAPC_NAME(tapc_groups_end)(const struct tapc_tile t, TAPC_VECTOR *c, TAPC_VECTOR *s) {
  TAPC_UNROLL
  TAPC_EACH(t) s[x] += c[x];
}

// Adds the products of some blocks of panels, from one on.
TAPC_ROW_FN void TAPC_NAME(tapc_panels)(const struct tapc_tile t, const uint8_t *a, const uint8_t *w, int64_t first, int64_t count, TAPC_VECTOR *c, TAPC_VECTOR *s) {
  for (int64_t k = first, end = first + count; k < end;) {
    const int64_t part = TAPC_RUN > 0 && k + TAPC_RUN < end ? k + TAPC_RUN : end;
    TAPC_NAME(tapc_groups_begin)(t, c);
    for (; k < part; k++) TAPC_NAME(tapc_groups)(t, a + k * 1024, w + k * 1024, t.whole == 16 || k + 1 < t.blocks ? 16 : (int)t.whole, c);
    TAPC_NAME(tapc_groups_end)(t, c, s);
  }
}

// Adds the products of neighbours in the rows where they are.
TAPC_ROW_FN void TAPC_NAME(tapc_run)(const struct tapc_tile t, const uint8_t *a, const uint8_t *w, TAPC_VECTOR *c, TAPC_VECTOR *s) {
  const int64_t groups = t.whole + (t.some > 0), part = TAPC_RUN > 0 ? TAPC_RUN * 16 : groups;
  for (int64_t k = 0; k < groups; k += part) {
    if (TAPC_RUN > 0) TAPC_NAME(tapc_groups_begin)(t, c);
    TAPC_NAME(tapc_groups)(t, a + k * 4, w + k * 64, (int)(t.whole - k < part ? t.whole - k : part), c);
    if (t.some && k + part >= groups) TAPC_NAME(tapc_group)(t, a + t.whole * 4, (int)t.some, w + t.whole * 64, c);
    if (TAPC_RUN > 0) TAPC_NAME(tapc_groups_end)(t, c, s);
  }
}

// Says whether the sums are whole after some blocks; those that are not are kept.
TAPC_ROW_FN int TAPC_NAME(tapc_groups_whole)(const struct tapc_tile t, int64_t first, int64_t count, uint32_t *open, TAPC_VECTOR *s) {
  TAPC_VECTOR_AT *kept = (TAPC_VECTOR_AT *)open;
  if (first > 0) TAPC_EACH(t) s[x] += kept[x];
  if (first + count < t.blocks) TAPC_EACH(t) kept[x] = s[x];
  return first + count >= t.blocks;
}
#undef TAPC_EACH
#endif
