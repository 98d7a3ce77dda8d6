// Error texts: one line each, whatever the file names and keys in them hold.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "internal.h"

// Control characters in a name from a file could forge a second line or drive a terminal.
static void make_one_line(char *text) {
  for (; *text; text++)
    if ((unsigned char)*text < 0x20 || *text == 0x7f) *text = '?';
}

int tapc_fail(tapc_fault *fault, int status, const char *format, ...) {
  size_t used = 0;
  if (fault->where[0]) used = (size_t)snprintf(fault->text, sizeof fault->text, "%s: ", fault->where);
  va_list args;
  va_start(args, format);
  vsnprintf(fault->text + used, sizeof fault->text - used, format, args);
  va_end(args);
  make_one_line(fault->text);
  fault->status = status;
  return status;
}

void tapc_about(tapc_fault *fault, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(fault->where, sizeof fault->where, format, args);
  va_end(args);
}

int tapc_no_memory(tapc_fault *fault, uint64_t bytes, const char *what) {
  return tapc_fail(fault, TAPC_INTERNAL, "out of memory: %llu bytes for %s could not be had", (unsigned long long)bytes, what);
}

// Optimal string alignment distance of a and b (insert, delete, replace, swap neighbours), letters compared without
// case; a large number for long names.
static size_t edit_distance(const char *a, const char *b) {
  enum { LONGEST = 63 };
  size_t n = strlen(a), m = strlen(b);
  if (n > LONGEST || m > LONGEST) return strcasecmp(a, b) ? 1000 : 0;
  size_t row[3][LONGEST + 1];
  for (size_t j = 0; j <= m; j++) row[0][j] = j;
  for (size_t i = 1; i <= n; i++) {
    size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
    now[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t best = last[j - 1] + (strncasecmp(a + i - 1, b + j - 1, 1) != 0);
      if (last[j] + 1 < best) best = last[j] + 1;
      if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
      int swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
      now[j] = best;
    }
  }
  return row[n % 3][m];
}

const char *tapc_nearest(const char *name, const char *(*candidate)(const void *, size_t), const void *from, size_t n) {
  size_t length = strlen(name), limit = length < 3 ? 1 : 1 + length / 4, least = limit + 1;
  const char *nearest = NULL;
  for (size_t i = 0; i < n; i++) {
    size_t distance = edit_distance(name, candidate(from, i)), other = strlen(candidate(from, i));
    if (distance < least && distance < (length > other ? length : other)) { // something must be the same
      least = distance;
      nearest = candidate(from, i);
    }
  }
  return nearest;
}
