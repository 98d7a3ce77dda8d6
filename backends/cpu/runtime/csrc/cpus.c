// How many threads pay: one per core that this process may use.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

#ifdef __linux__

// The first processor that shares a core with cpu, from a list such as "0,64" or "0-1"; cpu itself when unknown.
static int first_sibling(int cpu) {
  char path[96];
  int first = cpu;
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  FILE *file = fopen(path, "r");
  if (!file) return cpu;
  if (fscanf(file, "%d", &first) != 1) first = cpu;
  fclose(file);
  return first;
}

static int cores(void) {
  cpu_set_t allowed, seen;
  CPU_ZERO(&seen);
  int n = 0;
  if (sched_getaffinity(0, sizeof allowed, &allowed)) return 1;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET((size_t)cpu, &allowed)) continue;
    int core = first_sibling(cpu);
    if (core < 0 || core >= CPU_SETSIZE) core = cpu;
    if (CPU_ISSET((size_t)core, &seen)) continue;
    CPU_SET((size_t)core, &seen);
    n++;
  }
  return n ? n : 1;
}

static int logical(void) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed)) return 1;
  return CPU_COUNT(&allowed);
}

#else

static int cores(void) {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : (int)n;
}

static int logical(void) { return cores(); }

#endif

static int limited(int threads) {
  int limit = tapc_group_limit("/proc/self/cgroup", "/proc/self/mountinfo");
  return threads < limit ? threads : limit;
}

int tapc_default_threads(void) { return limited(cores()); }

int tapc_processors(void) { return limited(logical()); }
