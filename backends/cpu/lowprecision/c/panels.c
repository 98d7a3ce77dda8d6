// Packs some values of the reduction of lanes, which are step apart, into a block of each panel of 16 lanes, which are apart; the values of a lane are fold apart. TAPC_BLOCK packs
// one, which is transposed then if panels have it the other way.
TAPC_FN void TAPC_NAME(tapc_blocks)(const TAPC_ELEMENT *from, int64_t step, int64_t fold, int64_t lanes, int64_t count, uint8_t *to, int64_t apart) {
  for (int64_t lane = 0; lane < lanes; lane += 16, to += apart) {
    const int live = lanes - lane < 16 ? (int)(lanes - lane) : 16;
#if TAPC_TURNED
    _Alignas(64) uint8_t turned[1024];
    TAPC_BLOCK(from + lane * step, step, fold, live, (int)count, turned);
    TAPC_TURN(turned, to);
#else
    TAPC_BLOCK(from + lane * step, step, fold, live, (int)count, to);
#endif
  }
}
