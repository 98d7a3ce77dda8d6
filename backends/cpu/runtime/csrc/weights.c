// Constants in a file beside the program.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

enum { PATH = 8192, DIGEST = 32, LANES = 8 };

static int unfit(const char *path, const char *why, tapc_fault *fault) { return tapc_fail(fault, TAPC_INPUT, "the constants of the program, %s: %s", path, why); }

// The path of the file that the bytes at an address are mapped from, in the program's or library's own folder; 0: the system does not say.
static int path_of(const void *address, char *path) {
  FILE *maps = fopen("/proc/self/maps", "r");
  int found = 0, name;
  uintptr_t begin, end;
  while (maps && !found && fgets(path, PATH, maps)) {
    size_t length = strcspn(path, "\n");
    path[length] = 0;
    if (sscanf(path, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &begin, &end, &name) < 2) continue;
    if ((uintptr_t)address < begin || (uintptr_t)address >= end || path[name] != '/') continue;
    memmove(path, path + name, length - (size_t)name + 1);
    found = 1;
  }
  if (maps) fclose(maps);
  return found;
}

// The number that damage changes: every change of one word does, and others all but surely.
static uint64_t check_of(const uint64_t *words, size_t bytes) {
  const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
  uint64_t lanes[LANES] = {0}, all = 0;
  for (size_t i = 0; i < bytes / 8; i += LANES)
    for (size_t j = 0; j < LANES; j++) lanes[j] = (lanes[j] ^ words[i + j]) * odd;
  for (size_t j = 0; j < LANES; j++) all = (all ^ lanes[j] ^ lanes[j] >> 32) * odd;
  return all;
}

static int map_file(const tapc_weights *w, const char *path, int file, tapc_fault *fault) {
  unsigned char digest[DIGEST];
  struct stat s;
  if (fstat(file, &s)) return unfit(path, strerror(errno), fault);
  if (s.st_size < 0 || (uint64_t)s.st_size != w->bytes + DIGEST || pread(file, digest, DIGEST, (off_t)w->bytes) != DIGEST || memcmp(digest, w->digest, DIGEST))
    return unfit(path, "it does not belong to this program", fault);
  if (mmap(w->at, w->bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED) return unfit(path, strerror(errno), fault);
  if (check_of(w->at, w->bytes) != w->check) return unfit(path, "it is damaged", fault);
  return 0;
}

int tapc_weights_map(const tapc_weights *w, tapc_fault *fault) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static int mapped;
  char path[PATH] = "";
  int status = 0;
  pthread_mutex_lock(&lock);
  if (!mapped) {
    char *slash = path_of(w, path) ? strrchr(path, '/') : NULL;
    size_t room = slash ? (size_t)(path + PATH - 1 - slash) : 0;
    if (strlen(w->file) >= room) {
      status = unfit(w->file, "the system does not say where the program is", fault);
    } else {
      strcpy(slash + 1, w->file);
      int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // non-blocking: a pipe must not hang before it is refused
      status = file < 0 ? unfit(path, strerror(errno), fault) : map_file(w, path, file, fault);
      if (file >= 0) close(file);
    }
    mapped = !status;
  }
  pthread_mutex_unlock(&lock);
  return status;
}
