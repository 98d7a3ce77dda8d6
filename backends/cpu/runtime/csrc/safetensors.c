// .safetensors: 8 bytes of length, a JSON object that describes each tensor, then the tensors' bytes without gaps:
//   {"__metadata__": {"k": "v"}, "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
// The header's text is kept; the table of contents holds offsets only, and a shape is parsed when it is wanted.
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { MAX_HEADER = 100 << 20 }; // the format's own limit

typedef struct json {
  const char *start, *at, *end;
  tapc_fault *fault;
} json;

static void skip_space(json *j) {
  while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r')) j->at++;
}

static int bad(json *j, const char *expected) {
  char found[24] = "the end";
  if (j->at < j->end) snprintf(found, sizeof found, "\"%.*s\"", j->end - j->at < 12 ? (int)(j->end - j->at) : 12, j->at);
  return tapc_fail(j->fault, TAPC_INPUT, "bad .safetensors header at byte %zu: expected %s, found %s", (size_t)(j->at - j->start) + 8, expected, found);
}

static int take(json *j, char c) {
  skip_space(j);
  if (j->at == j->end || *j->at != c) return 0;
  j->at++;
  return 1;
}

static int hex4(const char *p, const char *end, unsigned *value) {
  *value = 0;
  if (end - p < 4) return 0;
  for (int i = 0; i < 4; i++) {
    char c = p[i];
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return 0;
    *value = *value << 4 | (unsigned)digit;
  }
  return 1;
}

static char *put_utf8(char *to, unsigned c) {
  if (c < 0x80) {
    *to++ = (char)c;
  } else if (c < 0x800) {
    *to++ = (char)(0xc0 | c >> 6);
    *to++ = (char)(0x80 | (c & 63));
  } else if (c < 0x10000) {
    *to++ = (char)(0xe0 | c >> 12);
    *to++ = (char)(0x80 | (c >> 6 & 63));
    *to++ = (char)(0x80 | (c & 63));
  } else {
    *to++ = (char)(0xf0 | c >> 18);
    *to++ = (char)(0x80 | (c >> 12 & 63));
    *to++ = (char)(0x80 | (c >> 6 & 63));
    *to++ = (char)(0x80 | (c & 63));
  }
  return to;
}

// One escape sequence, after the backslash. NULL when it is not one; U+0000 is refused, names are C strings.
static char *take_escape(json *j, char *to) {
  static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
  if (j->at == j->end) return NULL;
  char c = *j->at++;
  const char *simple = c ? strchr(from, c) : NULL;
  if (simple) {
    *to++ = into[simple - from];
    return to;
  }
  unsigned high, low;
  if (c != 'u' || !hex4(j->at, j->end, &high) || !high) return NULL;
  j->at += 4;
  if (high >= 0xdc00 && high < 0xe000) return NULL;
  if (high >= 0xd800 && high < 0xdc00) { // a surrogate pair
    if (j->end - j->at < 6 || j->at[0] != '\\' || j->at[1] != 'u' || !hex4(j->at + 2, j->end, &low)) return NULL;
    if (low < 0xdc00 || low > 0xdfff) return NULL;
    j->at += 6;
    high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
  }
  return put_utf8(to, high);
}

// A string, unescaped and allocated. *string is NULL on failure.
static int take_string(json *j, char **string, const char *what) {
  *string = NULL;
  if (!take(j, '"')) return bad(j, what);
  const char *close = j->at;
  while (close < j->end && *close != '"') close += *close == '\\' && close + 1 < j->end ? 2 : 1;
  if (close >= j->end) return bad(j, "a string that ends");
  char *text = malloc((size_t)(close - j->at) + 1), *to = text; // unescaped text is never longer
  if (!text) return tapc_no_memory(j->fault, (uint64_t)(close - j->at) + 1, "a name");
  while (*j->at != '"') {
    if ((unsigned char)*j->at < 0x20) {
      free(text);
      return bad(j, "no control character in a string");
    }
    if (*j->at != '\\') {
      *to++ = *j->at++;
      continue;
    }
    j->at++;
    if (!(to = take_escape(j, to))) {
      free(text);
      return bad(j, "a valid escape in a string");
    }
  }
  j->at++;
  *to = 0;
  *string = text;
  return 0;
}

