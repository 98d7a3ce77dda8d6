// oneDNN's primitives, called with memory of the caller: a peer of race.py. Operands that are constants, and images, are in the
// layouts that oneDNN chooses, and are put into them before anything is timed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oneapi/dnnl/dnnl.h"

typedef struct {
  dnnl_primitive_t primitive;
  int count;
  dnnl_exec_arg_t args[8];
} work;

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static void check(dnnl_status_t status, const char *what) {
  if (status == dnnl_success) return;
  fprintf(stderr, "oneDNN: %s: status %d\n", what, status);
  exit(1);
}

static void start(void) {
  if (engine) return;
  check(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine");
  check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "stream");
}

static dnnl_memory_desc_t tagged(int rank, const dnnl_dims_t dims, dnnl_format_tag_t tag) {
  dnnl_memory_desc_t d;
  check(dnnl_memory_desc_create_with_tag(&d, rank, dims, dnnl_f32, tag), "descriptor");
  return d;
}

static void give(work *w, int arg, dnnl_memory_t memory) { w->args[w->count++] = (dnnl_exec_arg_t){arg, memory}; }

static dnnl_memory_t memory(const_dnnl_memory_desc_t d, void *data) {
  dnnl_memory_t m;
  check(dnnl_memory_create(&m, d, engine, data), "memory");
  return m;
}

// chosen gives memory of the layout that the primitive wants of an argument, filled from data in the plain layout.
static dnnl_memory_t chosen(const_dnnl_primitive_desc_t p, dnnl_query_t what, dnnl_memory_desc_t plain, void *data) {
  const_dnnl_memory_desc_t want = dnnl_primitive_desc_query_md(p, what, 0);
  if (dnnl_memory_desc_equal(want, plain)) return memory(plain, data);
  dnnl_memory_t to = memory(want, DNNL_MEMORY_ALLOCATE), from = memory(plain, data);
  dnnl_primitive_desc_t d;
  dnnl_primitive_t reorder;
  check(dnnl_reorder_primitive_desc_create(&d, plain, engine, want, engine, NULL), "reorder");
  check(dnnl_primitive_create(&reorder, d), "reorder");
  dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  check(dnnl_primitive_execute(reorder, stream, 2, args), "reorder");
  check(dnnl_stream_wait(stream), "reorder");
  return to;
}

// product makes z = x * w, of m by k and k by n; w is a constant, or read where it stands.
void *product(float *x, float *w, float *z, long m, long n, long k, int constant) {
  start();
  work *o = calloc(1, sizeof *o);
  dnnl_memory_desc_t a = tagged(2, (dnnl_dims_t){m, k}, dnnl_ab), b = tagged(2, (dnnl_dims_t){k, n}, dnnl_ab);
  dnnl_memory_desc_t c = tagged(2, (dnnl_dims_t){m, n}, dnnl_ab), any = tagged(2, (dnnl_dims_t){k, n}, dnnl_format_tag_any);
  dnnl_primitive_desc_t p;
  check(dnnl_matmul_primitive_desc_create(&p, engine, a, constant ? any : b, NULL, c, NULL), "matmul");
  check(dnnl_primitive_create(&o->primitive, p), "matmul");
  give(o, DNNL_ARG_SRC, memory(a, x));
  give(o, DNNL_ARG_WEIGHTS, chosen(p, dnnl_query_weights_md, b, w));
  give(o, DNNL_ARG_DST, memory(c, z));
  return o;
}

// convolution makes one of c to f channels in some groups with a square window, zeros around, and a bias, on a square image.
void *convolution(float *x, float *w, float *bias, float *z, long c, long f, long size, long window, long groups) {
  start();
  work *o = calloc(1, sizeof *o);
  long pad = window / 2;
  dnnl_dims_t in = {1, c, size, size}, out = {1, f, size, size};
  dnnl_dims_t plain = {f, c, window, window}, grouped = {groups, f / groups, c / groups, window, window};
  int rank = groups > 1 ? 5 : 4;
  dnnl_memory_desc_t filters = tagged(rank, groups > 1 ? grouped : plain, groups > 1 ? dnnl_abcde : dnnl_abcd);
  dnnl_memory_desc_t any = tagged(rank, groups > 1 ? grouped : plain, dnnl_format_tag_any);
  dnnl_memory_desc_t from = tagged(4, in, dnnl_format_tag_any), to = tagged(4, out, dnnl_format_tag_any), b = tagged(1, (dnnl_dims_t){f}, dnnl_a);
  dnnl_primitive_desc_t p;
  check(dnnl_convolution_forward_primitive_desc_create(&p, engine, dnnl_forward_inference, dnnl_convolution_direct, from, any, b, to,
                                                       (dnnl_dims_t){1, 1}, (dnnl_dims_t){0, 0}, (dnnl_dims_t){pad, pad},
                                                       (dnnl_dims_t){pad, pad}, NULL), "convolution");
  check(dnnl_primitive_create(&o->primitive, p), "convolution");
  give(o, DNNL_ARG_SRC, chosen(p, dnnl_query_src_md, tagged(4, in, dnnl_abcd), x));
  give(o, DNNL_ARG_WEIGHTS, chosen(p, dnnl_query_weights_md, filters, w));
  give(o, DNNL_ARG_BIAS, memory(b, bias));
  give(o, DNNL_ARG_DST, chosen(p, dnnl_query_dst_md, tagged(4, out, dnnl_abcd), z));
  return o;
}

// softmax makes that of each row.
void *softmax(float *x, float *z, long rows, long columns) {
  start();
  work *o = calloc(1, sizeof *o);
  dnnl_memory_desc_t d = tagged(2, (dnnl_dims_t){rows, columns}, dnnl_ab);
  dnnl_primitive_desc_t p;
  check(dnnl_softmax_forward_primitive_desc_create(&p, engine, dnnl_forward_inference, dnnl_softmax_accurate, d, d, 1, NULL), "softmax");
  check(dnnl_primitive_create(&o->primitive, p), "softmax");
  give(o, DNNL_ARG_SRC, memory(d, x));
  give(o, DNNL_ARG_DST, memory(d, z));
  return o;
}

// norm makes the layer norm of each row.
void *norm(float *x, float *scale, float *shift, float *z, long rows, long columns) {
  start();
  work *o = calloc(1, sizeof *o);
  dnnl_memory_desc_t d = tagged(2, (dnnl_dims_t){rows, columns}, dnnl_ab), s = tagged(1, (dnnl_dims_t){columns}, dnnl_a);
  dnnl_primitive_desc_t p;
  check(dnnl_layer_normalization_forward_primitive_desc_create(&p, engine, dnnl_forward_inference, d, d, NULL, 1e-5f,
                                                               dnnl_use_scale | dnnl_use_shift, NULL), "layer norm");
  check(dnnl_primitive_create(&o->primitive, p), "layer norm");
  give(o, DNNL_ARG_SRC, memory(d, x));
  give(o, DNNL_ARG_DST, memory(d, z));
  give(o, DNNL_ARG_SCALE, memory(s, scale));
  give(o, DNNL_ARG_SHIFT, memory(s, shift));
  return o;
}

void execute(void *handle) {
  work *o = handle;
  check(dnnl_primitive_execute(o->primitive, stream, o->count, o->args), "execute");
  check(dnnl_stream_wait(stream), "execute");
}
