// Times a program.
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>

#include "internal.h"

static double now(void) { // in milliseconds
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Runs at least 3 times and until 100 ms have passed, at most 1000 times: caches, page tables and clocks settle.
static int warm_up(tapc_instance *instance, const void *const *in, void *const *out, tapc_fault *fault) {
  double begin = now();
  for (int i = 0; i < 3 || (i < 1000 && now() - begin < 100); i++) {
    int status = tapc_instance_call(instance, in, out, fault);
    if (status) return status;
  }
  return 0;
}

int tapc_bench(FILE *to, tapc_instance *instance, int64_t n, const void *const *in, void *const *out, tapc_fault *fault) {
  double *times = malloc((size_t)n * sizeof *times);
  if (!times) return tapc_no_memory(fault, (uint64_t)n * sizeof *times, "the times of a benchmark");
  int status = warm_up(instance, in, out, fault);
  for (int64_t i = 0; !status && i < n; i++) {
    double begin = now();
    status = tapc_instance_call(instance, in, out, fault);
    times[i] = now() - begin;
  }
  if (!status) {
    qsort(times, (size_t)n, sizeof *times, ascending);
    double median = (times[(n - 1) / 2] + times[n / 2]) / 2;
    fprintf(to, "bench: median %.4g ms, p10 %.4g ms, p90 %.4g ms (%lld runs, %d thread%s)\n", median, times[(n - 1) / 10],
            times[(n - 1) * 9 / 10], (long long)n, tapc_instance_threads(instance), tapc_instance_threads(instance) == 1 ? "" : "s");
  }
  free(times);
  return status;
}
