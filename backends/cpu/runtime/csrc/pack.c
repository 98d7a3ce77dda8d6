// Writes .npy, .npz (stored entries, in the order given) and .safetensors. The same tensors give the same bytes, and those that the
// compiler's own writer gives (package tensorfile, which orders .npz entries by name).
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static int put(FILE *to, const void *data, size_t bytes) { return !bytes || fwrite(data, 1, bytes, to) == bytes ? 0 : -1; }

static void put_le(unsigned char *p, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) p[i] = (unsigned char)(value >> (8 * i));
}

static int pack_npy(FILE *to, const tapc_tensor *tensor, const void *data) {
  char head[4096];
  size_t bytes = tapc_npy_write_head(head, sizeof head, tensor);
  if (!bytes) {
    errno = EINVAL;
    return -1;
  }
  return put(to, head, bytes) || put(to, data, tensor->bytes) ? -1 : 0;
}

// ---- npz -----------------------------------------------------------------------------------------------------

// What the directory must know of an entry that was written.
typedef struct zip_entry {
  char head[4096]; // of the .npy
  size_t head_bytes;
  uint64_t bytes, at;
  uint32_t crc;
} zip_entry;

static const uint32_t big = 0xffffffff;

// The fields that a local header and a directory record share, from "version needed" to "extra field length": 26 bytes.
// extra is the length of the extra field.
static void put_common(unsigned char *p, const zip_entry *e, size_t name, size_t extra) {
  put_le(p, e->bytes >= big ? 45 : 20, 2);
  put_le(p + 2, 1 << 11, 2); // names are UTF-8
  put_le(p + 4, 0, 2);       // stored
  put_le(p + 6, 0, 2);       // midnight,
  put_le(p + 8, 33, 2);      // 1980-01-01
  put_le(p + 10, e->crc, 4);
  put_le(p + 14, e->bytes >= big ? big : e->bytes, 4);
  put_le(p + 18, e->bytes >= big ? big : e->bytes, 4);
  put_le(p + 22, name, 2);
  put_le(p + 24, extra, 2);
}

static int put_name(FILE *to, const tapc_tensor *tensor) { return put(to, tensor->name, strlen(tensor->name)) || put(to, ".npy", 4) ? -1 : 0; }

static int put_local(FILE *to, const tapc_tensor *tensor, const void *data, zip_entry *e) {
  unsigned char record[30] = "PK\3\4", extra[20];
  size_t more = e->bytes >= big ? sizeof extra : 0;
  put_common(record + 4, e, strlen(tensor->name) + 4, more);
  put_le(extra, 1, 2);
  put_le(extra + 2, 16, 2);
  put_le(extra + 4, e->bytes, 8);
  put_le(extra + 12, e->bytes, 8);
  if (put(to, record, sizeof record) || put_name(to, tensor) || put(to, extra, more)) return -1;
  return put(to, e->head, e->head_bytes) || put(to, data, tensor->bytes) ? -1 : 0;
}

// A directory record; its length is added to *bytes.
static int put_record(FILE *to, const tapc_tensor *tensor, const zip_entry *e, uint64_t *bytes) {
  unsigned char record[46] = "PK\1\2", extra[28];
  size_t more = 4;
  if (e->bytes >= big) {
    put_le(extra + 4, e->bytes, 8);
    put_le(extra + 12, e->bytes, 8);
    more += 16;
  }
  if (e->at >= big) {
    put_le(extra + more, e->at, 8);
    more += 8;
  }
  put_le(extra, 1, 2);
  put_le(extra + 2, more - 4, 2);
  if (more == 4) more = 0;
  put_le(record + 4, e->bytes >= big ? 45 : 20, 2);
  put_common(record + 6, e, strlen(tensor->name) + 4, more);
  put_le(record + 42, e->at >= big ? big : e->at, 4);
  *bytes += sizeof record + strlen(tensor->name) + 4 + more;
  return put(to, record, sizeof record) || put_name(to, tensor) || put(to, extra, more) ? -1 : 0;
}

static int put_end(FILE *to, uint64_t n, uint64_t bytes, uint64_t at) {
  unsigned char wide[56] = "PK\6\6", locator[20] = "PK\6\7", end[22] = "PK\5\6";
  int wider = n >= 0xffff || bytes >= big || at >= big;
  put_le(wide + 4, sizeof wide - 12, 8);
  put_le(wide + 12, 45, 2);
  put_le(wide + 14, 45, 2);
  put_le(wide + 24, n, 8);
  put_le(wide + 32, n, 8);
  put_le(wide + 40, bytes, 8);
  put_le(wide + 48, at, 8);
  put_le(locator + 8, at + bytes, 8);
  put_le(locator + 16, 1, 4);
  if (wider && (put(to, wide, sizeof wide) || put(to, locator, sizeof locator))) return -1;
  put_le(end + 8, n >= 0xffff ? 0xffff : n, 2);
  put_le(end + 10, n >= 0xffff ? 0xffff : n, 2);
  put_le(end + 12, bytes >= big ? big : bytes, 4);
  put_le(end + 16, at >= big ? big : at, 4);
  return put(to, end, sizeof end);
}

