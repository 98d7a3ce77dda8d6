// Shows a tensor to a person: all of it when small, else its ends and its distribution.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { ALL = 64, ENDS = 3 }; // print all up to ALL elements; else ENDS at each end

// The shortest decimal that reads back as the value, for the two types that most people print; others get as many
// digits as tell any two values apart.
static void format_float(char *text, size_t room, double value, int dtype) {
  if (isnan(value)) {
    snprintf(text, room, "nan");
    return;
  }
  int single = dtype == TAPC_F32 || dtype == TAPC_C64, most = tapc_dtype_of(dtype)->digits;
  int least = most > 9 ? 15 : most > 6 ? 6 : most;
  if (most > 17) most = 17; // it never is; the compiler sees that the text fits
  for (int digits = least; digits <= most; digits++) {
    snprintf(text, room, "%.*g", digits, value);
    if (digits == most || !isfinite(value)) return;
    if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) return;
  }
}

static void format_element(char *text, size_t room, const tapc_tensor *tensor, const unsigned char *data, size_t i) {
  const tapc_dtype_info *info = tapc_dtype_of(tensor->dtype);
  const unsigned char *element = data + i * info->size;
  char re[40], im[40];
  switch (info->kind) {
  case 'b':
    snprintf(text, room, "%s", *element ? "true" : "false");
    break;
  case 'i':
    snprintf(text, room, "%lld", (long long)tapc_load_int(tensor->dtype, element));
    break;
  case 'u':
    snprintf(text, room, "%llu", (unsigned long long)tapc_load_uint(tensor->dtype, element));
    break;
  case 'f':
    format_float(text, room, tapc_load_float(tensor->dtype, element), tensor->dtype);
    break;
  default:
    format_float(re, sizeof re, tapc_load_float(tensor->dtype, element), tensor->dtype);
    format_float(im, sizeof im, tapc_load_float(tensor->dtype, element + info->unit), tensor->dtype);
    snprintf(text, room, "%s%s%si", re, im[0] == '-' ? "" : "+", im);
  }
}

// How many dimensions end at element i: the brackets to close after it (and, seen from the start, to open before it).
static int edges(const tapc_tensor *tensor, size_t i) {
  int n = 0;
  for (int d = tensor->rank - 1; d >= 0; d--) {
    if (i % (size_t)tensor->shape[d]) break;
    i /= (size_t)tensor->shape[d];
    n++;
  }
  return n;
}

static void print_all(FILE *to, const tapc_tensor *tensor, const unsigned char *data, size_t n) {
  char text[96];
  fputs("  ", to);
  for (size_t i = 0; i < n; i++) {
    int opens = edges(tensor, i), closes = edges(tensor, i + 1);
    if (i && opens) fprintf(to, ",\n  %*s", tensor->rank - opens, "");
    if (i && !opens) fputs(", ", to);
    for (int k = 0; k < opens; k++) putc('[', to);
    format_element(text, sizeof text, tensor, data, i);
    fputs(text, to);
    for (int k = 0; k < closes; k++) putc(']', to);
  }
  putc('\n', to);
}

static void print_ends(FILE *to, const tapc_tensor *tensor, const unsigned char *data, size_t n) {
  char text[96];
  fputs("  ", to);
  for (size_t i = 0; i < 2 * ENDS; i++) {
    format_element(text, sizeof text, tensor, data, i < ENDS ? i : n - 2 * ENDS + i);
    fprintf(to, "%s%s", i == ENDS ? ", ..., " : i ? ", " : "", text);
  }
  putc('\n', to);
}

