// CUDA's vector types, with CUDA's alignments.
#ifndef TAPC_EMU_VECTOR_H
#define TAPC_EMU_VECTOR_H

#include "config.h"

// TAPC_EMU_VECTORS declares T1 to T4 of one element type and their make functions; the two alignments
// are those of the 2- and 4-element forms.
#define TAPC_EMU_VECTORS(T, E, A2, A4)                                   \
  struct T##1 { E x; };                                                  \
  struct alignas(A2) T##2 { E x, y; };                                   \
  struct T##3 { E x, y, z; };                                            \
  struct alignas(A4) T##4 { E x, y, z, w; };                             \
  inline T##1 make_##T##1(E x) { return T##1{x}; }                       \
  inline T##2 make_##T##2(E x, E y) { return T##2{x, y}; }               \
  inline T##3 make_##T##3(E x, E y, E z) { return T##3{x, y, z}; }       \
  inline T##4 make_##T##4(E x, E y, E z, E w) { return T##4{x, y, z, w}; }

TAPC_EMU_VECTORS(char, signed char, 2, 4)
TAPC_EMU_VECTORS(uchar, unsigned char, 2, 4)
TAPC_EMU_VECTORS(short, short, 4, 8)
TAPC_EMU_VECTORS(ushort, unsigned short, 4, 8)
TAPC_EMU_VECTORS(int, int, 8, 16)
TAPC_EMU_VECTORS(uint, unsigned int, 8, 16)
TAPC_EMU_VECTORS(long, long, 16, 16)
TAPC_EMU_VECTORS(ulong, unsigned long, 16, 16)
TAPC_EMU_VECTORS(longlong, long long, 16, 16)
TAPC_EMU_VECTORS(ulonglong, unsigned long long, 16, 16)
TAPC_EMU_VECTORS(float, float, 8, 16)
TAPC_EMU_VECTORS(double, double, 16, 16)

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
};

#endif
