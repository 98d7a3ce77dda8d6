// Pairs of bfloat16.
TAPC_FN TAPC_TARGET("bf16") tapc_singles tapc_bfdot(tapc_singles c, tapc_groups a, tapc_groups w) {
  __asm__(TAPC_ARM_ARCH "bfdot %0.4s, %1.8h, %2.8h" : "+w"(c) : "w"(a), "w"(w));
  return c;
}
