// Exercises the thread pool; prints "ok" or what went wrong. Built under the thread sanitizer.
//
// It includes the pool's source, so that it can stop threads for a random time at each place where another may come first.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void stop_somewhere(int place);
#define TAPC_POOL_PAUSE(place) stop_somewhere(place)
#include "pool.c"

#define CHECK(condition)                                                                                               \
  if (!(condition)) {                                                                                                  \
    printf("line %d: not so: %s\n", __LINE__, #condition);                                                             \
    exit(1);                                                                                                           \
  }

enum { MOST = 1000 };

typedef struct record {
  tapc_pool *pool;
  int hits[MOST]; // how often each index was done: plain, so that a race is seen
  int sum[TAPC_MAX_THREADS][16]; // a place of each worker's own, likewise
} record;

// ---- Delays --------------------------------------------------------------------------------------------------

static atomic_int delays;      // one in so many places stops; 0: none
static atomic_int stopped_for; // only at this place; 0: at any
static _Thread_local unsigned dice;

static void nap(long microseconds) {
  struct timespec t = {0, microseconds * 1000};
  nanosleep(&t, NULL);
}

static void stop_somewhere(int place) {
  int one_in = atomic_load_explicit(&delays, memory_order_relaxed), only = atomic_load_explicit(&stopped_for, memory_order_relaxed);
  if (!one_in || (only && only != place)) return;
  if (!dice) dice = (unsigned)(uintptr_t)&dice | 1;
  dice = dice * 1664525 + 1013904223;
  if ((dice >> 8) % (unsigned)one_in == 0) nap((dice >> 20) % 4 * 60);
  else if ((dice >> 8) % 3 == 0) sched_yield();
}

// ---- What regions do -----------------------------------------------------------------------------------------

static void mark(void *ctx, int64_t begin, int64_t end, int self) {
  record *r = ctx;
  CHECK(begin < end);
  for (int64_t i = begin; i < end; i++) r->hits[i]++;
  r->sum[self][0] += (int)(end - begin);
}

// Every index is done once, and what a region did is seen behind it.
static void check_region(tapc_pool *pool, int threads, int n, int64_t each) {
  static record r;
  for (int i = 0; i < MOST; i++) r.hits[i] = 0;
  for (int w = 0; w < threads; w++) r.sum[w][0] = 0;
  tapc_parallel(pool, n, each, mark, &r);
  int all = 0;
  for (int w = 0; w < threads; w++) all += r.sum[w][0];
  CHECK(all == n);
  for (int i = 0; i < MOST; i++) CHECK(r.hits[i] == (i < n));
}

static void inner(void *ctx, int64_t begin, int64_t end, int self) {
  int *out = ctx;
  for (int64_t i = begin; i < end; i++) out[i] = self;
}

// A region inside a region runs inline, on its worker.
static void outer(void *ctx, int64_t begin, int64_t end, int self) {
  record *r = ctx;
  for (int64_t i = begin; i < end; i++) {
    int seen[5];
    tapc_parallel(r->pool, 5, 1000000, inner, seen);
    for (int k = 0; k < 5; k++) CHECK(seen[k] == self);
    r->hits[i] = 1;
  }
}

enum { SMALL = 1000, LARGE = 100000000 }; // picoseconds of an index: too little to share, and enough to wake somebody for

static void exercise(int threads) {
  tapc_fault fault = {.status = 0};
  tapc_pool *pool = tapc_pool_new(threads, &fault);
  CHECK(pool && tapc_threads(pool) == threads);
  for (int n = 0; n <= 40; n++) check_region(pool, threads, n, n % 3 ? LARGE : 3000000);
  check_region(pool, threads, MOST, LARGE);
  check_region(pool, threads, MOST, 0);
  check_region(pool, threads, MOST, INT64_MAX);
  for (int i = 0; i < 20; i++) { // let the workers fall asleep, at different moments
    nap(10 * i);
    check_region(pool, threads, threads, LARGE);
    check_region(pool, threads, threads, SMALL);
  }
  static record r;
  r.pool = pool;
  tapc_parallel(pool, 9, LARGE, outer, &r);
  tapc_pool_free(pool);
}

// Regions one behind the other while threads stop at one place, or at any: those who come late must take nothing of a region that is not
// theirs, and nobody may be waited for who has taken nothing.
static void stress(int threads, int place) {
  tapc_fault fault = {.status = 0};
  tapc_pool *pool = tapc_pool_new(threads, &fault);
  CHECK(pool);
  atomic_store(&stopped_for, place);
  atomic_store(&delays, 6);
  for (int i = 0; i < 200; i++) check_region(pool, threads, i % 7 == 6 ? MOST : i % 5 + 2, i % 4 ? LARGE : 2000000);
  atomic_store(&delays, 0);
  tapc_pool_free(pool);
}

// ---- Index arithmetic, for all sizes at the edges --------------------------------------------------------------

static void check_indices(void) {
  const int64_t sizes[] = {1, 2, 3, 63, 64, 65, 999, 65535, 65536, 1000003, INT64_MAX / 1024, INT64_MAX - 1, INT64_MAX};
  const int cuts[] = {1, 2, 3, 64, 1000, 32768};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
      int64_t before = 0;
      CHECK(index_of(sizes[s], 0, cuts[c]) == 0);
      for (int g = 1; g <= cuts[c]; g++) {
        int64_t at = index_of(sizes[s], g, cuts[c]);
        CHECK(at >= before && at - before - 1 <= sizes[s] / cuts[c]);
        before = at;
      }
      CHECK(before == sizes[s]);
    }
}

