// Pairs of bfloat16, taken apart into float32.
TAPC_FN tapc_singles tapc_halves(tapc_singles c, tapc_groups a, tapc_groups w) {
  c = TAPC_FUSED((tapc_singles)(a << 16), (tapc_singles)(w << 16), c);
  return TAPC_FUSED((tapc_singles)(a & 0xffff0000u), (tapc_singles)(w & 0xffff0000u), c);
}
