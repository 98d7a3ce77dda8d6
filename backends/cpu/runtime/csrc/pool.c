// The thread pool: workers that persist, spin for a while after each region and then sleep.
//
// A spinning worker picks a region up in well under a microsecond; waking a sleeping one costs tens. So workers spin through
// a whole run (tapc_pool_begin to _end) and for 50 us after each region outside one. Nothing on the path of a region
// allocates or, while workers spin, enters the kernel. Where there are more threads than processors spinning only takes time from
// the thread that is waited for, and everybody sleeps at once.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#if defined(__linux__) && !defined(TAPC_NO_FUTEX)
#include <linux/futex.h>
#include <sys/syscall.h>

static void sleep_while(atomic_uint *word, unsigned value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake_all(atomic_uint *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 0x7fffffff, NULL, NULL, 0); }

#else // any POSIX system: one lock for all words; sleepers check their own

static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sleep_change = PTHREAD_COND_INITIALIZER;

static void sleep_while(atomic_uint *word, unsigned value) {
  pthread_mutex_lock(&sleep_lock);
  if (atomic_load(word) == value) pthread_cond_wait(&sleep_change, &sleep_lock);
  pthread_mutex_unlock(&sleep_lock);
}

static void wake_all(atomic_uint *word) {
  (void)word;
  pthread_mutex_lock(&sleep_lock);
  pthread_cond_broadcast(&sleep_change);
  pthread_mutex_unlock(&sleep_lock);
}

#endif

enum { LINE = 128, SPIN_NS = 50000, SPIN_RUN_NS = 2000000, CHECK = 32 }; // CHECK: pauses between looks at the clock

// A number that threads wait for to change. Whoever changes it wakes those who sleep on it.
typedef struct gate {
  _Alignas(LINE) atomic_uint value;
  atomic_int sleepers;
} gate;

typedef struct worker {
  gate done; // the last region that it finished
  tapc_pool *pool;
  pthread_t thread;
  int index, cpu;
} worker;

struct tapc_pool {
  gate region; // counts regions; a change starts one
  gate barrier;
  _Alignas(LINE) atomic_int arrived; // at the barrier
  _Alignas(LINE) atomic_int running; // inside a run: spin longer
  tapc_task task; // the region, written before its number changes
  void *ctx;
  int64_t n;
  int shares, quit;
  int threads, started, spin;
  worker *workers; // threads - 1 of them; worker 0 is the caller
};

// What the current thread is doing: in a region or not, as which worker, among how many.
static _Thread_local struct here {
  int inside, worker, shares;
} here;

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// Spins until the gate has left old: 1, or the pool's patience is over: 0.
static int spin(tapc_pool *p, gate *g, unsigned old) {
  int64_t begin = 0;
  for (;;) {
    for (int i = 0; i < CHECK; i++) {
      if (atomic_load_explicit(&g->value, memory_order_acquire) != old) return 1;
      if (!p->spin) return 0;
      pause_briefly();
    }
    int64_t now = now_ns(), patience = atomic_load_explicit(&p->running, memory_order_relaxed) ? SPIN_RUN_NS : SPIN_NS;
    if (!begin) begin = now;
    if (now - begin > patience) return 0;
  }
}

// Waits until the gate has left old. The order "say that I sleep, look again" against "change, look for sleepers" (all
// sequentially consistent) makes sure that no wake is lost.
static void await(tapc_pool *p, gate *g, unsigned old) {
  while (!spin(p, g, old)) {
    atomic_fetch_add(&g->sleepers, 1);
    if (atomic_load(&g->value) == old) sleep_while(&g->value, old);
    atomic_fetch_sub(&g->sleepers, 1);
  }
}

static void advance(gate *g, unsigned value) {
  atomic_store(&g->value, value);
  if (atomic_load(&g->sleepers)) wake_all(&g->value);
}

// Share w of the region: the first n % shares of them get one index more.
static void run_share(tapc_pool *p, int w) {
  if (w >= p->shares) return;
  int64_t each = p->n / p->shares, more = p->n % p->shares;
  int64_t begin = w * each + (w < more ? w : more), end = begin + each + (w < more);
  here = (struct here){1, w, p->shares};
  p->task(p->ctx, begin, end, w);
  here = (struct here){0, 0, 0};
}

static void *work(void *arg) {
  worker *self = arg;
  tapc_pool *p = self->pool;
  if (self->cpu >= 0) tapc_pin(self->cpu);
  for (unsigned seen = 0;;) {
    await(p, &p->region, seen);
    seen++; // the next region begins only when all workers have finished this one
    if (p->quit) return NULL;
    run_share(p, self->index);
    advance(&self->done, seen);
  }
}

