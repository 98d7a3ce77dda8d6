// Tensor files: .npy, .npz and .safetensors, told apart by how they begin. Sizes that a file states are checked against
// the size that it has before anything is allocated or read.
#define _FILE_OFFSET_BITS 64
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

int tapc_read_at(int fd, void *memory, uint64_t bytes, uint64_t offset, tapc_fault *fault) {
  char *to = memory;
  while (bytes) {
    size_t want = bytes > (1u << 30) ? 1u << 30 : (size_t)bytes;
    ssize_t got = pread(fd, to, want, (off_t)offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tapc_fail(fault, TAPC_INPUT, "cannot read: %s", strerror(errno));
    if (got == 0) return tapc_fail(fault, TAPC_INPUT, "truncated while it was read");
    to += got;
    offset += (uint64_t)got;
    bytes -= (uint64_t)got;
  }
  return 0;
}

int tapc_layout_measure(tapc_layout *layout, tapc_fault *fault) {
  uint64_t bytes = tapc_dtype_of(layout->dtype)->size;
  int empty = 0;
  for (int i = 0; i < layout->rank; i++) empty |= layout->shape[i] == 0;
  for (int i = 0; i < layout->rank && !empty; i++)
    if (__builtin_mul_overflow(bytes, (uint64_t)layout->shape[i], &bytes) || bytes > INT64_MAX) {
      char shape[256];
      return tapc_fail(fault, TAPC_INPUT, "shape: expected fewer than 2^63 bytes, found %s", tapc_shape_text(shape, sizeof shape, layout->rank, layout->shape));
    }
  layout->bytes = empty ? 0 : bytes;
  return 0;
}

int tapc_archive_add(tapc_archive *archive, const tapc_entry *entry, tapc_fault *fault) {
  if (archive->n == archive->room) {
    size_t room = archive->room ? archive->room * 2 : 8;
    tapc_entry *more = realloc(archive->entries, room * sizeof *more);
    if (!more) {
      free(entry->name);
      return tapc_no_memory(fault, room * sizeof *more, "the table of contents");
    }
    archive->entries = more;
    archive->room = room;
  }
  archive->entries[archive->n++] = *entry;
  return 0;
}

static int by_name(const void *a, const void *b) { return strcmp(((const tapc_entry *)a)->name, ((const tapc_entry *)b)->name); }

int tapc_archive_sort(tapc_archive *archive, tapc_fault *fault) {
  if (archive->n) qsort(archive->entries, archive->n, sizeof *archive->entries, by_name);
  for (size_t i = 1; i < archive->n; i++)
    if (!strcmp(archive->entries[i - 1].name, archive->entries[i].name))
      return tapc_fail(fault, TAPC_INPUT, "expected distinct names, found \"%s\" twice", archive->entries[i].name);
  return 0;
}

tapc_entry *tapc_archive_find(const tapc_archive *archive, const char *name) {
  if (archive->format == TAPC_NPY) return archive->entries;
  tapc_entry key = {.name = (char *)name};
  if (!archive->n) return NULL;
  return bsearch(&key, archive->entries, archive->n, sizeof key, by_name);
}

static int list_npy(tapc_archive *archive, tapc_fault *fault) {
  tapc_entry entry = {.name = calloc(1, 1), .stored = archive->size, .bytes = archive->size};
  if (!entry.name) return tapc_no_memory(fault, 1, "a name");
  return tapc_archive_add(archive, &entry, fault);
}

static int list(tapc_archive *archive, tapc_fault *fault) {
  unsigned char start[9] = {0};
  if (archive->size == 0) return tapc_fail(fault, TAPC_INPUT, "expected a tensor file, found an empty file");
  uint64_t have = archive->size < sizeof start ? archive->size : sizeof start;
  if (tapc_read_at(archive->fd, start, have, 0, fault)) return fault->status;
  if (!memcmp(start, "\x93NUMPY", 6)) {
    archive->format = TAPC_NPY;
    return list_npy(archive, fault);
  }
  if (!memcmp(start, "PK", 2)) {
    archive->format = TAPC_NPZ;
    return tapc_zip_list(archive, fault);
  }
  if (start[8] == '{') {
    archive->format = TAPC_SAFETENSORS;
    return tapc_safetensors_list(archive, fault);
  }
  return tapc_fail(fault, TAPC_INPUT, "expected a .npy, .npz or .safetensors file, found one that begins with %02x %02x %02x %02x", start[0], start[1], start[2], start[3]);
}

int tapc_file_open(const char *path, uint64_t *size, tapc_fault *fault) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // non-blocking: a pipe must not hang before it is refused
  if (fd < 0) {
    tapc_fail(fault, TAPC_INPUT, "cannot open: %s", strerror(errno));
    return -1;
  }
  if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
    tapc_fail(fault, TAPC_INPUT, "expected a regular file, found %s", S_ISDIR(st.st_mode) ? "a directory" : "something else");
    close(fd);
    return -1;
  }
  *size = (uint64_t)st.st_size;
  return fd;
}