// ---- Every order -----------------------------------------------------------------------------------------------

// All orders in which threads can take pieces of two ranges, from either end and of any size: a search over what can be left, with the pool's
// own take. What was taken and what is left are always the whole, each grain once.
enum { FIRST = 5, SECOND = 4, ALL = FIRST + SECOND };

static unsigned grains_of(int begin, int end) { return (1u << end) - (1u << begin); }

static unsigned left_of(const worker *w) {
  unsigned r = atomic_load(&w->range);
  return grains_of((int)(r >> 16), (int)(r & 0xffff));
}

static void orders(const worker *from, unsigned taken) {
  static char seen[1 << ALL];
  unsigned left = left_of(&from[0]) | left_of(&from[1]);
  CHECK((left ^ taken) == (1u << ALL) - 1);
  if (seen[left]) return;
  seen[left] = 1;
  for (int choice = 0; choice < 2 * 2 * 9; choice++) {
    worker copy[2];
    for (int i = 0; i < 2; i++) atomic_init(&copy[i].range, atomic_load(&from[i].range));
    worker *victim = &copy[choice & 1];
    int front = choice >> 1 & 1, least = (choice >> 2) % 3 + 1, most = (choice >> 2) / 3 + 1;
    piece x;
    if (!take(victim, front, least, most, &x)) {
      CHECK(!left_of(victim));
      continue;
    }
    CHECK(x.begin >= 0 && x.begin < x.end && x.end - x.begin <= most && x.end <= ALL);
    unsigned mine = grains_of(x.begin, x.end);
    CHECK(!(taken & mine));
    orders(copy, taken | mine);
  }
}

static void check_orders(void) {
  static worker all[2];
  atomic_store(&all[0].range, range_of(0, FIRST));
  atomic_store(&all[1].range, range_of(FIRST, ALL));
  orders(all, 0);
}

// ---- Instances -------------------------------------------------------------------------------------------------

static int run(const tapc_program *program, const void *const *in, void *const *out, void *arena, tapc_pool *pool) {
  (void)program, (void)in, (void)arena;
  tapc_parallel(pool, MOST, 1000000, mark, out[0]);
  return 0;
}

static const tapc_program program = {"p", "{}", NULL, 0, 0, NULL, NULL, 0, NULL, 64, 0, 0, 0, 0, .run = run};

static void *call_often(void *arg) {
  record *r = calloc(1, sizeof *r);
  void *out[] = {r};
  char error[64];
  CHECK(r);
  for (int i = 0; i < 50; i++) CHECK(tapc_instance_run(arg, NULL, out, error, sizeof error) == TAPC_OK);
  for (int i = 0; i < MOST; i++) CHECK(r->hits[i] == 50);
  free(r);
  return NULL;
}

// Several host threads run two instances, as a server would.
static void share_instances(void) {
  char error[64];
  tapc_instance *instances[2];
  for (int i = 0; i < 2; i++) CHECK((instances[i] = tapc_instance_create(&program, 3, error, sizeof error)));
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK(!pthread_create(&threads[i], NULL, call_often, instances[i % 2]));
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 2; i++) tapc_instance_destroy(instances[i]);
  CHECK(!tapc_instance_create(&program, 5000, error, sizeof error));
  CHECK(error[0]);
}

// A process that is forked off has no workers; its instance still runs, and ends.
static void fork_off(void) {
  char error[64];
  tapc_instance *instance = tapc_instance_create(&program, 4, error, sizeof error);
  CHECK(instance);
  for (int i = 0; i < 20; i++) { // workers are in different places then: about to fall asleep, asleep, waking up
    call_often(instance);
    nap(5 * i);
    pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
      call_often(instance);
      tapc_instance_destroy(instance);
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
  }
  call_often(instance);
  tapc_instance_destroy(instance);
}

int main(void) {
  check_indices();
  check_orders();
  for (int threads = 1; threads <= 5; threads++) exercise(threads);
  exercise(40);
  for (int place = 0; place <= 6; place++) {
    stress(2, place);
    stress(5, place);
  }
  share_instances();
  fork_off();
  puts("ok");
  return 0;
}
