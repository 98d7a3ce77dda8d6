// Groups of four bytes, without sign on the left and with sign on the right.
TAPC_FN tapc_groups tapc_vnni(tapc_groups c, tapc_groups a, tapc_groups w) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(c) : "v"(a), "v"(w));
  return c;
}