int tapc_archive_open(tapc_archive *archive, const char *path, tapc_fault *fault) {
  memset(archive, 0, sizeof *archive);
  archive->fd = tapc_file_open(path, &archive->size, fault);
  if (archive->fd < 0) return fault->status;
  archive->limit = archive->size;
  int status = list(archive, fault);
  if (status) tapc_archive_close(archive);
  return status;
}

void tapc_archive_close(tapc_archive *archive) {
  if (archive->fd >= 0) close(archive->fd);
  for (size_t i = 0; i < archive->n; i++) free(archive->entries[i].name);
  free(archive->entries);
  free(archive->header);
  memset(archive, 0, sizeof *archive);
  archive->fd = -1;
}

// ---- Loading -------------------------------------------------------------------------------------------------

static int check_want(const tapc_layout *layout, const tapc_tensor *want, tapc_fault *fault) {
  char expected[512], found[512];
  const tapc_dtype_info *w = tapc_dtype_of(want->dtype), *l = tapc_dtype_of(layout->dtype);
  int held = w->bits < 8 && layout->dtype == (w->kind == 'i' ? TAPC_I8 : TAPC_U8); // files hold these as bytes
  if (layout->dtype != want->dtype && !held) return tapc_fail(fault, TAPC_INPUT, "dtype: expected %s, found %s", w->name, l->name);
  int same = layout->rank == want->rank;
  for (int i = 0; same && i < want->rank; i++) same = layout->shape[i] == want->shape[i];
  if (!same)
    return tapc_fail(fault, TAPC_INPUT, "shape: expected %s, found %s", tapc_shape_text(expected, sizeof expected, want->rank, want->shape),
      tapc_shape_text(found, sizeof found, layout->rank, layout->shape));
  return 0;
}

static void swap_bytes(unsigned char *data, size_t bytes, size_t unit) {
  for (size_t at = 0; at + unit <= bytes; at += unit)
    for (size_t i = 0; i < unit / 2; i++) {
      unsigned char b = data[at + i];
      data[at + i] = data[at + unit - 1 - i];
      data[at + unit - 1 - i] = b;
    }
}

// Takes a tensor a part at a time: behind `skip` bytes come its elements, which go to memory, as they are or, first-index-fastest, one by one to where they stand row-major.
typedef struct placing {
  tapc_taker taker;
  const tapc_layout *layout;
  unsigned char *memory;
  uint64_t skip, at;            // bytes before the elements that are left, and those of elements that are there
  int64_t point[TAPC_MAX_RANK]; // the next element
  uint32_t crc;                 // of all
} placing;

// Where the next element stands.
static size_t standing(const placing *p) {
  size_t at = 0;
  for (int i = 0; i < p->layout->rank; i++) at = at * (size_t)p->layout->shape[i] + (size_t)p->point[i];
  return at;
}

static void place_turned(placing *p, const unsigned char *data, size_t bytes) {
  size_t size = tapc_dtype_of(p->layout->dtype)->size;
  while (bytes) {
    size_t from = (size_t)(p->at % size), part = bytes < size - from ? bytes : size - from; // of an element
    memcpy(p->memory + standing(p) * size + from, data, part);
    p->at += part;
    data += part;
    bytes -= part;
    for (int i = 0; from + part == size && i < p->layout->rank && ++p->point[i] == p->layout->shape[i]; i++) p->point[i] = 0;
  }
}

