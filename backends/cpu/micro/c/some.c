// The first bytes of a group, zeros behind them.
TAPC_FN uint32_t tapc_some(const uint8_t *p, int n) {
  uint32_t x = 0;
  __builtin_memcpy(&x, p, (unsigned)n);
  return x;
}
