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

// Runs at least 3 times and until some milliseconds have passed, at most 1000 times: caches, page tables and clocks settle. It gives what each run took on average.
static int warm_up(tapc_instance *instance, double ms, const void *const *in, void *const *out, double *each, tapc_fault *fault) {
  double begin = now();
  int n = 0;
  for (; n < 3 || (n < 1000 && now() - begin < ms); n++) {
    int status = tapc_instance_call(instance, in, out, fault);
    if (status) return status;
  }
  *each = (now() - begin) / n;
  return 0;
}

// Of all runs together: what each step took, and behind these how long each device waited for others before its steps.
static double *step_times;
static _Thread_local double step_begin; // when the present step of the thread began

static void step_done(int step) {
  double t = now();
  if (step >= 0) step_times[step] += t - step_begin;
  step_begin = t;
}

static int longest_first(const void *a, const void *b) {
  double x = step_times[*(const int *)a], y = step_times[*(const int *)b];
  return (x < y) - (x > y);
}

// Prints the steps, those that take the longest first.
static int print_steps(FILE *to, const tapc_program *program, int64_t runs, tapc_fault *fault) {
  int n = program->n_steps;
  double all = 0;
  int *order = malloc((size_t)n * sizeof *order);
  if (!order) return tapc_no_memory(fault, (uint64_t)n * sizeof *order, "the order of steps");
  for (int i = 0; i < n; i++) {
    order[i] = i;
    all += step_times[i];
  }
  qsort(order, (size_t)n, sizeof *order, longest_first);
  for (int i = 0; i < n; i++) {
    double t = step_times[order[i]];
    fprintf(to, "%10.4f ms %5.1f %%  step %d: %s\n", t / (double)runs, all > 0 ? t / all * 100 : 0, order[i], program->steps[order[i]]);
  }
  free(order);
  return 0;
}

// Prints what each device did in the time of a run: kernels, copies, waiting for others in between, and nothing before and behind.
static void print_devices(FILE *to, const tapc_program *program, double time, int64_t runs) {
  for (int d = 0; d < program->n_devices; d++) {
    const tapc_device *device = &program->devices[d];
    double kernels = 0, copies = 0, waits = step_times[program->n_steps + d];
    for (int i = 0; i < program->n_steps; i++) {
      const tapc_owner *owner = &program->owners[i];
      if (owner->device == d) *(owner->copies ? &copies : &kernels) += step_times[i];
    }
    fprintf(to, "%s: kernels %.4f ms, copies %.4f ms, waits %.4f ms of %.4f ms; arena %zu bytes, constants %zu, received %zu, sent %zu\n", device->name, kernels / (double)runs,
      copies / (double)runs, waits / (double)runs, time / (double)runs, device->arena_bytes, device->constants_bytes, device->received_bytes, device->sent_bytes);
  }
}

// Times each step of n more runs.
int tapc_profile(FILE *to, const tapc_program *program, tapc_instance *instance, int64_t n, const void *const *in, void *const *out, tapc_fault *fault) {
  if (!program->n_steps) return 0;
  size_t times = (size_t)program->n_steps + (size_t)program->n_devices;
  step_times = calloc(times, sizeof *step_times);
  if (!step_times) return tapc_no_memory(fault, times * sizeof *step_times, "the times of steps");
  int status = 0;
  tapc_step_done = step_done;
  double begin = now();
  for (int64_t i = 0; !status && i < n; i++) status = tapc_instance_call(instance, in, out, fault);
  double time = now() - begin;
  tapc_step_done = NULL;
  if (!status) status = print_steps(to, program, n, fault);
  if (!status) print_devices(to, program, time, n);
  free(step_times);
  return status;
}

// How long what is timed at once takes at least, in milliseconds: many times what a clock may be off by, and what asking it takes.
static const double least_time = 0.002;

// Times n runs after so long a warm-up, 100 ms if it is negative: each by itself or, where they take too little for that, some together, each of which counts as what it takes on
// average.
int tapc_bench(FILE *to, tapc_instance *instance, int64_t n, int64_t warm_up_ms, const void *const *in, void *const *out, tapc_fault *fault) {
  double *times = malloc((size_t)n * sizeof *times);
  if (!times) return tapc_no_memory(fault, (uint64_t)n * sizeof *times, "the times of a benchmark");
  double each = least_time;
  int status = warm_up(instance, warm_up_ms < 0 ? 100 : (double)warm_up_ms, in, out, &each, fault);
  int64_t at_once = each < least_time ? 1 + (int64_t)(least_time / (each + 1e-6)) : 1;
  for (int64_t i = 0; !status && i < n;) {
    int64_t end = n - i < 2 * at_once ? n : i + at_once, first = i;
    double begin = now();
    for (; !status && i < end; i++) status = tapc_instance_call(instance, in, out, fault);
    each = (now() - begin) / (double)(end - first);
    for (int64_t k = first; k < end; k++) times[k] = each;
  }
  if (!status) {
    qsort(times, (size_t)n, sizeof *times, ascending);
    double median = (times[(n - 1) / 2] + times[n / 2]) / 2;
    fprintf(to, "bench: median %.4g ms, p10 %.4g ms, p90 %.4g ms (%lld runs, %d thread%s)\n", median, times[(n - 1) / 10], times[(n - 1) * 9 / 10], (long long)n,
      tapc_instance_threads(instance), tapc_instance_threads(instance) == 1 ? "" : "s");
  }
  free(times);
  return status;
}
