// The container of .npz: a ZIP archive (PKWARE APPNOTE 6.3), stored and deflated entries, with the 64-bit extension.
// The central directory at the end is what counts; each entry's local header is only skipped.
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static uint32_t le(const unsigned char *p, int bytes) {
  uint32_t value = 0;
  for (int i = 0; i < bytes; i++) value |= (uint32_t)p[i] << (8 * i);
  return value;
}

static uint64_t le64(const unsigned char *p) { return le(p, 4) | (uint64_t)le(p + 4, 4) << 32; }

// Where the central directory lies.
typedef struct directory {
  uint64_t n, bytes, offset;
} directory;

// Finds the end record: the last 22 bytes when the archive has no comment, earlier when it has one.
static int find_end(tapc_archive *archive, directory *dir, uint64_t *end, tapc_fault *fault) {
  uint64_t room = archive->size < 22 + 65535 ? archive->size : 22 + 65535, base = archive->size - room;
  unsigned char *tail = malloc((size_t)room);
  if (!tail) return tapc_no_memory(fault, room, "the end of an archive");
  int status = tapc_read_at(archive->fd, tail, room, base, fault), found = 0;
  for (uint64_t at = room; !status && !found && at-- > 0;) {
    if (room - at < 22 || memcmp(tail + at, "PK\5\6", 4) || at + 22 + le(tail + at + 20, 2) != room) continue;
    dir->n = le(tail + at + 10, 2);
    dir->bytes = le(tail + at + 12, 4);
    dir->offset = le(tail + at + 16, 4);
    *end = base + at;
    found = 1;
  }
  free(tail);
  if (!status && !found) status = tapc_fail(fault, TAPC_INPUT, "truncated or damaged: expected a ZIP end record, found none");
  return status;
}

// Replaces the end record's numbers by those of the 64-bit end record when there is one.
static int widen_end(tapc_archive *archive, directory *dir, uint64_t *end, tapc_fault *fault) {
  unsigned char locator[20], record[56];
  if (dir->n != 0xffff && dir->bytes != 0xffffffff && dir->offset != 0xffffffff) return 0;
  if (*end < sizeof locator) return 0;
  if (tapc_read_at(archive->fd, locator, sizeof locator, *end - sizeof locator, fault)) return fault->status;
  if (memcmp(locator, "PK\6\7", 4)) return 0;
  uint64_t at = le64(locator + 8);
  if (*end < 76 || at > *end - 76)
    return tapc_fail(fault, TAPC_INPUT, "damaged: expected the ZIP64 end record before byte %llu, found its offset to be %llu", (unsigned long long)*end, (unsigned long long)at);
  if (tapc_read_at(archive->fd, record, sizeof record, at, fault)) return fault->status;
  if (memcmp(record, "PK\6\6", 4)) return tapc_fail(fault, TAPC_INPUT, "damaged: expected a ZIP64 end record, found something else");
  dir->n = le64(record + 32);
  dir->bytes = le64(record + 40);
  dir->offset = le64(record + 48);
  *end = at;
  return 0;
}

// Takes the 64-bit sizes from an extra field when the 32-bit ones say to.
static int widen_entry(tapc_entry *entry, const unsigned char *extra, size_t bytes, tapc_fault *fault) {
  uint64_t *fields[3] = {&entry->bytes, &entry->stored, &entry->at};
  while (bytes >= 4) {
    size_t id = le(extra, 2), length = le(extra + 2, 2);
    if (length > bytes - 4) break;
    const unsigned char *p = extra + 4, *end = p + length;
    for (int i = 0; id == 1 && i < 3; i++) {
      if (*fields[i] != 0xffffffff) continue;
      if (end - p < 8) return tapc_fail(fault, TAPC_INPUT, "damaged: expected 8 bytes in a ZIP64 field, found %d", (int)(end - p));
      *fields[i] = le64(p);
      p += 8;
    }
    extra += 4 + length;
    bytes -= 4 + length;
  }
  return 0;
}

// Refuses what could not be read, and sizes that the file cannot hold: deflate packs at most 1032 to 1.
static int check_entry(const tapc_archive *archive, const tapc_entry *entry, unsigned flags, tapc_fault *fault) {
  unsigned long long stored = entry->stored, bytes = entry->bytes;
  if (flags & 1) return tapc_fail(fault, TAPC_INPUT, "\"%s\": expected a plain entry, found an encrypted one", entry->name);
  if (entry->method != 0 && entry->method != 8)
    return tapc_fail(fault, TAPC_INPUT, "\"%s\": expected a stored or deflated entry, found compression method %d", entry->name, entry->method);
  if (entry->at > archive->limit || stored > archive->limit - entry->at)
    return tapc_fail(fault, TAPC_INPUT, "\"%s\": truncated or damaged: expected %llu bytes at %llu, found the file's tables at %llu", entry->name, stored,
      (unsigned long long)entry->at, (unsigned long long)archive->limit);
  if (entry->method == 0 ? stored != bytes : bytes / 1032 > stored)
    return tapc_fail(fault, TAPC_INPUT, "\"%s\": damaged: %llu bytes cannot come from %llu packed ones", entry->name, bytes, stored);
  return 0;
}

