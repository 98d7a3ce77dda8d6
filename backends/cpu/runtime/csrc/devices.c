// Devices that work beside each other: groups of threads.
//
// The devices of a program are spread over groups, each a pool: as many as there are devices, if there are as many threads. In every run the leaders of all
// groups go through the steps of the program in its order, and each carries out those of its devices. A device counts the steps that it has done; a
// step that needs others' waits until their devices have counted so far. That cannot deadlock: of the steps that are not done, the first in
// the program's order waits for nothing. With one group nothing is waited for.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#ifndef TAPC_DEVICES_PAUSE // what a test does where another thread may come first
#define TAPC_DEVICES_PAUSE(place) ((void)0)
#endif

enum { COUNTER_LINE = 128, COUNTER_CHECK = 16, COUNTER_SPIN_NS = 50000 };

// A number that grows, and who waits for it.
typedef struct counter {
  _Alignas(COUNTER_LINE) atomic_uint count;
  atomic_int sleepers;
} counter;

typedef struct leader {
  tapc_devices *devices;
  tapc_pool *pool;
  pthread_t thread;
  int group, first; // its first thread among all
} leader;

struct tapc_devices {
  counter runs, ended; // runs that began, and leaders that ended the present one, but for the caller
  atomic_int quit;
  int n, groups, pools, threads, started, spin; // groups: of the present run
  pid_t process;
  tapc_devices_run run;
  void *ctx;
  leader *leaders;
  counter *done; // steps of each device in the present run
  int *cpus;     // that threads are bound to; NULL if they are not
};

// Waits until a number is at least some value. "Say that I sleep, look again" here and "count, look who sleeps" there are sequentially consistent, so
// that no call is lost.
static void wait_for(counter *c, unsigned value, int spin) {
  int64_t begin = 0, now = 0;
  for (; spin && now - begin < COUNTER_SPIN_NS; begin = begin ? begin : now) {
    for (int i = 0; i < COUNTER_CHECK; i++, tapc_pause())
      if ((int)(atomic_load_explicit(&c->count, memory_order_acquire) - value) >= 0) return;
    now = tapc_now_ns();
  }
  atomic_fetch_add(&c->sleepers, 1);
  TAPC_DEVICES_PAUSE(1);
  for (unsigned found; (int)((found = atomic_load(&c->count)) - value) < 0;) tapc_park(&c->count, found);
  atomic_fetch_sub(&c->sleepers, 1);
}

static void wake(counter *c) {
  TAPC_DEVICES_PAUSE(2);
  if (atomic_load(&c->sleepers)) tapc_unpark(&c->count);
}

// ---- Steps -----------------------------------------------------------------------------------------------------

int tapc_runs(const tapc_pool *p, int device) {
  const tapc_devices *d = tapc_pool_devices(p);
  return !d || device % d->groups == tapc_group(p);
}

void tapc_await(const tapc_pool *p, int device, int steps) {
  tapc_devices *d = tapc_pool_devices(p);
  if (!d || device % d->groups == tapc_group(p)) return;
  wait_for(&d->done[device], (unsigned)steps, d->spin);
}

void tapc_reach(const tapc_pool *p, int device, int steps) {
  tapc_devices *d = tapc_pool_devices(p);
  if (!d || d->groups == 1) return;
  TAPC_DEVICES_PAUSE(3);
  atomic_store(&d->done[device].count, (unsigned)steps);
  wake(&d->done[device]);
}

int tapc_all_groups(const tapc_pool *p) {
  const tapc_devices *d = tapc_pool_devices(p);
  return d ? d->groups : 1;
}

int tapc_first_thread(const tapc_pool *p) {
  const tapc_devices *d = tapc_pool_devices(p);
  return d ? d->leaders[tapc_group(p)].first : 0;
}

// ---- Runs ------------------------------------------------------------------------------------------------------

static void *lead(void *arg) {
  leader *self = arg;
  tapc_devices *d = self->devices;
  for (unsigned run = 1;; run++) {
    wait_for(&d->runs, run, d->spin);
    if (atomic_load(&d->quit)) return NULL;
    d->run(d->ctx, self->pool);
    TAPC_DEVICES_PAUSE(4);
    atomic_fetch_add(&d->ended.count, 1);
    wake(&d->ended);
  }
}

// Lets the leaders go on, who have all ended the run before.
static void begin_run(tapc_devices *d) {
  for (int i = 0; i < d->n; i++) atomic_store_explicit(&d->done[i].count, 0, memory_order_relaxed);
  atomic_store(&d->ended.count, 0);
  atomic_fetch_add(&d->runs.count, 1);
  wake(&d->runs);
}

