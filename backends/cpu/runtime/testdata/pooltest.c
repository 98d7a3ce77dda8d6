// Exercises the thread pool; prints "ok" or what went wrong. Built under the thread sanitizer.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "internal.h"

#define CHECK(condition)                                                                                               \
  if (!(condition)) {                                                                                                  \
    printf("line %d: not so: %s\n", __LINE__, #condition);                                                             \
    exit(1);                                                                                                           \
  }

enum { MOST = 1000 };

typedef struct record {
  tapc_pool *pool;
  int hits[MOST];    // how often each index was done: plain, so that a race is seen
  int worker[MOST];  // by whom
  int rounds[TAPC_MAX_THREADS];
  int sum;
} record;

static void mark(void *ctx, int64_t begin, int64_t end, int worker) {
  record *r = ctx;
  for (int64_t i = begin; i < end; i++) {
    r->hits[i]++;
    r->worker[i] = worker;
  }
}

static void check_cut(tapc_pool *pool, int threads, int n) {
  static record r;
  for (int i = 0; i < MOST; i++) r.hits[i] = 0;
  tapc_parallel(pool, n, mark, &r);
  int shares = n < threads ? n : threads, at = 0;
  for (int w = 0; w < shares; w++)
    for (int i = 0; i < n / shares + (w < n % shares); i++, at++) {
      CHECK(r.hits[at] == 1);
      CHECK(r.worker[at] == w);
    }
  CHECK(at == n);
  CHECK(n == MOST || r.hits[n] == 0);
}

// Each worker writes its round, waits, and reads all others': wrong unless the barrier holds everyone.
static void rounds(void *ctx, int64_t begin, int64_t end, int worker) {
  record *r = ctx;
  CHECK(end == begin + 1);
  for (int round = 1; round <= 50; round++) {
    r->rounds[worker] = round;
    tapc_barrier(r->pool);
    for (int w = 0; w < tapc_threads(r->pool); w++) CHECK(r->rounds[w] == round);
    tapc_barrier(r->pool);
  }
}

static void inner(void *ctx, int64_t begin, int64_t end, int worker) {
  int *out = ctx;
  tapc_barrier(NULL); // nobody to wait for
  for (int64_t i = begin; i < end; i++) out[i] = worker;
}

// A region inside a region runs inline, on its worker.
static void outer(void *ctx, int64_t begin, int64_t end, int worker) {
  record *r = ctx;
  for (int64_t i = begin; i < end; i++) {
    int seen[5];
    tapc_parallel(r->pool, 5, inner, seen);
    for (int k = 0; k < 5; k++) CHECK(seen[k] == worker);
    r->hits[i] = 1;
  }
}

static void nap(long microseconds) {
  struct timespec t = {0, microseconds * 1000};
  nanosleep(&t, NULL);
}

static void exercise(int threads, int pin) {
  tapc_fault fault = {.status = 0};
  tapc_pool *pool = tapc_pool_new(threads, pin, &fault);
  CHECK(pool && tapc_threads(pool) == threads);
  for (int n = 0; n <= 40; n++) check_cut(pool, threads, n);
  check_cut(pool, threads, MOST);
  for (int i = 0; i < 20; i++) { // let the workers fall asleep, at different moments
    nap(10 * i);
    check_cut(pool, threads, threads);
  }
  for (int i = 0; i < 20; i++) {
    tapc_pool_begin(pool);
    check_cut(pool, threads, 17);
    nap(i % 4 * 100);
    check_cut(pool, threads, threads);
    tapc_pool_end(pool);
  }
  static record r;
  r.pool = pool;
  for (int w = 0; w < threads; w++) r.rounds[w] = 0;
  if (threads > 1) tapc_parallel(pool, threads, rounds, &r);
  tapc_parallel(pool, 9, outer, &r);
  tapc_pool_free(pool);
}

static int run(const tapc_program *program, const void *const *in, void *const *out, void *arena, tapc_pool *pool) {
  (void)program, (void)in, (void)arena;
  tapc_parallel(pool, MOST, mark, out[0]);
  return 0;
}

static const tapc_program program = {"p", "{}", NULL, 0, 0, NULL, NULL, 0, NULL, 64, 0, 0, 0, 0, run};

static void *call_often(void *arg) {
  static _Thread_local record r;
  void *out[] = {&r};
  char error[64];
  for (int i = 0; i < 50; i++) CHECK(tapc_instance_run(arg, NULL, out, error, sizeof error) == TAPC_OK);
  for (int i = 0; i < MOST; i++) CHECK(r.hits[i] == 50);
  return NULL;
}

// Several host threads run one instance, as a server would.
static void share_instance(void) {
  char error[64];
  tapc_instance *instance = tapc_instance_create(&program, 3, error, sizeof error);
  CHECK(instance);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK(!pthread_create(&threads[i], NULL, call_often, instance));
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  tapc_instance_destroy(instance);
  CHECK(!tapc_instance_create(&program, 5000, error, sizeof error));
  CHECK(error[0]);
}

int main(void) {
  for (int threads = 1; threads <= 5; threads++) exercise(threads, threads % 2);
  share_instance();
  puts("ok");
  return 0;
}
