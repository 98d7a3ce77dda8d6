// Groups of four bytes with sign. Those on the left come without one, and less 128 have one: what sums lack at the end is 128 times
// the bytes on the right.
TAPC_FN TAPC_TARGET("dotprod") tapc_groups tapc_sdot(tapc_groups c, tapc_groups a, tapc_groups w) {
  __asm__(TAPC_ARM_ARCH "sdot %0.4s, %1.16b, %2.16b" : "+w"(c) : "w"(a ^ 0x80808080u), "w"(w));
  return c;
}