// One record of the central directory; *p moves behind it.
static int take_entry(tapc_archive *archive, const unsigned char **p, const unsigned char *end, tapc_fault *fault) {
  const unsigned char *r = *p;
  if (end - r < 46 || memcmp(r, "PK\1\2", 4)) return tapc_fail(fault, TAPC_INPUT, "damaged: expected a ZIP directory record, found something else");
  size_t name = le(r + 28, 2), extra = le(r + 30, 2), comment = le(r + 32, 2);
  if ((size_t)(end - r) - 46 < name + extra + comment) return tapc_fail(fault, TAPC_INPUT, "damaged: a ZIP directory record reaches beyond the directory");
  *p = r + 46 + name + extra + comment;
  if (name <= 4 || memcmp(r + 46 + name - 4, ".npy", 4) || memchr(r + 46, 0, name))
    return tapc_fail(fault, TAPC_INPUT, "expected only .npy entries, found \"%.*s\"", name > 80 ? 80 : (int)name, (const char *)r + 46);
  tapc_entry entry = {.at = le(r + 42, 4), .stored = le(r + 20, 4), .bytes = le(r + 24, 4), .crc = le(r + 16, 4), .method = (uint16_t)le(r + 10, 2)};
  entry.name = malloc(name - 3);
  if (!entry.name) return tapc_no_memory(fault, name, "a name");
  memcpy(entry.name, r + 46, name - 4);
  entry.name[name - 4] = 0;
  if (widen_entry(&entry, r + 46 + name, extra, fault) || check_entry(archive, &entry, le(r + 8, 2), fault)) {
    free(entry.name);
    return fault->status;
  }
  return tapc_archive_add(archive, &entry, fault);
}

int tapc_zip_list(tapc_archive *archive, tapc_fault *fault) {
  directory dir = {0, 0, 0};
  uint64_t end = 0;
  if (find_end(archive, &dir, &end, fault) || widen_end(archive, &dir, &end, fault)) return fault->status;
  if (dir.offset > end || dir.bytes > end - dir.offset || dir.n > dir.bytes / 46)
    return tapc_fail(fault, TAPC_INPUT, "damaged: %llu entries in %llu bytes at %llu do not fit before the end record at %llu", (unsigned long long)dir.n,
      (unsigned long long)dir.bytes, (unsigned long long)dir.offset, (unsigned long long)end);
  archive->limit = dir.offset;
  unsigned char *records = malloc(dir.bytes ? (size_t)dir.bytes : 1);
  if (!records) return tapc_no_memory(fault, dir.bytes, "the table of contents");
  int status = tapc_read_at(archive->fd, records, dir.bytes, dir.offset, fault);
  const unsigned char *p = records;
  for (uint64_t i = 0; !status && i < dir.n; i++) status = take_entry(archive, &p, records + dir.bytes, fault);
  free(records);
  return status ? status : tapc_archive_sort(archive, fault);
}

int tapc_zip_locate(const tapc_archive *archive, const tapc_entry *entry, uint64_t *offset, tapc_fault *fault) {
  unsigned char head[30];
  uint64_t room = archive->limit - entry->at;
  if (room < sizeof head) return tapc_fail(fault, TAPC_INPUT, "truncated: expected a ZIP entry, found %llu bytes", (unsigned long long)room);
  if (tapc_read_at(archive->fd, head, sizeof head, entry->at, fault)) return fault->status;
  if (memcmp(head, "PK\3\4", 4)) return tapc_fail(fault, TAPC_INPUT, "damaged: expected a ZIP entry, found something else");
  uint64_t skip = sizeof head + le(head + 26, 2) + le(head + 28, 2);
  if (skip > room || entry->stored > room - skip)
    return tapc_fail(fault, TAPC_INPUT, "truncated: expected %llu bytes, found %llu", (unsigned long long)entry->stored, (unsigned long long)(skip > room ? 0 : room - skip));
  *offset = entry->at + skip;
  return 0;
}

// CRC-32 of ISO 3309 (reflected polynomial edb88320), eight bytes a step: slice[k][b] is what byte b contributes when k
// bytes follow it.
typedef struct crc_tables {
  uint32_t slice[8][256];
} crc_tables;

static void make_tables(crc_tables *t) {
  for (uint32_t b = 0; b < 256; b++) {
    uint32_t c = b;
    for (int i = 0; i < 8; i++) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
    t->slice[0][b] = c;
  }
  for (uint32_t b = 0; b < 256; b++)
    for (int k = 1; k < 8; k++) t->slice[k][b] = t->slice[k - 1][b] >> 8 ^ t->slice[0][t->slice[k - 1][b] & 255];
}

uint32_t tapc_crc32(uint32_t crc, const void *data, size_t bytes) {
  crc_tables t; // made anew each time: 8 KiB, and no shared state
  make_tables(&t);
  const unsigned char *p = data;
  uint32_t c = ~crc;
  for (; bytes >= 8; p += 8, bytes -= 8) {
    c ^= le(p, 4);
    uint32_t d = le(p + 4, 4);
    c = t.slice[7][c & 255] ^ t.slice[6][c >> 8 & 255] ^ t.slice[5][c >> 16 & 255] ^ t.slice[4][c >> 24] ^ t.slice[3][d & 255] ^ t.slice[2][d >> 8 & 255] ^
        t.slice[1][d >> 16 & 255] ^ t.slice[0][d >> 24];
  }
  for (; bytes; bytes--) c = c >> 8 ^ t.slice[0][(c ^ *p++) & 255];
  return ~c;
}
