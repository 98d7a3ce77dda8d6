// Exercises the groups of threads of devices; prints "ok" or what went wrong. Built under the thread sanitizer.
//
// It includes their source, so that it can stop threads for a random time wherever another may come first.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void stop_somewhere(int place);
#define TAPC_DEVICES_PAUSE(place) stop_somewhere(place)
#include "devices.c"

#define CHECK(condition)                                                                                               \
  if (!(condition)) {                                                                                                  \
    printf("line %d: not so: %s\n", __LINE__, #condition);                                                             \
    exit(1);                                                                                                           \
  }

static atomic_int delays, stopped_for; // one in so many stops, 0: none; only this one, 0: any
static _Thread_local unsigned dice;

static void stop_somewhere(int place) {
  int one_in = atomic_load_explicit(&delays, memory_order_relaxed), only = atomic_load_explicit(&stopped_for, memory_order_relaxed);
  if (!one_in || (only && only != place)) return;
  if (!dice) dice = (unsigned)(uintptr_t)&dice | 1;
  dice = dice * 1664525 + 1013904223;
  if ((dice >> 8) % (unsigned)one_in == 0) nanosleep(&(struct timespec){0, (dice >> 20) % 4 * 60000}, NULL);
  else if ((dice >> 8) % 3 == 0) sched_yield();
}

// ---- A random program ------------------------------------------------------------------------------------------

enum { STEPS = 60, MOST_DEVICES = 9, MOST_WAITS = 3, SHARE = 64 };

// A step adds up cells that others wrote, and writes its own, which are plain, so that a race is seen.
typedef struct step {
  int device, number, n_waits;
  int waits[MOST_WAITS]; // steps before
} step;

typedef struct steps {
  int devices;
  step all[STEPS];
  int64_t cells[STEPS][SHARE];
  int by[STEPS]; // how often each step was carried out
} steps;

static unsigned random_below(unsigned *state, unsigned n) {
  *state = *state * 1664525 + 1013904223;
  return (*state >> 10) % n;
}

static void make_steps(steps *s, int devices, unsigned seed) {
  int done[MOST_DEVICES] = {0};
  s->devices = devices;
  for (int i = 0; i < STEPS; i++) {
    step *x = &s->all[i];
    x->device = (int)random_below(&seed, (unsigned)devices);
    x->number = ++done[x->device];
    x->n_waits = i ? (int)random_below(&seed, MOST_WAITS + 1) : 0;
    for (int w = 0; w < x->n_waits; w++) x->waits[w] = (int)random_below(&seed, (unsigned)i);
    s->by[i] = 0;
  }
}

typedef struct part {
  steps *s;
  int at;
} part;

static void compute(void *ctx, int64_t begin, int64_t end, int worker) {
  const part *p = ctx;
  const step *x = &p->s->all[p->at];
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    int64_t sum = p->at + i;
    for (int w = 0; w < x->n_waits; w++) sum += 3 * p->s->cells[x->waits[w]][SHARE - 1 - i];
    p->s->cells[p->at][i] = sum;
  }
}

static int run(void *ctx, tapc_pool *pool) {
  steps *s = ctx;
  for (int i = 0; i < STEPS; i++) {
    const step *x = &s->all[i];
    if (!tapc_runs(pool, x->device)) continue;
    for (int w = 0; w < x->n_waits; w++) tapc_await(pool, s->all[x->waits[w]].device, s->all[x->waits[w]].number);
    part p = {s, i};
    tapc_parallel(pool, SHARE, 3000000, compute, &p);
    s->by[i]++;
    tapc_reach(pool, x->device, x->number);
  }
  return tapc_group(pool) == 0 ? 7 : 8;
}

static void clear(steps *s) {
  for (int i = 0; i < STEPS; i++)
    for (int k = 0; k < SHARE; k++) s->cells[i][k] = -1;
}

// Every step is carried out once, in an order that has the values of one thread.
static void check_runs(int devices, int threads, unsigned seed, int times) {
  static steps s, one;
  tapc_fault fault = {.status = 0};
  tapc_devices *d = tapc_devices_new(devices, threads, &fault);
  CHECK(d && tapc_devices_threads(d) == threads);
  make_steps(&one, devices, seed);
  clear(&one);
  CHECK(run(&one, NULL) == 7);
  make_steps(&s, devices, seed);
  for (int i = 0; i < times; i++) {
    clear(&s);
    CHECK(tapc_devices_call(d, run, &s) == 7);
    for (int k = 0; k < STEPS; k++) {
      CHECK(s.by[k] == i + 1);
      for (int c = 0; c < SHARE; c++) CHECK(s.cells[k][c] == one.cells[k][c]);
    }
  }
  tapc_devices_free(d);
}

// ---- Shares of threads -----------------------------------------------------------------------------------------

static atomic_int threads_seen, groups_seen, devices_seen;

