// c = a + b over a range that begins at [-40, 20]; z = x + y; f = x < y. What generated code looks like, by hand.
#include "tapc_rt.h"

static const int64_t corner[] = {-40, 20}, grid[] = {2, 3}, line[] = {4};
static const tapc_tensor inputs[] = {
    {"a", TAPC_I32, 2, corner, grid, 24, 0, NULL, 0, NULL},
    {"b", TAPC_I32, 2, corner, grid, 24, 0, NULL, 0, NULL},
    {"x", TAPC_F32, 1, NULL, line, 16, 0, NULL, 0, NULL},
    {"y", TAPC_F32, 1, NULL, line, 16, 0, NULL, 0, NULL},
};
static const tapc_tensor outputs[] = {
    {"c", TAPC_I32, 2, corner, grid, 24, 0, NULL, 0, NULL},
    {"z", TAPC_F32, 1, NULL, line, 16, 0, NULL, 0, NULL},
    {"less", TAPC_BOOL, 1, NULL, line, 4, 0, NULL, 0, NULL},
};

typedef struct operands {
  const int32_t *a, *b;
  int32_t *c;
} operands;

static void add(void *ctx, int64_t begin, int64_t end, int worker) {
  operands *o = ctx;
  (void)worker;
  for (int64_t i = begin; i < end; i++) o->c[i] = (int32_t)((uint32_t)o->a[i] + (uint32_t)o->b[i]);
}

static int run(const tapc_program *program, const void *const *in, void *const *out, void *arena, tapc_pool *pool) {
  (void)program, (void)arena;
  operands o = {in[0], in[1], out[0]};
  const float *x = in[2], *y = in[3];
  float *z = out[1];
  uint8_t *less = out[2];
  tapc_parallel(pool, 6, 1000000, add, &o);
  tapc_done(0);
  for (int i = 0; i < 4; i++) {
    z[i] = x[i] + y[i];
    less[i] = x[i] < y[i];
    if (x[i] > 1e30f) return tapc_reject("x: expected elements of at most 1e30");
    if (x[i] < -1e30f) return 7;
  }
  tapc_done(1);
  return 0;
}

static const char *const steps[] = {"c = a + b", "z = x + y"};

const tapc_program tapc_main_program = {"add", "{\"name\": \"add\"}", "adds two pairs of tensors", 4, 3, inputs, outputs, 2, steps, 0, 0, 0, 0, 0, .run = run};