// A whole number, 0 to 2^63-1.
static int take_number(json *j, int64_t *value) {
  skip_space(j);
  const char *from = j->at;
  uint64_t v = 0;
  for (; j->at < j->end && *j->at >= '0' && *j->at <= '9'; j->at++) {
    v = v * 10 + (uint64_t)(*j->at - '0');
    if (j->at - from >= 19 || v > INT64_MAX) {
      j->at = from;
      return bad(j, "a number below 2^63");
    }
  }
  if (j->at == from) return bad(j, "a whole number");
  *value = (int64_t)v;
  return 0;
}

// [n, n, ...], at most `room` numbers.
static int take_numbers(json *j, int64_t *numbers, int room, int *n) {
  *n = 0;
  if (!take(j, '[')) return bad(j, "\"[\"");
  if (take(j, ']')) return 0;
  do {
    if (*n == room) return bad(j, room == 2 ? "two numbers" : "at most 64 dimensions");
    if (take_number(j, &numbers[*n])) return TAPC_INPUT;
    ++*n;
  } while (take(j, ','));
  return take(j, ']') ? 0 : bad(j, "\",\" or \"]\"");
}

static int take_dtype(json *j, tapc_layout *layout) {
  char *tag;
  if (take_string(j, &tag, "an element type such as \"F32\"")) return j->fault->status;
  for (int d = TAPC_BOOL; d < TAPC_DTYPES; d++) {
    const tapc_dtype_info *info = tapc_dtype_of(d);
    if (info->bits >= 8 && info->tag && !strcmp(info->tag, tag)) layout->dtype = d;
  }
  int status = 0;
  if (!layout->dtype)
    status = tapc_fail(
      j->fault, TAPC_INPUT, "dtype: expected BOOL, I8 to I64, U8 to U64, F8_E4M3, F8_E5M2, F8_E8M0, F8_E4M3FNUZ, F8_E5M2FNUZ, F16, BF16, F32, F64 or C64, found \"%.40s\"", tag);
  free(tag);
  return status;
}

// {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}, each once, in any order.
static int take_tensor(json *j, tapc_layout *layout, int64_t offsets[2]) {
  unsigned seen = 0;
  memset(layout, 0, sizeof *layout);
  if (!take(j, '{')) return bad(j, "the description of a tensor");
  do {
    char *key;
    int n = 2, status = take_string(j, &key, "a key");
    if (status) return status;
    unsigned which = !strcmp(key, "dtype") ? 1 : !strcmp(key, "shape") ? 2 : !strcmp(key, "data_offsets") ? 4 : 0;
    free(key);
    if (!which || seen & which) return bad(j, "dtype, shape and data_offsets once each before this");
    seen |= which;
    if (!take(j, ':')) return bad(j, "\":\"");
    status = which == 1 ? take_dtype(j, layout) : which == 2 ? take_numbers(j, layout->shape, TAPC_MAX_RANK, &layout->rank) : take_numbers(j, offsets, 2, &n);
    if (status) return status;
    if (n != 2) return bad(j, "two data_offsets before this");
  } while (take(j, ','));
  if (!take(j, '}')) return bad(j, "\",\" or \"}\"");
  return seen == 7 ? 0 : bad(j, "dtype, shape and data_offsets before this");
}

// {"key": "text", ...}
static int skip_metadata(json *j) {
  if (!take(j, '{')) return bad(j, "\"{\" of the metadata");
  if (take(j, '}')) return 0;
  do {
    char *text;
    if (take_string(j, &text, "a key of the metadata")) return j->fault->status;
    free(text);
    if (!take(j, ':')) return bad(j, "\":\"");
    if (take_string(j, &text, "a string in the metadata")) return j->fault->status;
    free(text);
  } while (take(j, ','));
  return take(j, '}') ? 0 : bad(j, "\",\" or \"}\"");
}