// Whether element i is greater (sign 1) or less (sign -1) than element j; a NaN never is, and anything is than a NaN.
static int beats(const tapc_tensor *tensor, const unsigned char *data, size_t i, size_t j, int sign) {
  const tapc_dtype_info *info = tapc_dtype_of(tensor->dtype);
  const unsigned char *x = data + i * info->size, *y = data + j * info->size;
  if (info->kind == 'f') {
    double a = tapc_load_float(tensor->dtype, x), b = tapc_load_float(tensor->dtype, y);
    if (isnan(a) || isnan(b)) return !isnan(a);
    return sign > 0 ? a > b : a < b;
  }
  if (info->kind == 'u') {
    uint64_t a = tapc_load_uint(tensor->dtype, x), b = tapc_load_uint(tensor->dtype, y);
    return sign > 0 ? a > b : a < b;
  }
  int64_t a = tapc_load_int(tensor->dtype, x), b = tapc_load_int(tensor->dtype, y);
  return sign > 0 ? a > b : a < b;
}

// The first of the greatest (sign 1) or least (sign -1) elements.
static size_t extreme(const tapc_tensor *tensor, const unsigned char *data, size_t n, int sign) {
  size_t best = 0;
  for (size_t i = 1; i < n; i++)
    if (beats(tensor, data, i, best, sign)) best = i;
  return best;
}

static double as_double(const tapc_tensor *tensor, const unsigned char *element) {
  switch (tapc_dtype_of(tensor->dtype)->kind) {
  case 'f':
    return tapc_load_float(tensor->dtype, element);
  case 'u':
    return (double)tapc_load_uint(tensor->dtype, element);
  default:
    return (double)tapc_load_int(tensor->dtype, element);
  }
}

static void print_distribution(FILE *to, const tapc_tensor *tensor, const unsigned char *data, size_t n) {
  char least[96], most[96];
  size_t size = tapc_dtype_of(tensor->dtype)->size, not_numbers = 0;
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    double value = as_double(tensor, data + i * size);
    if (isnan(value)) not_numbers++;
    else sum += value;
  }
  if (not_numbers == n) {
    fprintf(to, "  all %zu are NaN\n", n);
    return;
  }
  format_element(least, sizeof least, tensor, data, extreme(tensor, data, n, -1));
  format_element(most, sizeof most, tensor, data, extreme(tensor, data, n, 1));
  fprintf(to, "  min %s, max %s, mean %.6g", least, most, sum / (double)(n - not_numbers));
  if (not_numbers) fprintf(to, ", %zu NaN left out", not_numbers);
  putc('\n', to);
}

// The point of the largest element, in the graph's coordinates: what a classifier says.
static void print_largest(FILE *to, const tapc_tensor *tensor, const unsigned char *data, size_t n) {
  char text[96];
  size_t best = extreme(tensor, data, n, 1), last = (size_t)tensor->rank - 1;
  format_element(text, sizeof text, tensor, data, best);
  fprintf(to, "  largest: %s at [", text);
  for (size_t d = 0; d <= last; d++) {
    int64_t at = (tensor->start ? tensor->start[d] : 0) + (d == last ? (int64_t)best : 0);
    fprintf(to, "%s%lld", d ? ", " : "", (long long)at);
  }
  fputs("]\n", to);
}

static int is_vector(const tapc_tensor *tensor) {
  if (tensor->rank < 1 || tensor->rank > 2) return 0;
  if (tensor->rank == 2 && tensor->shape[0] != 1) return 0;
  return tensor->shape[tensor->rank - 1] >= 2;
}

void tapc_print_tensor(FILE *to, const tapc_tensor *tensor, const void *data) {
  char text[512];
  size_t n = tapc_count(tensor);
  int kind = tapc_dtype_of(tensor->dtype)->kind;
  fprintf(to, "%s: %s, shape %s", tensor->name, tapc_dtype_of(tensor->dtype)->name, tapc_shape_text(text, sizeof text, tensor->rank, tensor->shape));
  if (!tapc_starts_at_zero(tensor)) fprintf(to, ", range %s", tapc_range_text(text, sizeof text, tensor));
  putc('\n', to);
  if (n == 0) {
    fputs("  no elements\n", to);
  } else if (n <= ALL) {
    print_all(to, tensor, data, n);
  } else {
    print_ends(to, tensor, data, n);
    if (kind != 'c') print_distribution(to, tensor, data, n);
  }
  if (kind == 'f' && is_vector(tensor)) print_largest(to, tensor, data, n);
}
