// The bits of bfloat16 nearest to a number, of two the even one; NaN stays NaN.
TAPC_FN uint16_t tapc_to_bf16(float f) {
  uint32_t x;
  __builtin_memcpy(&x, &f, sizeof x);
  if ((x & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(x >> 16 | 0x40u);
  return (uint16_t)((x + 0x7fffu + (x >> 16 & 1u)) >> 16);
}
