// Groups of four bytes, without sign on the left and with sign on the right.
TAPC_FN TAPC_TARGET("i8mm") tapc_groups tapc_usdot(tapc_groups c, tapc_groups a, tapc_groups w) {
  __asm__(TAPC_ARM_ARCH "usdot %0.4s, %1.16b, %2.16b" : "+w"(c) : "w"(a), "w"(w));
  return c;
}
