// The sums of the bytes of each of some lanes, in panels of 16 of some blocks, which are apart: they are put behind these.

// Of left panels, whose bytes have no sign.
TAPC_FN void tapc_line_sums(uint8_t *panel, int64_t blocks, int64_t lanes, int64_t apart) {
  for (; lanes > 0; lanes -= 16, panel += apart) {
    for (int lane = 0; lane < 16; lane++) {
      uint32_t sum = 0;
      for (int64_t k = 0; k < blocks; k++)
        for (int x = 0; x < 64; x++) sum += panel[k * 1024 + lane * 64 + x];
      __builtin_memcpy(panel + blocks * 1024 + lane * 4, &sum, 4);
    }
  }
}

// Of right panels, whose bytes have one.
TAPC_FN void tapc_across_sums(uint8_t *panel, int64_t blocks, int64_t lanes, int64_t apart) {
  for (; lanes > 0; lanes -= 16, panel += apart) {
    int32_t sums[16] = {0};
    for (int64_t k = 0; k < blocks * 16; k++)
      for (int lane = 0; lane < 16; lane++)
        for (int x = 0; x < 4; x++) sums[lane] += (int8_t)panel[k * 64 + lane * 4 + x];
    __builtin_memcpy(panel + blocks * 1024, sums, 64);
  }
}
