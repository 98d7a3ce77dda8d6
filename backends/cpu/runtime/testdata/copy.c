// Copies an input of each element type to an output of the same name.
#include <string.h>

#include "tapc_rt.h"

#ifdef FLAGS
static const int64_t shape[] = {4};
#elif defined FIXTURE // the shape of the files from other writers
static const int64_t shape[] = {2, 3, 4};
enum { N = 24 };
#else
static const int64_t shape[] = {3, 5, 7};
enum { N = 105 };
#endif

#define TENSORS                                                                                                        \
  {"boolean", TAPC_BOOL, 3, NULL, shape, N, 0, NULL, 0, NULL}, {"int8", TAPC_I8, 3, NULL, shape, N, 0, NULL, 0, NULL}, {"int16", TAPC_I16, 3, NULL, shape, 2 * N, 0, NULL, 0, NULL},  \
      {"int32", TAPC_I32, 3, NULL, shape, 4 * N, 0, NULL, 0, NULL}, {"int64", TAPC_I64, 3, NULL, shape, 8 * N, 0, NULL, 0, NULL},                            \
      {"uint8", TAPC_U8, 3, NULL, shape, N, 0, NULL, 0, NULL}, {"uint16", TAPC_U16, 3, NULL, shape, 2 * N, 0, NULL, 0, NULL},                                \
      {"uint32", TAPC_U32, 3, NULL, shape, 4 * N, 0, NULL, 0, NULL}, {"uint64", TAPC_U64, 3, NULL, shape, 8 * N, 0, NULL, 0, NULL},                          \
      {"float16", TAPC_F16, 3, NULL, shape, 2 * N, 0, NULL, 0, NULL}, {"float32", TAPC_F32, 3, NULL, shape, 4 * N, 0, NULL, 0, NULL},                        \
      {"float64", TAPC_F64, 3, NULL, shape, 8 * N, 0, NULL, 0, NULL}, {"complex64", TAPC_C64, 3, NULL, shape, 8 * N, 0, NULL, 0, NULL}

#ifdef NARROW // what only .safetensors can hold
#undef TENSORS
#define TENSORS                                                                                                        \
  {"bfloat16", TAPC_BF16, 3, NULL, shape, 2 * N, 0, NULL, 0, NULL}, {"float8_e4m3", TAPC_F8E4M3, 3, NULL, shape, N, 0, NULL, 0, NULL},                        \
      {"float8_e5m2", TAPC_F8E5M2, 3, NULL, shape, N, 0, NULL, 0, NULL}, {"float8_e8m0", TAPC_F8E8M0, 3, NULL, shape, N, 0, NULL, 0, NULL},                         \
      {"float8_e4m3fnuz", TAPC_F8E4M3FNUZ, 3, NULL, shape, N, 0, NULL, 0, NULL}, {"float8_e5m2fnuz", TAPC_F8E5M2FNUZ, 3, NULL, shape, N, 0, NULL, 0, NULL},      \
      {"float32", TAPC_F32, 3, NULL, shape, 4 * N, 0, NULL, 0, NULL}
#endif

#ifdef WIDE // what only .npy can hold, and types narrower than a byte
#undef TENSORS
#define TENSORS                                                                                                        \
  {"complex128", TAPC_C128, 3, NULL, shape, 16 * N, 0, NULL, 0, NULL}, {"int4", TAPC_I4, 3, NULL, shape, N, 0, NULL, 0, NULL}, {"uint4", TAPC_U4, 3, NULL, shape, N, 0, NULL, 0, NULL},   \
      {"int2", TAPC_I2, 3, NULL, shape, N, 0, NULL, 0, NULL}, {"uint2", TAPC_U2, 3, NULL, shape, N, 0, NULL, 0, NULL}, {"float6_e2m3", TAPC_F6E2M3, 3, NULL, shape, N, 0, NULL, 0, NULL}, \
      {"float6_e3m2", TAPC_F6E3M2, 3, NULL, shape, N, 0, NULL, 0, NULL}, {"float4_e2m1", TAPC_F4E2M1, 3, NULL, shape, N, 0, NULL, 0, NULL}
#endif

#ifdef FLAGS
#undef TENSORS
#define TENSORS {"flags", TAPC_BOOL, 1, NULL, shape, 4, 0, NULL, 0, NULL}
#endif

static const tapc_tensor tensors[] = {TENSORS};
enum { TENSOR_COUNT = sizeof tensors / sizeof tensors[0] };

static int run(const tapc_program *program, const void *const *in, void *const *out, void *arena, tapc_pool *pool) {
  (void)arena, (void)pool;
  for (int i = 0; i < program->n_inputs; i++) memcpy(out[i], in[i], program->inputs[i].bytes);
  return 0;
}

const tapc_program tapc_main_program = {"copy", "{}", NULL, TENSOR_COUNT, TENSOR_COUNT, tensors, tensors, 0, NULL, 0, 0, 0, 0, 0, .run = run};
