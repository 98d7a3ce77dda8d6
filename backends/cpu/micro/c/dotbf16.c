// Pairs of bfloat16.
TAPC_FN tapc_singles tapc_dot_bf16(tapc_singles c, tapc_groups a, tapc_groups w) {
  __asm__("vdpbf16ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(w));
  return c;
}