static void place(tapc_taker *self, const unsigned char *data, size_t bytes) {
  placing *p = (placing *)self;
  p->crc = tapc_crc32(p->crc, data, bytes);
  size_t skip = p->skip < bytes ? (size_t)p->skip : bytes;
  p->skip -= skip;
  data += skip;
  bytes -= skip;
  if (!bytes) return;
  if (p->layout->fortran) {
    place_turned(p, data, bytes);
    return;
  }
  memcpy(p->memory + p->at, data, bytes);
  p->at += bytes;
}

// Values that the element type does not have would be undefined behaviour in a kernel.
static int check_values(const tapc_tensor *want, const unsigned char *data, tapc_fault *fault) {
  const tapc_dtype_info *info = tapc_dtype_of(want->dtype);
  if (want->dtype != TAPC_BOOL && info->bits >= 8) return 0;
  unsigned limit = want->dtype == TAPC_BOOL ? 1 : (1u << info->bits) - 1, bias = info->kind == 'i' ? limit / 2 + 1 : 0;
  for (size_t i = 0; i < want->bytes; i++)
    if ((unsigned char)(data[i] + bias) > limit)
      return tapc_fail(fault, TAPC_INPUT, "expected %d to %u in a tensor of %s%s, found %d at element %zu", -(int)bias, limit - bias, info->name, info->kind == 'f' ? " codes" : "",
        bias ? (int)(signed char)data[i] : (int)data[i], i);
  return 0;
}

// Where a .npy lies: in a file from `offset` on, packed or not.
typedef struct source {
  const tapc_archive *archive;
  const tapc_entry *entry;
  uint64_t offset;
} source;

static int is_packed(const source *s) { return s->entry->method != 0; }

// Hands over the first bytes of what lies there, unpacked; exact: it must end there.
static int unpack(const source *s, tapc_taker *taker, uint64_t bytes, int exact, tapc_fault *fault) {
  tapc_packed packed = {s->archive->fd, s->offset, s->entry->stored};
  uint64_t missing;
  int ended;
  if (tapc_inflate(&packed, taker, bytes, &missing, &ended, fault)) return fault->status;
  if (missing || (exact && !ended))
    return tapc_fail(fault, TAPC_INPUT, "damaged: expected %llu bytes unpacked, found %s", (unsigned long long)s->entry->bytes, ended ? "fewer" : "more");
  return 0;
}

// Takes the beginning of a .npy.
typedef struct beginning {
  tapc_taker taker;
  unsigned char *to;
} beginning;

static void begin(tapc_taker *self, const unsigned char *data, size_t bytes) {
  beginning *b = (beginning *)self;
  if (bytes) memcpy(b->to, data, bytes);
  b->to += bytes;
}

static int read_start(const source *s, void *memory, uint64_t bytes, tapc_fault *fault) {
  beginning b = {{begin}, memory};
  if (is_packed(s)) return unpack(s, &b.taker, bytes, 0, fault);
  return tapc_read_at(s->archive->fd, memory, bytes, s->offset, fault);
}

static int read_layout(const source *s, unsigned char **head, tapc_layout *layout, tapc_fault *fault) {
  unsigned char start[12] = {0};
  uint64_t total = s->entry->bytes, bytes = 0;
  if (read_start(s, start, total < 12 ? total : 12, fault) || tapc_npy_head(start, total, &bytes, fault)) return fault->status;
  if (!(*head = malloc((size_t)bytes))) return tapc_no_memory(fault, bytes, "a header");
  if (read_start(s, *head, bytes, fault) || tapc_npy_parse(*head, bytes, layout, fault)) return fault->status;
  return 0;
}

static int check_length(const tapc_layout *layout, uint64_t total, tapc_fault *fault) {
  char shape[256];
  uint64_t have = total - layout->data;
  if (have == layout->bytes) return 0;
  return tapc_fail(fault, TAPC_INPUT, "%s: expected %llu bytes of data for %s%s, found %llu", have < layout->bytes ? "truncated" : "too long", (unsigned long long)layout->bytes,
    tapc_dtype_of(layout->dtype)->name, tapc_shape_text(shape, sizeof shape, layout->rank, layout->shape), (unsigned long long)have);
}

