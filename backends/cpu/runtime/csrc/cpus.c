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

int tapc_cores(int *cpus, int room) {
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
    if (n < room) cpus[n] = cpu;
    n++;
  }
  return n ? n : 1;
}

static int logical(void) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed)) return 1;
  return CPU_COUNT(&allowed);
}

// Processors' worth of time that the control group grants (cgroup v2: "max 100000" or "QUOTA PERIOD"), rounded up.
static int group_limit(void) {
  long long quota, period;
  FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r");
  if (!file) return TAPC_MAX_THREADS;
  int read = fscanf(file, "%lld %lld", &quota, &period);
  fclose(file);
  if (read != 2 || quota <= 0 || period <= 0 || quota / period >= TAPC_MAX_THREADS) return TAPC_MAX_THREADS;
  return (int)((quota + period - 1) / period);
}

void tapc_pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  (void)sched_setaffinity(0, sizeof set, &set); // where that is forbidden the thread runs anywhere
}

#else

int tapc_cores(int *cpus, int room) {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  for (int i = 0; i < room && i < n; i++) cpus[i] = i;
  return n < 1 ? 1 : (int)n;
}

static int logical(void) { return tapc_cores(NULL, 0); }

static int group_limit(void) { return TAPC_MAX_THREADS; }

void tapc_pin(int cpu) { (void)cpu; }

#endif

static int limited(int threads) {
  int limit = group_limit(); // at most TAPC_MAX_THREADS
  return threads < limit ? threads : limit;
}

int tapc_default_threads(void) { return limited(tapc_cores(NULL, 0)); }

int tapc_processors(void) { return limited(logical()); }
