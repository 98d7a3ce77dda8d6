// Groups of four bytes, without sign on the left and with sign on the right, taken apart into numbers of 16 bits: those of even and those
// of odd index.
#if defined(__aarch64__) && TAPC_LANES == 4

// Multiplies numbers of 16 bits, adds the products of even and odd ones, and then those of neighbours.
TAPC_FN tapc_groups tapc_pairs(tapc_shorts even, tapc_shorts odd, tapc_shorts even_w, tapc_shorts odd_w) {
  tapc_groups low, high;
  __asm__("smull %0.4s, %1.4h, %2.4h" : "=w"(low) : "w"(even), "w"(even_w));
  __asm__("smull2 %0.4s, %1.8h, %2.8h" : "=w"(high) : "w"(even), "w"(even_w));
  __asm__("smlal %0.4s, %1.4h, %2.4h" : "+w"(low) : "w"(odd), "w"(odd_w));
  __asm__("smlal2 %0.4s, %1.8h, %2.8h" : "+w"(high) : "w"(odd), "w"(odd_w));
  __asm__("addp %0.4s, %0.4s, %1.4s" : "+w"(low) : "w"(high));
  return low;
}

#else

// Multiplies numbers of 16 bits and adds the products of neighbours.
TAPC_FN tapc_groups tapc_neighbours(tapc_shorts a, tapc_shorts w) {
#if TAPC_LANES == 16 && defined(__AVX512BW__) && defined(__clang__)
  return (tapc_groups)__builtin_ia32_pmaddwd512(a, w);
#elif TAPC_LANES == 16 && defined(__AVX512BW__)
  return (tapc_groups)__builtin_ia32_pmaddwd512_mask(a, w, (tapc_ints){0}, -1);
#elif TAPC_LANES == 8 && defined(__AVX2__)
  return (tapc_groups)__builtin_ia32_pmaddwd256(a, w);
#elif TAPC_LANES == 4 && defined(__SSE2__)
  return (tapc_groups)__builtin_ia32_pmaddwd128(a, w);
#else
  return (tapc_groups)(((tapc_ints)((tapc_groups)a << 16) >> 16) * ((tapc_ints)((tapc_groups)w << 16) >> 16) + ((tapc_ints)a >> 16) * ((tapc_ints)w >> 16));
#endif
}

TAPC_FN tapc_groups tapc_pairs(tapc_shorts even, tapc_shorts odd, tapc_shorts even_w, tapc_shorts odd_w) { return tapc_neighbours(even, even_w) + tapc_neighbours(odd, odd_w); }

#endif

TAPC_FN tapc_groups tapc_bytes(tapc_groups c, tapc_groups a, tapc_groups w) {
  return c + tapc_pairs((tapc_shorts)(a & 0x00ff00ffu), (tapc_shorts)(a >> 8 & 0x00ff00ffu), (tapc_shorts)((tapc_words)w << 8) >> 8, (tapc_shorts)w >> 8);
}