static int look(void *ctx, tapc_pool *pool) {
  const int *expected = ctx; // devices, threads, groups
  CHECK(tapc_all_groups(pool) == expected[2]);
  CHECK(tapc_group(pool) < expected[2]);
  CHECK(tapc_first_thread(pool) + tapc_threads(pool) <= expected[1]);
  CHECK(tapc_group(pool) > 0 || tapc_first_thread(pool) == 0);
  CHECK(tapc_group(pool) + 1 < expected[2] || tapc_first_thread(pool) + tapc_threads(pool) == expected[1]);
  for (int i = 0; i < expected[0]; i++) atomic_fetch_add(&devices_seen, tapc_runs(pool, i));
  atomic_fetch_add(&threads_seen, tapc_threads(pool));
  atomic_fetch_add(&groups_seen, 1);
  return 0;
}

// Threads and devices are shared out, each to one group.
static void check_shares(void) {
  for (int devices = 1; devices <= MOST_DEVICES; devices++)
    for (int threads = 1; threads <= 7; threads++) {
      int expected[] = {devices, threads, devices < threads ? devices : threads};
      tapc_fault fault = {.status = 0};
      tapc_devices *d = tapc_devices_new(devices, threads, &fault);
      CHECK(d && tapc_group_count(devices, threads) == expected[2]);
      atomic_store(&threads_seen, 0);
      atomic_store(&groups_seen, 0);
      atomic_store(&devices_seen, 0);
      CHECK(tapc_devices_call(d, look, expected) == 0);
      CHECK(atomic_load(&threads_seen) == threads && atomic_load(&groups_seen) == expected[2] && atomic_load(&devices_seen) == devices);
      tapc_devices_free(d);
    }
  CHECK(tapc_all_groups(NULL) == 1 && tapc_group(NULL) == 0 && tapc_first_thread(NULL) == 0 && tapc_runs(NULL, 5));
}

// A process that is forked off has the caller's group alone, which carries out the steps of all devices.
static void fork_off(void) {
  static steps s;
  tapc_fault fault = {.status = 0};
  tapc_devices *d = tapc_devices_new(4, 4, &fault);
  make_steps(&s, 4, 5);
  CHECK(d && tapc_devices_call(d, run, &s) == 7);
  for (int i = 0; i < 10; i++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
      int status = tapc_devices_call(d, run, &s);
      tapc_devices_free(d);
      _exit(status == 7 ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
    CHECK(tapc_devices_call(d, run, &s) == 7);
  }
  tapc_devices_free(d);
}

// ---- Bound threads ---------------------------------------------------------------------------------------------

// What a run sees: the processor of each thread of a group that takes part, and of each leader.
typedef struct sight {
  tapc_devices *devices;
  const int *cpus;
} sight;

static void see(void *ctx, int64_t begin, int64_t end, int worker) {
  const int *cpus = ctx;
  (void)begin, (void)end;
  CHECK(sched_getcpu() == cpus[worker]);
}

static int look_around(void *ctx, tapc_pool *pool) {
  const sight *s = ctx;
  CHECK(sched_getcpu() == s->cpus[tapc_first_thread(pool)]);
  tapc_parallel(pool, 64, 1000000, see, (void *)(uintptr_t)&s->cpus[tapc_first_thread(pool)]);
  return 0;
}

static void bound_threads(void) {
  int cpus[TAPC_MAX_THREADS], cores = tapc_cores(cpus, TAPC_MAX_THREADS);
  cpu_set_t before, after;
  CHECK(!sched_getaffinity(0, sizeof before, &before));
  CHECK(cores >= 1);
  for (int devices = 1; devices <= 3; devices++)
    for (int threads = 1; threads <= 4; threads++)
      for (int place = 0; place < 2; place++) {
        tapc_fault fault = {.status = 0};
        tapc_devices *d = tapc_devices_new(devices, threads, &fault);
        CHECK(d);
        int status = tapc_devices_bind(d, place, &fault), enough = cores >= threads * (place + 1);
        CHECK(status == (enough ? 0 : TAPC_USAGE));
        CHECK(enough || strstr(fault.text, "pin: expected a core for each of "));
        sight s = {d, &cpus[place * threads]};
        for (int run = 0; enough && run < 3; run++) CHECK(!tapc_devices_call(d, look_around, &s));
        CHECK(!sched_getaffinity(0, sizeof after, &after) && CPU_EQUAL(&before, &after));
        tapc_devices_free(d);
      }
  tapc_fault fault = {.status = 0};
  tapc_devices *d = tapc_devices_new(2, 2, &fault);
  CHECK(tapc_devices_bind(d, -1, &fault) == TAPC_USAGE && tapc_devices_bind(d, TAPC_MAX_THREADS, &fault) == TAPC_USAGE);
  tapc_devices_free(d);
}

int main(void) {
  check_shares();
  for (int devices = 1; devices <= MOST_DEVICES; devices += 2)
    for (int threads = 1; threads <= 6; threads++) check_runs(devices, threads, (unsigned)(devices * 31 + threads), 5);
  for (int place = 0; place <= 4; place++) {
    atomic_store(&stopped_for, place);
    atomic_store(&delays, 6);
    check_runs(3, 3, (unsigned)place, 20);
    check_runs(5, 4, (unsigned)place + 100, 20);
    atomic_store(&delays, 0);
  }
  bound_threads();
  fork_off();
  puts("ok");
  return 0;
}
