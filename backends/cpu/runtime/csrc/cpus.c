// How many threads pay: one per core that this process may use; and binding threads to cores.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
  if (sched_getaffinity(0, sizeof allowed, &allowed)) return 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET((size_t)cpu, &allowed)) continue;
    int core = first_sibling(cpu);
    if (core < 0 || core >= CPU_SETSIZE) core = cpu;
    if (CPU_ISSET((size_t)core, &seen)) continue;
    CPU_SET((size_t)core, &seen);
    if (n < room) cpus[n] = cpu;
    n++;
  }
  return n;
}

static int cores(void) {
  int n = tapc_cores(NULL, 0);
  return n ? n : 1;
}

_Static_assert(sizeof(tapc_affinity) >= sizeof(cpu_set_t), "the processors of a thread");

int tapc_bind_thread(pthread_t thread, int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET((size_t)cpu, &one);
  return pthread_setaffinity_np(thread, sizeof one, &one);
}

int tapc_bind_caller(int cpu, tapc_affinity *before) {
  cpu_set_t set;
  int error = pthread_getaffinity_np(pthread_self(), sizeof set, &set);
  if (error) return error;
  memcpy(before, &set, sizeof set);
  return tapc_bind_thread(pthread_self(), cpu);
}

void tapc_unbind_caller(const tapc_affinity *before) {
  cpu_set_t set;
  memcpy(&set, before, sizeof set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static int logical(void) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed)) return 1;
  return CPU_COUNT(&allowed);
}

#else

int tapc_cores(int *cpus, int room) {
  (void)cpus, (void)room;
  return -1;
}

int tapc_bind_thread(pthread_t thread, int cpu) {
  (void)thread, (void)cpu;
  return ENOTSUP;
}

int tapc_bind_caller(int cpu, tapc_affinity *before) {
  (void)cpu, (void)before;
  return ENOTSUP;
}

void tapc_unbind_caller(const tapc_affinity *before) { (void)before; }

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