static int pack_npz(FILE *to, const tapc_tensor *const *tensors, void *const *data, size_t n) {
  zip_entry *entries = calloc(n ? n : 1, sizeof *entries);
  if (!entries) return -1;
  uint64_t at = 0, bytes = 0;
  int status = 0;
  for (size_t i = 0; !status && i < n; i++) {
    zip_entry *e = &entries[i];
    e->at = at;
    e->head_bytes = tapc_npy_write_head(e->head, sizeof e->head, tensors[i]);
    e->bytes = e->head_bytes + tensors[i]->bytes;
    e->crc = tapc_crc32(tapc_crc32(0, e->head, e->head_bytes), data[i], tensors[i]->bytes);
    status = put_local(to, tensors[i], data[i], e);
    at += 30 + strlen(tensors[i]->name) + 4 + (e->bytes >= big ? 20 : 0) + e->bytes;
  }
  for (size_t i = 0; !status && i < n; i++) status = put_record(to, tensors[i], &entries[i], &bytes);
  if (!status) status = put_end(to, n, bytes, at);
  free(entries);
  return status;
}

// ---- safetensors ---------------------------------------------------------------------------------------------

static void put_json_string(FILE *to, const char *text) {
  static const char from[] = "\"\\\b\f\n\r\t", into[] = "\"\\bfnrt";
  putc('"', to);
  for (; *text; text++) {
    const char *simple = strchr(from, *text);
    if (simple) fprintf(to, "\\%c", into[simple - from]);
    else if ((unsigned char)*text < 0x20) fprintf(to, "\\u%04x", (unsigned)*text);
    else putc(*text, to);
  }
  putc('"', to);
}

// Whether tensor a goes before b: larger elements first, so that all are aligned; then by name.
static int goes_before(const tapc_tensor *a, const tapc_tensor *b) {
  int x = tapc_dtype_of(a->dtype)->size, y = tapc_dtype_of(b->dtype)->size;
  return x != y ? x > y : strcmp(a->name, b->name) < 0;
}

static void sort_places(const tapc_tensor *const *tensors, size_t *order, size_t n) {
  for (size_t i = 0; i < n; i++) {
    size_t at = i;
    for (; at > 0 && goes_before(tensors[i], tensors[order[at - 1]]); at--) order[at] = order[at - 1];
    order[at] = i;
  }
}

static int put_header(FILE *to, const tapc_tensor *const *tensors, const size_t *order, size_t n) {
  unsigned long long begin = 0;
  putc('{', to);
  for (size_t i = 0; i < n; i++) {
    const tapc_tensor *t = tensors[order[i]];
    if (i) putc(',', to);
    put_json_string(to, t->name);
    fprintf(to, ":{\"dtype\":\"%s\",\"shape\":[", tapc_dtype_of(t->dtype)->tag);
    for (int d = 0; d < t->rank; d++) fprintf(to, "%s%lld", d ? "," : "", (long long)t->shape[d]);
    fprintf(to, "],\"data_offsets\":[%llu,%llu]}", begin, begin + t->bytes);
    begin += t->bytes;
  }
  putc('}', to);
  return ferror(to) ? -1 : 0;
}

static int pack_safetensors(FILE *to, const tapc_tensor *const *tensors, void *const *data, size_t n) {
  size_t *order = calloc(n ? n : 1, sizeof *order), bytes = 0;
  char *text = NULL;
  FILE *header = open_memstream(&text, &bytes);
  if (order) sort_places(tensors, order, n);
  int status = !order || !header || put_header(header, tensors, order, n) ? -1 : 0;
  if (header && fclose(header)) status = -1;
  size_t pad = (8 - bytes % 8) % 8;
  unsigned char length[8];
  put_le(length, bytes + pad, 8);
  if (!status) status = put(to, length, sizeof length) || put(to, text, bytes) || put(to, "       ", pad) ? -1 : 0;
  for (size_t i = 0; !status && i < n; i++) status = put(to, data[order[i]], tensors[order[i]]->bytes);
  free(text);
  free(order);
  return status;
}

int tapc_pack(FILE *to, tapc_format format, const tapc_tensor *const *tensors, void *const *data, size_t n) {
  if (format == TAPC_NPZ) return pack_npz(to, tensors, data, n);
  if (format == TAPC_SAFETENSORS) return pack_safetensors(to, tensors, data, n);
  return pack_npy(to, tensors[0], data[0]);
}
