// What the processor has beyond the version of a program that it runs.
#define _GNU_SOURCE
#include <stdatomic.h>
#include <unistd.h>

#include "tapc_rt.h"

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

// Whether the system keeps the state of all registers in a mask when it switches threads.
static int registers_kept(unsigned mask) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return 0;
  __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return (a & mask) == mask;
}

// Asks the system for the tile registers, which a process has only once it has asked.
static int tiles_granted(void) {
#if defined(__linux__) && defined(SYS_arch_prctl)
  enum { REQUEST = 0x1023, TILE_DATA = 18 }; // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
#else
  return 0;
#endif
}

static unsigned find_features(void) {
  unsigned a, b, c, d, a1 = 0, unused, has = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  if (a >= 1) __cpuid_count(7, 1, a1, unused, unused, unused);
  (void)b, (void)unused;
  if (registers_kept(0x6)) has |= a1 >> 4 & 1 ? TAPC_AVX_VNNI : 0;
  if (registers_kept(0xe6)) has |= (c >> 11 & 1 ? TAPC_AVX512_VNNI : 0) | (a1 >> 5 & 1 ? TAPC_AVX512_BF16 : 0);
  if ((d >> 24 & 1) && registers_kept(0x600e6) && (d >> 22 & 1 || d >> 25 & 1) && tiles_granted()) has |= (d >> 22 & 1 ? TAPC_AMX_BF16 : 0) | (d >> 25 & 1 ? TAPC_AMX_INT8 : 0);
  return has;
}

// The second cache of a core where that is all that is faster than memory: it is large, and the third cache that of so many cores that it is no faster. 0
// elsewhere. AMD's processors do not describe their caches so.
static int64_t find_near(void) {
  enum { DESCRIBED = 16 };
  const int64_t large_second = 2 << 20, large_third = 64 << 20;
  int64_t size[8] = {0};
  unsigned a, b, c, d;
  for (unsigned i = 0; i < DESCRIBED && __get_cpuid_count(4, i, &a, &b, &c, &d) && (a & 0x1f); i++)
    size[a >> 5 & 7] = (int64_t)((b >> 22) + 1) * ((b >> 12 & 0x3ff) + 1) * ((b & 0xfff) + 1) * ((int64_t)c + 1);
  return size[2] >= large_second && size[3] >= large_third ? size[2] : 0;
}
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

// Whether all of some bits are set.
static int all(unsigned long bits, unsigned long wanted) { return (bits & wanted) == wanted; }

// What Linux says of the processor, by the numbers of its bits (arch/arm64/include/uapi/asm/hwcap.h), which C libraries came to know
// one by one.
static unsigned find_features(void) {
  enum { CRC32 = 1 << 7, ATOMICS = 1 << 8, ASIMDRDM = 1 << 12, JSCVT = 1 << 13, FCMA = 1 << 14, LRCPC = 1 << 15, ASIMDDP = 1 << 20, FLAGM = 1 << 27 };
  enum { FRINT = 1 << 8, I8MM = 1 << 13, BF16 = 1 << 14 };
  const unsigned long one = getauxval(AT_HWCAP), two = getauxval(AT_HWCAP2), v8_2 = CRC32 | ATOMICS | ASIMDRDM | ASIMDDP;
  unsigned has = 0;
  if (one & ASIMDDP) has |= TAPC_DOTPROD;
  if (two & I8MM) has |= TAPC_I8MM;
  if (two & BF16) has |= TAPC_BF16_DOT;
  if (all(one, v8_2)) has |= TAPC_ARMV8_2;
  if (all(one, v8_2 | JSCVT | FCMA | LRCPC | FLAGM) && all(two, FRINT | I8MM | BF16)) has |= TAPC_ARMV8_6;
  return has;
}
#else
static unsigned find_features(void) { return 0; }
#endif

unsigned tapc_features(void) {
  const unsigned known = 1u << 31;
  static atomic_uint found;
  unsigned has = atomic_load_explicit(&found, memory_order_relaxed);
  if (!has) {
    has = find_features() | known;
    atomic_store_explicit(&found, has, memory_order_relaxed);
  }
  return has;
}

#if !defined(__x86_64__)
static int64_t find_near(void) { return 0; }
#endif

// Where each thread has a second cache of near bytes, behind which nothing is faster than memory; or, if near is 0, usual caches.
static int goes_past(int64_t near, int64_t bytes, int threads) {
  const int64_t usual = 32 << 20;
  return near ? bytes / threads > near + near / 4 : bytes >= usual;
}

int tapc_far(int threads, int64_t bytes) {
  const int64_t unknown = -1;
  static atomic_llong found = -1;
  int64_t near = atomic_load_explicit(&found, memory_order_relaxed);
  if (near == unknown) {
    near = find_near();
    atomic_store_explicit(&found, near, memory_order_relaxed);
  }
  return goes_past(near, bytes, threads);
}