// One tensor of the object: checks it and adds it to the table.
static int list_tensor(tapc_archive *archive, json *j, char *name, uint64_t data) {
  tapc_layout layout;
  int64_t offsets[2] = {0, 0};
  size_t text = (size_t)(j->at - j->start);
  int status = take_tensor(j, &layout, offsets);
  if (!status) status = tapc_layout_measure(&layout, j->fault);
  uint64_t begin = (uint64_t)offsets[0], end = (uint64_t)offsets[1], room = archive->size - data;
  if (!status && (begin > end || end > room))
    status = tapc_fail(j->fault, TAPC_INPUT, "\"%.80s\": truncated or damaged: expected data_offsets within 0 to %llu, found %llu to %llu", name, (unsigned long long)room,
      (unsigned long long)begin, (unsigned long long)end);
  if (!status && end - begin != layout.bytes)
    status = tapc_fail(j->fault, TAPC_INPUT, "\"%.80s\": expected %llu bytes for its dtype and shape, found data_offsets for %llu", name, (unsigned long long)layout.bytes,
      (unsigned long long)(end - begin));
  if (status) {
    free(name);
    return status;
  }
  tapc_entry entry = {.name = name, .at = data + begin, .stored = end - begin, .bytes = end - begin, .text = text};
  return tapc_archive_add(archive, &entry, j->fault);
}

static int by_place(const void *a, const void *b) {
  const tapc_entry *x = a, *y = b;
  if (x->at != y->at) return x->at < y->at ? -1 : 1;
  return x->stored < y->stored ? -1 : x->stored > y->stored;
}

// The format allows neither holes nor overlaps.
static int check_places(tapc_archive *archive, uint64_t data, tapc_fault *fault) {
  if (archive->n) qsort(archive->entries, archive->n, sizeof *archive->entries, by_place);
  uint64_t at = data;
  for (size_t i = 0; i < archive->n; i++) {
    const tapc_entry *e = &archive->entries[i];
    if (e->at != at)
      return tapc_fail(fault, TAPC_INPUT, "\"%.80s\": expected its bytes to begin at %llu, where the tensor before ends, found %llu", e->name, (unsigned long long)(at - data),
        (unsigned long long)(e->at - data));
    at += e->stored;
  }
  if (at == archive->size) return 0;
  return tapc_fail(fault, TAPC_INPUT, "expected %llu bytes of tensors, found %llu", (unsigned long long)(at - data), (unsigned long long)(archive->size - data));
}

static int list_object(tapc_archive *archive, json *j, uint64_t data) {
  int metadata = 0;
  if (!take(j, '{')) return bad(j, "\"{\"");
  if (!take(j, '}')) {
    do {
      char *name;
      if (take_string(j, &name, "a name")) return j->fault->status;
      int status;
      if (!take(j, ':')) {
        status = bad(j, "\":\"");
        free(name);
      } else if (!strcmp(name, "__metadata__")) {
        status = metadata++ ? bad(j, "one __metadata__") : skip_metadata(j);
        free(name);
      } else {
        status = list_tensor(archive, j, name, data);
      }
      if (status) return status;
    } while (take(j, ','));
    if (!take(j, '}')) return bad(j, "\",\" or \"}\"");
  }
  skip_space(j);
  return j->at == j->end ? 0 : bad(j, "nothing after the header's object");
}

int tapc_safetensors_list(tapc_archive *archive, tapc_fault *fault) {
  unsigned char start[8];
  uint64_t bytes = 0;
  if (tapc_read_at(archive->fd, start, sizeof start, 0, fault)) return fault->status;
  for (int i = 0; i < 8; i++) bytes |= (uint64_t)start[i] << (8 * i);
  if (bytes > MAX_HEADER || bytes > archive->size - 8)
    return tapc_fail(fault, TAPC_INPUT, ".safetensors header length: expected at most %llu, found %llu",
      (unsigned long long)(archive->size - 8 < MAX_HEADER ? archive->size - 8 : MAX_HEADER), (unsigned long long)bytes);
  archive->header = malloc((size_t)bytes + 1);
  if (!archive->header) return tapc_no_memory(fault, bytes, "a header");
  archive->header_bytes = (size_t)bytes;
  archive->header[bytes] = 0;
  if (tapc_read_at(archive->fd, archive->header, bytes, 8, fault)) return fault->status;
  json j = {archive->header, archive->header, archive->header + bytes, fault};
  uint64_t data = 8 + bytes;
  if (list_object(archive, &j, data) || check_places(archive, data, fault)) return fault->status;
  return tapc_archive_sort(archive, fault);
}

int tapc_safetensors_layout(const tapc_archive *archive, const tapc_entry *entry, tapc_layout *layout, tapc_fault *fault) {
  json j = {archive->header, archive->header + entry->text, archive->header + archive->header_bytes, fault};
  int64_t offsets[2];
  int status = take_tensor(&j, layout, offsets);
  return status ? status : tapc_layout_measure(layout, fault);
}
