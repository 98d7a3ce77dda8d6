// Puts sixteen bytes of each of four rows side by side in groups of four, and changes bits of each.
TAPC_FN void tapc_weave(const void *from, int64_t step, uint8_t *to, uint8_t flip) {
  const uint8_t *row = from;
  const tapc_u8x16 a = *(const tapc_u8x16u *)row ^ flip;
  const tapc_u8x16 b = *(const tapc_u8x16u *)(row + step) ^ flip;
  const tapc_u8x16 c = *(const tapc_u8x16u *)(row + 2 * step) ^ flip;
  const tapc_u8x16 d = *(const tapc_u8x16u *)(row + 3 * step) ^ flip;
  const tapc_u16x8 ab = (tapc_u16x8)__builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const tapc_u16x8 cd = (tapc_u16x8)__builtin_shufflevector(c, d, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  *(tapc_u16x8u *)to = __builtin_shufflevector(ab, cd, 0, 8, 1, 9, 2, 10, 3, 11);
  *(tapc_u16x8u *)(to + 16) = __builtin_shufflevector(ab, cd, 4, 12, 5, 13, 6, 14, 7, 15);
  const tapc_u16x8 ab_high = (tapc_u16x8)__builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  const tapc_u16x8 cd_high = (tapc_u16x8)__builtin_shufflevector(c, d, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  *(tapc_u16x8u *)(to + 32) = __builtin_shufflevector(ab_high, cd_high, 0, 8, 1, 9, 2, 10, 3, 11);
  *(tapc_u16x8u *)(to + 48) = __builtin_shufflevector(ab_high, cd_high, 4, 12, 5, 13, 6, 14, 7, 15);
}