// Hands over elements that lie as they are in a file.
static int read_parts(const source *s, placing *p, tapc_fault *fault) {
  enum { PART = 1 << 16 };
  unsigned char *part = malloc(PART);
  if (!part) return tapc_no_memory(fault, PART, "reordering a tensor");
  uint64_t from = s->offset + p->layout->data, left = p->layout->bytes;
  while (left) {
    size_t bytes = left < PART ? (size_t)left : PART;
    if (tapc_read_at(s->archive->fd, part, bytes, from, fault)) break;
    place(&p->taker, part, bytes);
    from += bytes;
    left -= bytes;
  }
  free(part);
  return fault->status;
}

static int read_data(const source *s, const unsigned char *head, const tapc_layout *layout, unsigned char *memory, tapc_fault *fault) {
  placing p = {.taker = {place}, .layout = layout, .memory = memory};
  if (is_packed(s)) {
    p.skip = layout->data;
    if (unpack(s, &p.taker, s->entry->bytes, 1, fault)) return fault->status;
  } else if (layout->fortran) {
    p.crc = tapc_crc32(0, head, (size_t)layout->data);
    if (read_parts(s, &p, fault)) return fault->status;
  } else {
    if (tapc_read_at(s->archive->fd, memory, layout->bytes, s->offset + layout->data, fault)) return fault->status;
    if (s->archive->format == TAPC_NPY) return 0;
    p.crc = tapc_crc32(tapc_crc32(0, head, (size_t)layout->data), memory, (size_t)layout->bytes);
  }
  if (s->archive->format == TAPC_NPY || p.crc == s->entry->crc) return 0;
  return tapc_fail(fault, TAPC_INPUT, "damaged: expected checksum %08x, found %08x", s->entry->crc, p.crc);
}

// load_npy loads a tensor; without memory it only reads the layout, to *found.
static int load_npy(const source *s, const tapc_tensor *want, void *memory, tapc_layout *found, tapc_fault *fault) {
  tapc_layout layout;
  unsigned char *head = NULL;
  int status = read_layout(s, &head, &layout, fault);
  if (found) {
    *found = layout;
    free(head);
    return status;
  }
  if (!status) status = check_want(&layout, want, fault);
  if (!status) status = check_length(&layout, s->entry->bytes, fault);
  if (!status) status = read_data(s, head, &layout, memory, fault);
  if (!status && layout.swap) swap_bytes(memory, (size_t)layout.bytes, tapc_dtype_of(layout.dtype)->unit);
  free(head);
  return status;
}

static int load_npz(const tapc_archive *archive, const tapc_entry *entry, const tapc_tensor *want, void *memory, tapc_layout *found, tapc_fault *fault) {
  source s = {archive, entry, 0};
  if (tapc_zip_locate(archive, entry, &s.offset, fault)) return fault->status;
  return load_npy(&s, want, memory, found, fault);
}

int tapc_archive_layout(const tapc_archive *archive, const tapc_entry *entry, tapc_layout *layout, tapc_fault *fault) {
  if (archive->format == TAPC_SAFETENSORS) return tapc_safetensors_layout(archive, entry, layout, fault);
  if (archive->format == TAPC_NPZ) return load_npz(archive, entry, NULL, NULL, layout, fault);
  source s = {archive, entry, 0};
  return load_npy(&s, NULL, NULL, layout, fault);
}

int tapc_archive_load(const tapc_archive *archive, const tapc_entry *entry, const tapc_tensor *want, void *memory, tapc_fault *fault) {
  int status;
  if (archive->format == TAPC_SAFETENSORS) {
    tapc_layout layout;
    status = tapc_safetensors_layout(archive, entry, &layout, fault);
    if (!status) status = check_want(&layout, want, fault);
    if (!status) status = tapc_read_at(archive->fd, memory, layout.bytes, entry->at, fault);
  } else if (archive->format == TAPC_NPZ) {
    status = load_npz(archive, entry, want, memory, NULL, fault);
  } else {
    source s = {archive, entry, 0};
    status = load_npy(&s, want, memory, NULL, fault);
  }
  if (!status) status = check_values(want, memory, fault);
  return status;
}
