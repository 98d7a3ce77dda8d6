// Outputs of many shapes and values, to be printed. With ARENA, a program that asks for that much memory.
#include "tapc_rt.h"

#ifndef ARENA
#define ARENA ((size_t)3 << 20)
#endif

static const int64_t n1000[] = {1, 1000}, n65[] = {65}, n3[] = {3}, n222[] = {2, 2, 2}, n0[] = {0, 4}, n2[] = {2}, from[] = {0, -500};
static const tapc_tensor inputs[] = {{"s", TAPC_F64, 0, NULL, NULL, 8, 0, NULL, 0, NULL}};
static const tapc_tensor outputs[] = {
    {"scalar", TAPC_F64, 0, NULL, NULL, 8, 0, NULL, 0, NULL},   {"empty", TAPC_F32, 2, NULL, n0, 0, 0, NULL, 0, NULL},      {"cube", TAPC_I8, 3, NULL, n222, 8, 0, NULL, 0, NULL},
    {"scores", TAPC_F32, 2, from, n1000, 4000, 0, NULL, 0, NULL}, {"counts", TAPC_U64, 1, NULL, n65, 520, 0, NULL, 0, NULL}, {"special", TAPC_F32, 1, NULL, n3, 12, 0, NULL, 0, NULL},
    {"wave", TAPC_C64, 1, NULL, n2, 16, 0, NULL, 0, NULL},      {"flags", TAPC_BOOL, 1, NULL, n3, 3, 0, NULL, 0, NULL},      {"halves", TAPC_F16, 1, NULL, n3, 6, 0, NULL, 0, NULL},
    {"eights", TAPC_F8E4M3, 1, NULL, n3, 3, 0, NULL, 0, NULL},
};

static int run(const tapc_program *program, const void *const *in, void *const *out, void *arena, tapc_pool *pool) {
  (void)pool;
  if ((uintptr_t)arena % 64) return 1;
  for (size_t i = 0; i < program->arena_bytes; i += 4096) ((char *)arena)[i] = 1;
  *(double *)out[0] = *(const double *)in[0];
  for (int i = 0; i < 8; i++) ((int8_t *)out[2])[i] = (int8_t)(i - 3);
  for (int i = 0; i < 1000; i++) ((float *)out[3])[i] = i == 417 ? 0.1f : -0.5f / (float)(i + 1);
  for (int i = 0; i < 65; i++) ((uint64_t *)out[4])[i] = i == 7 ? UINT64_MAX : (uint64_t)i;
  const uint32_t special[3] = {0x7fc00000, 0xff800000, 0x3f000000}; // NaN, -inf, 0.5
  for (int i = 0; i < 3; i++) ((uint32_t *)out[5])[i] = special[i];
  const float wave[4] = {1, -2, 0.25f, 3};
  for (int i = 0; i < 4; i++) ((float *)out[6])[i] = wave[i];
  const uint8_t flags[3] = {1, 0, 1}, eights[3] = {0x38, 0xc0, 0x01}; // 1, -2, 2^-9
  const uint16_t halves[3] = {0x3c00, 0x0001, 0x7c00};                // 1, 2^-24, inf
  for (int i = 0; i < 3; i++) {
    ((uint8_t *)out[7])[i] = flags[i];
    ((uint16_t *)out[8])[i] = halves[i];
    ((uint8_t *)out[9])[i] = eights[i];
  }
  return 0;
}

const tapc_program tapc_main_program = {"show", "{}", NULL, 1, 10, inputs, outputs, 0, NULL, ARENA, 0, 0, 0, 0, .run = run};
