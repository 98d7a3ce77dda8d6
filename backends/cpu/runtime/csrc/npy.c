// The header of a .npy file: a magic, a version, a length and a Python literal such as
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
// (numpy/lib/_format_impl: versions 1.0, 2.0 and 3.0). Read strictly: the three keys, once each, in any order.
#include <string.h>

#include "internal.h"

int tapc_npy_head(const unsigned char *start, uint64_t total, uint64_t *head_bytes, tapc_fault *fault) {
  if (total < 10 || (start[6] > 1 && total < 12)) return tapc_fail(fault, TAPC_INPUT, "truncated: expected a .npy header, found %llu bytes", (unsigned long long)total);
  if (memcmp(start, "\x93NUMPY", 6)) return tapc_fail(fault, TAPC_INPUT, "not a .npy file: expected it to begin with \"\\x93NUMPY\"");
  uint64_t length = start[8] | (uint64_t)start[9] << 8, before = 10;
  if (start[6] == 2 || start[6] == 3) {
    length |= (uint64_t)start[10] << 16 | (uint64_t)start[11] << 24;
    before = 12;
  } else if (start[6] != 1) {
    return tapc_fail(fault, TAPC_INPUT, ".npy version: expected 1, 2 or 3, found %d.%d", start[6], start[7]);
  }
  if (length > TAPC_MAX_NPY_HEADER)
    return tapc_fail(fault, TAPC_INPUT, ".npy header length: expected at most %d bytes, found %llu", TAPC_MAX_NPY_HEADER, (unsigned long long)length);
  if (length > total - before)
    return tapc_fail(fault, TAPC_INPUT, "truncated: expected a .npy header of %llu bytes, found %llu", (unsigned long long)length, (unsigned long long)(total - before));
  *head_bytes = before + length;
  return 0;
}

// A cursor over the literal.
typedef struct reader {
  const char *at, *end;
  tapc_fault *fault;
} reader;

static void npy_skip_space(reader *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r')) r->at++;
}

static int bad_npy(reader *r, const char *expected) {
  char found[24] = "the end";
  if (r->at < r->end) snprintf(found, sizeof found, "\"%.*s\"", r->end - r->at < 12 ? (int)(r->end - r->at) : 12, r->at);
  return tapc_fail(r->fault, TAPC_INPUT, "bad .npy header: expected %s, found %s", expected, found);
}

// Takes c if it is next.
static int npy_take(reader *r, char c) {
  npy_skip_space(r);
  if (r->at == r->end || *r->at != c) return 0;
  r->at++;
  return 1;
}

// Takes a quoted string without escapes.
static int npy_take_string(reader *r, char *text, size_t room, const char *what) {
  npy_skip_space(r);
  char quote = r->at < r->end ? *r->at : 0;
  if (quote != '\'' && quote != '"') return bad_npy(r, what);
  const char *from = r->at + 1, *to = memchr(from, quote, (size_t)(r->end - from));
  if (!to || (size_t)(to - from) >= room || memchr(from, '\\', (size_t)(to - from))) return bad_npy(r, what);
  memcpy(text, from, (size_t)(to - from));
  text[to - from] = 0;
  r->at = to + 1;
  return 0;
}

static int take_dimension(reader *r, int64_t *value) {
  npy_skip_space(r);
  const char *from = r->at;
  uint64_t v = 0;
  for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
    v = v * 10 + (uint64_t)(*r->at - '0');
    if (r->at - from >= 19 || v > INT64_MAX) {
      r->at = from;
      return bad_npy(r, "a dimension below 2^63");
    }
  }
  if (r->at == from) return bad_npy(r, "a dimension");
  if (r->at < r->end && *r->at == 'L') r->at++; // Python 2 wrote long integers so
  *value = (int64_t)v;
  return 0;
}

static int take_shape(reader *r, tapc_layout *layout) {
  if (!npy_take(r, '(')) return bad_npy(r, "a shape in parentheses");
  while (!npy_take(r, ')')) {
    if (layout->rank == TAPC_MAX_RANK) return bad_npy(r, "at most 64 dimensions");
    if (take_dimension(r, &layout->shape[layout->rank])) return TAPC_INPUT;
    layout->rank++;
    if (!npy_take(r, ',')) {
      if (layout->rank == 1 || !npy_take(r, ')')) return bad_npy(r, "\",\" or \")\" in the shape");
      return 0;
    }
  }
  return 0;
}