int tapc_devices_call(tapc_devices *d, tapc_devices_run run, void *ctx) {
  if (d->groups > 1 && d->process != getpid()) d->groups = 1; // a process that was forked off has no other leaders
  if (d->groups > 1) {
    d->run = run;
    d->ctx = ctx;
    begin_run(d);
  }
  tapc_affinity before;
  int bound = d->cpus && !tapc_bind_caller(d->cpus[0], &before);
  int result = run(ctx, d->leaders[0].pool);
  if (bound) tapc_unbind_caller(&before);
  if (d->groups > 1) wait_for(&d->ended, (unsigned)d->groups - 1, d->spin);
  return result;
}

int tapc_devices_bind(tapc_devices *d, int place, tapc_fault *fault) {
  int64_t first = (int64_t)place * d->threads, need = first + d->threads;
  if (place < 0 || place > TAPC_MAX_THREADS || need > TAPC_MAX_THREADS)
    return tapc_fail(fault, TAPC_USAGE, "pin: expected at most %d threads in all, found %d at place %d", TAPC_MAX_THREADS, d->threads, place);
  int cpus[TAPC_MAX_THREADS], found = tapc_cores(cpus, TAPC_MAX_THREADS), error = 0;
  if (found < 0) return tapc_fail(fault, TAPC_USAGE, "pin: threads can not be bound to cores on this system");
  if (found < need)
    return tapc_fail(fault, TAPC_USAGE, "pin: expected a core for each of %lld threads, found %d core%s that the process may use", (long long)need, found, found == 1 ? "" : "s");
  for (int g = 0; g < d->groups && !error; g++) {
    const leader *l = &d->leaders[g];
    error = tapc_pool_bind(l->pool, &cpus[first + l->first]);
    if (g && !error) error = tapc_bind_thread(l->thread, cpus[first + l->first]);
  }
  if (error) return tapc_fail(fault, TAPC_INTERNAL, "pin: cannot bind threads to cores: %s", strerror(error));
  if (!d->cpus && !(d->cpus = malloc((size_t)d->threads * sizeof *d->cpus))) return tapc_no_memory(fault, (uint64_t)d->threads * sizeof *d->cpus, "cores");
  memcpy(d->cpus, &cpus[first], (size_t)d->threads * sizeof *d->cpus);
  return 0;
}

int tapc_devices_threads(const tapc_devices *d) { return d->threads; }

// ---- Beginning and end -----------------------------------------------------------------------------------------

static void *zeroed(size_t n, size_t bytes) {
  void *memory = NULL;
  if (posix_memalign(&memory, COUNTER_LINE, n * bytes)) return NULL;
  return memset(memory, 0, n * bytes);
}

// Makes the pools, and starts the leaders but for the caller.
static int start_groups(tapc_devices *d, tapc_fault *fault) {
  for (int g = 0, first = 0; g < d->groups; g++) {
    leader *l = &d->leaders[g];
    int share = d->threads / d->groups + (g < d->threads % d->groups);
    l->devices = d;
    l->group = g;
    l->first = first;
    first += share;
    if (!(l->pool = tapc_pool_new(share, fault))) return fault->status;
    tapc_pool_join(l->pool, d, g, d->spin);
  }
  for (int g = 1; g < d->groups; g++) {
    int error = tapc_thread_start(&d->leaders[g].thread, lead, &d->leaders[g]);
    if (error) return tapc_fail(fault, TAPC_INTERNAL, "cannot start the threads of device %d of %d: %s", g + 1, d->n, strerror(error));
    d->started++;
  }
  return 0;
}

int tapc_group_count(int devices, int threads) { return devices < 1 ? 1 : devices < threads ? devices : threads; }

tapc_devices *tapc_devices_new(int n, int threads, tapc_fault *fault) {
  tapc_devices *d = zeroed(1, sizeof *d);
  if (d) {
    d->n = n < 1 ? 1 : n;
    d->threads = threads;
    d->groups = d->pools = tapc_group_count(n, threads);
    d->spin = threads <= tapc_processors();
    d->process = getpid();
    d->leaders = zeroed((size_t)d->groups, sizeof *d->leaders);
    d->done = zeroed((size_t)d->n, sizeof *d->done);
  }
  if (!d || !d->leaders || !d->done) tapc_no_memory(fault, (uint64_t)n * sizeof *d->done, "devices");
  else if (!start_groups(d, fault)) return d;
  tapc_devices_free(d);
  return NULL;
}

void tapc_devices_free(tapc_devices *d) {
  if (!d) return;
  atomic_store(&d->quit, 1);
  atomic_fetch_add(&d->runs.count, 1);
  wake(&d->runs);
  for (int g = 1; g <= d->started && d->process == getpid(); g++) pthread_join(d->leaders[g].thread, NULL);
  for (int g = 0; d->leaders && g < d->pools; g++) tapc_pool_free(d->leaders[g].pool);
  free(d->leaders);
  free(d->done);
  free(d->cpus);
  free(d);
}
