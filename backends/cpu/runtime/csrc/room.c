// Inputs and outputs that share memory: they have the layout of a greater shape, at whose start they lie.
#include <string.h>

#include "internal.h"

tapc_tensor tapc_dense(const tapc_tensor *tensor) {
  tapc_tensor t = *tensor;
  t.strides = NULL;
  t.over = 0;
  if (tensor->strides) t.bytes = tapc_dtype_of(tensor->dtype)->size;
  for (int d = 0; tensor->strides && d < tensor->rank; d++) t.bytes *= (size_t)tensor->shape[d];
  return t;
}

// The elements of the last dimension, which are neighbours in both layouts, and how many such rows there are.
static size_t rows_of(const tapc_tensor *t, size_t *row) {
  tapc_tensor dense = tapc_dense(t);
  size_t n = tapc_count(&dense), last = t->rank ? (size_t)t->shape[t->rank - 1] : 1;
  *row = last * tapc_dtype_of(t->dtype)->size;
  return last ? n / last : 0;
}

// The byte in the memory at which a row begins.
static size_t row_at(const tapc_tensor *t, size_t number) {
  size_t at = 0;
  for (int d = t->rank - 2; d >= 0; d--) {
    at += number % (size_t)t->shape[d] * (size_t)t->strides[d];
    number /= (size_t)t->shape[d];
  }
  return at * tapc_dtype_of(t->dtype)->size;
}

void tapc_spread(const tapc_tensor *tensor, void *memory) {
  size_t row;
  if (!tensor->strides) return;
  for (size_t i = rows_of(tensor, &row); i-- > 0;) memmove((char *)memory + row_at(tensor, i), (char *)memory + i * row, row); // to places behind
}

void tapc_gather(const tapc_tensor *tensor, void *memory) {
  size_t row;
  if (!tensor->strides) return;
  for (size_t i = 0, n = rows_of(tensor, &row); i < n; i++) memmove((char *)memory + i * row, (char *)memory + row_at(tensor, i), row); // to places before
}