static int take_flag(reader *r, int *flag) {
  npy_skip_space(r);
  for (int value = 0; value < 2; value++) {
    const char *word = value ? "True" : "False";
    size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length)) continue;
    r->at += length;
    *flag = value;
    return 0;
  }
  return bad_npy(r, "True or False for 'fortran_order'");
}

// The dtype that a NumPy type string names: byte order, kind, size.
static int parse_descr(const char *descr, tapc_layout *layout, tapc_fault *fault) {
  char order = '<';
  const char *type = descr;
  if (*type && strchr("<>=|", *type)) order = *type++;
  for (int d = TAPC_BOOL; d < TAPC_DTYPES; d++) {
    const tapc_dtype_info *info = tapc_dtype_of(d);
    if (info->bits < 8 || !info->descr || strcmp(info->descr + 1, type)) continue;
    layout->dtype = d;
    layout->swap = order == '>' && info->unit > 1;
    return 0;
  }
  if (type[0] == 'V') return tapc_fail(fault, TAPC_INPUT, "dtype: raw records '%s' have no element type (bfloat16 and float8 are kept so); use .safetensors for them", descr);
  return tapc_fail(fault, TAPC_INPUT, "dtype: expected a boolean, integer, float or complex type such as '<f4', found '%s'", descr);
}

int tapc_npy_parse(const unsigned char *head, uint64_t head_bytes, tapc_layout *layout, tapc_fault *fault) {
  size_t before = head[6] == 1 ? 10 : 12;
  reader r = {(const char *)head + before, (const char *)head + head_bytes, fault};
  char key[16], descr[32] = "";
  unsigned seen = 0;
  memset(layout, 0, sizeof *layout);
  layout->data = head_bytes;
  if (!npy_take(&r, '{')) return bad_npy(&r, "\"{\"");
  while (!npy_take(&r, '}')) {
    if (npy_take_string(&r, key, sizeof key, "a key")) return TAPC_INPUT;
    unsigned which = !strcmp(key, "descr") ? 1 : !strcmp(key, "fortran_order") ? 2 : !strcmp(key, "shape") ? 4 : 0;
    if (!which || seen & which)
      return tapc_fail(fault, TAPC_INPUT, "bad .npy header: expected 'descr', 'fortran_order' and 'shape' once each, found '%s'%s", key, which ? " twice" : "");
    seen |= which;
    if (!npy_take(&r, ':')) return bad_npy(&r, "\":\"");
    int status = which == 1   ? npy_take_string(&r, descr, sizeof descr, "a type string such as '<f4' for 'descr'")
                 : which == 2 ? take_flag(&r, &layout->fortran)
                              : take_shape(&r, layout);
    if (status) return status;
    if (!npy_take(&r, ',')) {
      if (!npy_take(&r, '}')) return bad_npy(&r, "\",\" or \"}\"");
      break;
    }
  }
  npy_skip_space(&r);
  if (r.at != r.end) return bad_npy(&r, "nothing after \"}\"");
  if (seen != 7) return tapc_fail(fault, TAPC_INPUT, "bad .npy header: expected 'descr', 'fortran_order' and 'shape', one is missing");
  if (parse_descr(descr, layout, fault)) return TAPC_INPUT;
  return tapc_layout_measure(layout, fault);
}

// The header as NumPy writes it, padded with spaces so that the data begin at a multiple of 64.
size_t tapc_npy_write_head(char *head, size_t room, const tapc_tensor *tensor) {
  size_t used = 10;
  int wrote = snprintf(head + used, room - used, "{'descr': '%s', 'fortran_order': False, 'shape': (", tapc_dtype_of(tensor->dtype)->descr);
  used += (size_t)wrote;
  for (int i = 0; i < tensor->rank; i++) {
    if (used + 64 + 128 > room) return 0;
    used += (size_t)snprintf(head + used, room - used, "%s%lld", i ? ", " : "", (long long)tensor->shape[i]);
  }
  used += (size_t)snprintf(head + used, room - used, "%s), }", tensor->rank == 1 ? "," : "");
  size_t total = (used + 1 + 63) / 64 * 64;
  if (total > room) return 0;
  memset(head + used, ' ', total - used);
  head[total - 1] = '\n';
  size_t length = total - 10;
  memcpy(head, "\x93NUMPY\x01\x00", 8);
  head[8] = (char)(length & 255);
  head[9] = (char)(length >> 8);
  return total;
}
