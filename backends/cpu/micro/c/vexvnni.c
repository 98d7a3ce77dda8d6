// Groups of four bytes, without sign on the left and with sign on the right, where there is no AVX-512.
TAPC_FN tapc_groups tapc_vexvnni(tapc_groups c, tapc_groups a, tapc_groups w) {
  __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(c) : "x"(a), "x"(w));
  return c;
}
