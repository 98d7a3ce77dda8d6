// Packs a block of count values of some live lanes, which are neighbours, group by group of four bytes; the values of a lane are fold apart. TAPC_WIDE gives the elements of some
// lanes as the instructions take them, but for the bits of bytes that change, which TAPC_FLIPS has for as many lanes.
#define TAPC_GROUP ((int)(4 / sizeof(TAPC_KEPT)))

// The groups of all lanes.
TAPC_FN void TAPC_NAME(tapc_groups_of)(const TAPC_ELEMENT *from, int64_t fold, uint8_t *to) {
  for (int x = 0; x < 16; x += TAPC_COUNT) {
    TAPC_WORDS groups = {0};
    for (int g = 0; g < TAPC_GROUP; g++) groups |= (TAPC_WIDE(from + g * fold + x, TAPC_COUNT) ^ TAPC_FLIPS(TAPC_COUNT)) << (32 / TAPC_GROUP * g);
    *(TAPC_WORDS_AT *)(to + x * 4) = groups;
  }
}

TAPC_FN void TAPC_NAME(tapc_across)(const TAPC_ELEMENT *from, int64_t step, int64_t fold, int live, int count, void *to) {
  (void)step;
  if (live == 16 && count == 16 * TAPC_GROUP) {
    for (int i = 0; i < count; i += TAPC_GROUP) TAPC_ALL(from + i * fold, fold, (uint8_t *)to + i / TAPC_GROUP * 64);
    return;
  }
  __builtin_memset(to, 0, 1024);
  for (int i = 0; i < count; i += TAPC_GROUP) {
    for (int x = 0; x < live; x += TAPC_COUNT) {
      const int n = live - x < TAPC_COUNT ? live - x : TAPC_COUNT;
      TAPC_WORDS groups = {0};
      for (int g = 0; g < TAPC_GROUP && i + g < count; g++) groups |= (TAPC_WIDE(from + (i + g) * fold + x, n) ^ TAPC_FLIPS(n)) << (32 / TAPC_GROUP * g);
      *(TAPC_WORDS_AT *)((uint8_t *)to + i / TAPC_GROUP * 64 + x * 4) = groups;
    }
  }
}
#undef TAPC_GROUP
