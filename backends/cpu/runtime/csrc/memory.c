// Memory for tensors, and how much there is.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "internal.h"

void *tapc_alloc(size_t bytes) { return tapc_alloc_first(bytes, bytes); }

void *tapc_alloc_first(size_t bytes, size_t first) {
  const size_t huge = (size_t)2 << 20;
  size_t align = bytes >= huge ? huge : 64;
  if (bytes > SIZE_MAX / 2) return NULL;
  void *memory = NULL;
  if (posix_memalign(&memory, align, bytes ? bytes : 1)) return NULL;
#ifdef MADV_HUGEPAGE
  if (bytes >= huge) { // only advice: failure changes nothing
    size_t whole = first & ~(huge - 1);
    if (whole) (void)madvise(memory, whole, MADV_HUGEPAGE);
    if (bytes > whole) (void)madvise((char *)memory + whole, bytes - whole, MADV_NOHUGEPAGE); // where the system gives huge pages unasked, it has no more than its bytes
  }
#endif
  return memory;
}

void tapc_free(void *memory) { free(memory); }

int tapc_memory_wish(const char *word) {
  const char *wish = getenv("TAPC_MEMORY");
  return wish && !strcmp(wish, word);
}

void tapc_poison(void *memory, size_t bytes) {
  if (memory && bytes) memset(memory, 0xff, bytes);
}

// ---- What there is ---------------------------------------------------------------------------------------------

enum { UNITS = 1024 };

// The number behind a word at the beginning of a line of a file, or the file's first number for "". 0: there is none.
static int number_in(const char *path, const char *word, uint64_t *number) {
  char line[256];
  int found = 0;
  FILE *file = fopen(path, "r");
  while (file && !found && fgets(line, sizeof line, file)) {
    unsigned long long n;
    if (strncmp(line, word, strlen(word)) || sscanf(line + strlen(word), " %llu", &n) != 1) continue;
    *number = n;
    found = 1;
  }
  if (file) fclose(file);
  return found;
}

// What the system can give without taking it from anybody else: by its own estimate, and swap space.
static uint64_t machine_has(void) {
  uint64_t available, swap = 0;
  if (!number_in("/proc/meminfo", "MemAvailable:", &available)) return UINT64_MAX;
  (void)number_in("/proc/meminfo", "SwapFree:", &swap);
  return (available + swap) * UNITS;
}

// What the control group (cgroup v2) allows beyond what it has; pages of files can go.
static uint64_t group_has(void) {
  uint64_t limit, current, files = 0;
  if (!number_in("/sys/fs/cgroup/memory.max", "", &limit) || !number_in("/sys/fs/cgroup/memory.current", "", &current)) return UINT64_MAX;
  (void)number_in("/sys/fs/cgroup/memory.stat", "file ", &files);
  uint64_t used = current > files ? current - files : 0;
  return limit > used ? limit - used : 0;
}

// How many addresses the limit of the process leaves; used are those that it has, in pages.
static uint64_t process_has(uint64_t used) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  used *= (uint64_t)sysconf(_SC_PAGESIZE);
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

static int refuse(uint64_t bytes, uint64_t has, const char *what, tapc_fault *fault) {
  if (bytes <= has) return 0;
  return tapc_fail(fault, TAPC_INTERNAL, "out of memory: the program needs %llu bytes, and %s %llu (TAPC_MEMORY=unchecked tries all the same)", (unsigned long long)bytes, what,
    (unsigned long long)has);
}

int tapc_memory_check(uint64_t bytes, uint64_t addresses, tapc_fault *fault) {
  if (tapc_memory_wish("unchecked")) return 0;
  int status = refuse(bytes, machine_has(), "the machine has", fault);
  if (!status) status = refuse(bytes, group_has(), "its control group allows", fault);
  uint64_t pages;
  if (status || !number_in("/proc/self/statm", "", &pages)) return status;
  return refuse(addresses, process_has(pages), "the limit of its addresses (ulimit -v) leaves", fault);
}
