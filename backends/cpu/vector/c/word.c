// Reads some bytes, at most 8, into a number whose others are 0: in pieces of 4, 2 and 1.
TAPC_FN uint64_t tapc_word(const char *p, int bytes) {
  uint64_t x = 0;
  int at = 0;
  if (bytes >= 8) {
    __builtin_memcpy(&x, p, 8);
    return x;
  }
  if (bytes >= 4) {
    uint32_t y;
    __builtin_memcpy(&y, p, 4);
    x = y, at = 4;
  }
  if (bytes >= at + 2) {
    uint16_t y;
    __builtin_memcpy(&y, p + at, 2);
    x |= (uint64_t)y << 8 * at, at += 2;
  }
  if (bytes > at) x |= (uint64_t)(uint8_t)p[at] << 8 * at;
  return x;
}

// Writes the first bytes of a number, at most 8.
TAPC_FN void tapc_put(char *p, uint64_t x, int bytes) {
  if (bytes >= 8) {
    __builtin_memcpy(p, &x, 8);
    return;
  }
  if (bytes >= 4) {
    const uint32_t y = (uint32_t)x;
    __builtin_memcpy(p, &y, 4);
    x >>= 32, p += 4, bytes -= 4;
  }
  if (bytes >= 2) {
    const uint16_t y = (uint16_t)x;
    __builtin_memcpy(p, &y, 2);
    x >>= 16, p += 2, bytes -= 2;
  }
  if (bytes >= 1) *p = (char)x;
}