void tapc_parallel(tapc_pool *p, int64_t n, tapc_task task, void *ctx) {
  if (n <= 0) return;
  if (here.inside || !p || p->threads == 1 || n == 1) {
    struct here outer = here;
    here.inside = 1;
    here.shares = 1;
    task(ctx, 0, n, outer.worker);
    here = outer;
    return;
  }
  p->task = task;
  p->ctx = ctx;
  p->n = n;
  p->shares = n < p->threads ? (int)n : p->threads;
  unsigned old = atomic_load_explicit(&p->region.value, memory_order_relaxed);
  advance(&p->region, old + 1);
  run_share(p, 0);
  for (int i = 0; i < p->threads - 1; i++) await(p, &p->workers[i].done, old);
}

void tapc_barrier(tapc_pool *p) {
  if (here.shares <= 1) return;
  unsigned phase = atomic_load(&p->barrier.value);
  if (atomic_fetch_add(&p->arrived, 1) + 1 < here.shares) {
    await(p, &p->barrier, phase);
    return;
  }
  atomic_store(&p->arrived, 0);
  advance(&p->barrier, phase + 1);
}

int tapc_threads(const tapc_pool *p) { return p ? p->threads : 1; }

void tapc_pool_begin(tapc_pool *p) {
  atomic_store(&p->running, 1);
  if (p->spin && atomic_load(&p->region.sleepers)) wake_all(&p->region.value); // they wake while the caller gets going
}

void tapc_pool_end(tapc_pool *p) { atomic_store(&p->running, 0); }

// Binds the caller and chooses a core for each worker: only when the pool takes every core, since otherwise
// two processes would crowd the same few.
static void place(tapc_pool *p, int cores, const int *cpus) {
  for (int i = 0; i < p->threads - 1; i++) p->workers[i].cpu = -1;
  if (p->threads < 2 || p->threads != cores) return;
  int first = 0;
#ifdef __linux__
  int mine = sched_getcpu();
  for (int i = 0; i < cores; i++)
    if (cpus[i] == mine) first = i;
#endif
  tapc_pin(cpus[first]);
  for (int i = 1; i < cores; i++) p->workers[i - 1].cpu = cpus[(first + i) % cores];
}

static int start_with(tapc_pool *p, const pthread_attr_t *attributes, tapc_fault *fault) {
  for (int i = 0; i < p->threads - 1; i++) {
    worker *w = &p->workers[i];
    w->pool = p;
    w->index = i + 1;
    int error = pthread_create(&w->thread, attributes, work, w);
    if (error) return tapc_fail(fault, TAPC_INTERNAL, "cannot start thread %d of %d: %s", i + 2, p->threads, strerror(error));
    p->started++;
  }
  return 0;
}

// The stacks have the same size whatever the limits of the process are.
static int start(tapc_pool *p, tapc_fault *fault) {
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error) return tapc_fail(fault, TAPC_INTERNAL, "cannot start threads: %s", strerror(error));
  pthread_attr_setstacksize(&attributes, TAPC_STACK);
  int status = start_with(p, &attributes, fault);
  pthread_attr_destroy(&attributes);
  return status;
}

static void *aligned(size_t bytes) {
  void *memory = NULL;
  if (posix_memalign(&memory, LINE, bytes)) return NULL;
  return memset(memory, 0, bytes);
}

tapc_pool *tapc_pool_new(int threads, int pin, tapc_fault *fault) {
  int cpus[TAPC_MAX_THREADS], cores = tapc_cores(cpus, TAPC_MAX_THREADS);
  tapc_pool *p = aligned(sizeof *p);
  size_t bytes = (size_t)threads * sizeof(worker);
  if (p) p->workers = aligned(bytes);
  if (!p || !p->workers) {
    free(p);
    tapc_no_memory(fault, bytes, "threads");
    return NULL;
  }
  p->threads = threads;
  p->spin = threads <= tapc_processors();
  place(p, pin ? cores : 0, cpus);
  if (start(p, fault)) {
    tapc_pool_free(p);
    return NULL;
  }
  return p;
}

void tapc_pool_free(tapc_pool *p) {
  if (!p) return;
  p->quit = 1;
  advance(&p->region, atomic_load(&p->region.value) + 1);
  for (int i = 0; i < p->started; i++) pthread_join(p->workers[i].thread, NULL);
  free(p->workers);
  free(p);
}
