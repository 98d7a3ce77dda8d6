// Packs a block of count values of some live lanes, which are step apart, lane by lane; the values of a lane are fold apart.
TAPC_FN void TAPC_NAME(tapc_lines)(const TAPC_ELEMENT *from, int64_t step, int64_t fold, int live, int count, void *to) {
  if (live < 16 || count < (int)(64 / sizeof(TAPC_KEPT))) __builtin_memset(to, 0, 1024);
  for (int lane = 0; lane < live; lane++) {
    const TAPC_ELEMENT *line = from + lane * step;
    TAPC_KEPT *row = (TAPC_KEPT *)((uint8_t *)to + lane * 64);
    if (fold == 1) TAPC_NAME(tapc_image_line)(line, row, count);
    else
      for (int k = 0; k < count; k++) row[k] = TAPC_ONE(line[k * fold]);
  }
}
