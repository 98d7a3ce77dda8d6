// The thread pool: workers that persist, and take pieces of a region when they come.
//
// A region's indices are cut into grains, and each thread has a range of them, the same in every region of as many grains: what it
// wrote in one is in its cache in the next. It takes pieces from the front of its range, half of what is left at a time, and then from the
// back of others'. The caller takes part, and waits for pieces that somebody holds, never for a thread that has not begun: one that
// another program keeps from its processor costs at most the piece that it holds.
//
// A range is one word, and taking is one compare and swap. It is empty from when its last grain was taken until the next region has
// been described, and a region ends when all grains are done. So whoever succeeds in taking has a piece of the present region, whichever
// it came for, and what describes that stays until the piece is reported.
//
// Sleeping and waking cost time, and so does spinning, for whoever else could have the processor. A worker spins for about as long as
// waking it takes. The caller wakes a sleeping one when what it would have done of regions, had it been awake, adds up to the
// price of calling it: the time that it last took to come, and more for one that others had to wait for, since it shares its processor.
// Such a worker does not spin. A price falls with each call, so that one is tried again when there is much to do.
//
// Nothing here allocates or, while workers spin, enters the kernel.
//
// With TAPC_POOL=eager in the environment, for tests, every region is cut as finely as can be and waits a moment for all workers; with TAPC_POOL=even no thread takes
// pieces of another's range besides, so that each thread that can have a part of a region has one.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#ifndef TAPC_POOL_PAUSE // what a test does at places where another thread may come first
#define TAPC_POOL_PAUSE(place) ((void)0)
#endif

enum { LINE = 128, CHECK = 16, GRAINS = 32 }; // CHECK: pauses between looks at the clock; GRAINS: for each thread at most

// Times in nanoseconds.
enum {
  ALONE_NS = 2000,       // a region of less work is the caller's: telling others takes a part of that
  GRAIN_NS = 1000,       // the least work of a grain
  LEAST_NS = 10000,      // the least work of a piece, as far as there is as much
  PIECE_NS = 200000,     // the most work of a piece, as far as one index has less
  SPIN_NS = 50000,       // how long to spin
  SPIN_MOST_NS = 200000, // for a piece that somebody is at
  PRICE_NS = 50000,      // of calling a worker, at least: what waking takes
  PRICE_MOST_NS = 20000000,
  EAGER_NS = 20000, // the moment
};

// What the present region is. It is read while a piece is held, and changes when none is.
typedef struct region {
  _Atomic(tapc_task) task;
  _Atomic(void *) ctx;
  atomic_llong n;
  atomic_int grains, least, most; // and of a piece
} region;

typedef struct worker {
  _Alignas(LINE) atomic_uint range; // of grains that nobody has taken: see range_of
  _Alignas(LINE) atomic_uint asleep;
  atomic_int spins;  // whether it is worth it
  atomic_int holds;  // a piece
  atomic_llong came; // when it last woke up
  tapc_pool *pool;
  pthread_t thread;
  int index;
  int64_t price, owed, called; // the caller's: the time when it last called this one, or 0
  int wanted, late;            // the caller's: to be called, and waited for
} worker;

struct tapc_pool {
  _Alignas(LINE) atomic_uint number; // of the present region: workers wait for a change
  atomic_int quit;
  region region;
  _Alignas(LINE) atomic_uint done; // grains
  atomic_int caller_sleeps;
  int threads, started, spin, eager, even;
  pid_t process;
  worker *workers;       // the first is the caller
  tapc_devices *devices; // that it is a part of; NULL for a pool by itself
  int group;             // its number among the groups of these
};

static _Thread_local struct here { // what the current thread is doing: in a region or not, as which worker
  int inside, worker;
} here;

// Spins until a number is (or is not) some value: 1, or so many nanoseconds are over: 0.
static int spin_until(atomic_uint *at, int is, unsigned value, int64_t patience) {
  for (int64_t begin = 0, now;; tapc_pause()) {
    for (int i = 0; i < CHECK; i++, tapc_pause())
      if ((atomic_load_explicit(at, memory_order_acquire) == value) == is) return 1;
    now = tapc_now_ns();
    if (!begin) begin = now;
    if (now - begin >= patience) return 0;
  }
}

// ---- Taking pieces -------------------------------------------------------------------------------------------

typedef struct piece {
  int begin, end;
} piece;

// Grains begin..end-1 of a region; both fit 16 bits for as many threads as there may be.
static unsigned range_of(int begin, int end) { return (unsigned)begin << 16 | (unsigned)end; }

// Takes a piece of a range, from its front or its back: 1, or there is none: 0. It is half of what is left, within bounds.
static int take(worker *from, int front, int least, int most, piece *out) {
  unsigned old = atomic_load_explicit(&from->range, memory_order_acquire);
  for (;;) {
    int begin = (int)(old >> 16), end = (int)(old & 0xffff), left = end - begin, some = (left + 1) / 2;
    if (!left) return 0;
    if (some < least) some = least < left ? least : left;
    if (some > most) some = most;
    *out = front ? (piece){begin, begin + some} : (piece){end - some, end};
    TAPC_POOL_PAUSE(1);
    if (atomic_compare_exchange_weak(&from->range, &old, front ? range_of(out->end, end) : range_of(begin, out->begin))) return 1;
  }
}

// Grain g of some begins at this index.
static int64_t index_of(int64_t n, int g, int grains) { return n / grains * g + n % grains * g / grains; }

static void run_piece(region *r, piece x, int self, int threads) {
  int64_t n = atomic_load_explicit(&r->n, memory_order_relaxed);
  if (n <= threads) self = x.begin; // no other piece begins there: as many workers have memory of their own as there are tasks
  int grains = atomic_load_explicit(&r->grains, memory_order_relaxed);
  tapc_task task = atomic_load_explicit(&r->task, memory_order_relaxed);
  here = (struct here){1, self};
  task(atomic_load_explicit(&r->ctx, memory_order_relaxed), index_of(n, x.begin, grains), index_of(n, x.end, grains), self);
  here = (struct here){0, 0};
}

// Takes part in the present region until no piece is left.
static void take_part(worker *self) {
  tapc_pool *p = self->pool;
  unsigned done = 0;
  int least = atomic_load_explicit(&p->region.least, memory_order_relaxed), most = atomic_load_explicit(&p->region.most, memory_order_relaxed);
  for (int i = 0; i < (p->even ? 1 : p->threads); i++) {
    worker *from = &p->workers[(self->index + i) % p->threads];
    for (piece x; take(from, !i, least, most, &x); done += (unsigned)(x.end - x.begin)) {
      atomic_store_explicit(&self->holds, 1, memory_order_relaxed);
      TAPC_POOL_PAUSE(2);
      run_piece(&p->region, x, self->index, p->threads);
    }
  }
  if (!done) return;
  unsigned all = (unsigned)atomic_load_explicit(&p->region.grains, memory_order_relaxed);
  atomic_store_explicit(&self->holds, 0, memory_order_relaxed);
  TAPC_POOL_PAUSE(3);
  if (atomic_fetch_add(&p->done, done) + done == all && atomic_load(&p->caller_sleeps)) tapc_unpark(&p->done);
}

// ---- Workers -------------------------------------------------------------------------------------------------

// Waits for a region after one. "Say that I sleep, look again" here and "open, look who sleeps" there are sequentially consistent, so
// that no call is lost.
static unsigned next_region(worker *self, unsigned last) {
  tapc_pool *p = self->pool;
  if (atomic_load_explicit(&self->spins, memory_order_relaxed) && spin_until(&p->number, 0, last, SPIN_NS)) return atomic_load(&p->number);
  atomic_store(&self->asleep, 1);
  TAPC_POOL_PAUSE(4);
  if (atomic_load(&p->number) == last)
    while (atomic_load(&self->asleep)) tapc_park(&self->asleep, 1);
  else atomic_store(&self->asleep, 0);
  atomic_store_explicit(&self->came, tapc_now_ns(), memory_order_relaxed);
  return atomic_load(&p->number);
}

static void *work(void *arg) {
  worker *self = arg;
  tapc_pool *p = self->pool;
  for (unsigned number = 0; !atomic_load(&p->quit);) {
    number = next_region(self, number);
    TAPC_POOL_PAUSE(5);
    take_part(self);
  }
  return NULL;
}

static int64_t within(int64_t x, int64_t least, int64_t most) { return x < least ? least : x > most ? most : x; }

static void set_price(worker *w, int64_t price) {
  w->price = within(price, PRICE_NS, PRICE_MOST_NS);
  atomic_store_explicit(&w->spins, w->pool->spin && w->price <= SPIN_MOST_NS, memory_order_relaxed);
}

// Whether anybody but the caller is to take part in a region of so much work. Marks those who have to be woken for it.
static int gather(tapc_pool *p, int64_t work) {
  int found = 0;
  if (work < ALONE_NS) return 0;
  for (int i = 1; i < p->threads; i++) {
    worker *w = &p->workers[i];
    w->wanted = 0;
    if (atomic_load_explicit(&w->asleep, memory_order_relaxed)) {
      w->owed += work / p->threads;
      w->wanted = w->owed >= w->price;
    }
    found |= w->wanted || !atomic_load_explicit(&w->asleep, memory_order_relaxed);
  }
  return found;
}

static void call(worker *w) {
  w->owed = 0;
  int64_t came = atomic_load_explicit(&w->came, memory_order_relaxed);
  if (!atomic_exchange(&w->asleep, 0)) return;
  if (w->called) set_price(w, came - w->called > w->price / 4 ? came - w->called : w->price / 4);
  w->called = tapc_now_ns();
  tapc_unpark(&w->asleep);
}

// ---- Regions -------------------------------------------------------------------------------------------------

// Opens a region of some grains of so much work.
static void open_region(tapc_pool *p, int64_t n, int grains, int64_t grain, tapc_task task, void *ctx) {
  region *r = &p->region;
  atomic_store_explicit(&r->task, task, memory_order_relaxed);
  atomic_store_explicit(&r->ctx, ctx, memory_order_relaxed);
  atomic_store_explicit(&r->n, n, memory_order_relaxed);
  atomic_store_explicit(&r->grains, grains, memory_order_relaxed);
  atomic_store_explicit(&r->least, (int)within(LEAST_NS / (grain + 1), 1, grains), memory_order_relaxed);
  atomic_store_explicit(&r->most, (int)within(PIECE_NS / (grain + 1), 1, grains), memory_order_relaxed);
  atomic_store_explicit(&p->done, 0, memory_order_relaxed);
  for (int i = 0; i < p->threads; i++) {
    int begin = (int)((int64_t)grains * i / p->threads), end = (int)((int64_t)grains * (i + 1) / p->threads);
    atomic_store_explicit(&p->workers[i].range, range_of(begin, end), memory_order_release);
    TAPC_POOL_PAUSE(6);
  }
  atomic_fetch_add(&p->number, 1);
}

// Waits for the pieces that others hold, and raises the price of those who are late.
static void await_pieces(tapc_pool *p, unsigned grains, int64_t patience) {
  if (spin_until(&p->done, 1, grains, p->spin ? patience : 0)) return;
  int64_t begin = tapc_now_ns();
  for (int i = 1; i < p->threads; i++) p->workers[i].late = atomic_load_explicit(&p->workers[i].holds, memory_order_relaxed);
  atomic_store(&p->caller_sleeps, 1);
  for (unsigned done; (done = atomic_load(&p->done)) != grains;) tapc_park(&p->done, done);
  atomic_store(&p->caller_sleeps, 0);
  int64_t late = tapc_now_ns() - begin;
  for (int i = 1; i < p->threads && late > SPIN_NS; i++)
    if (p->workers[i].late) set_price(&p->workers[i], 2 * p->workers[i].price + late);
}

static void run_alone(int64_t n, tapc_task task, void *ctx) {
  struct here outer = here;
  here.inside = 1;
  task(ctx, 0, n, outer.worker);
  here = outer;
}

void tapc_parallel(tapc_pool *p, int64_t n, int64_t each, tapc_task task, void *ctx) {
  if (n <= 0) return;
  int64_t work = ((p && p->eager) || each > INT64_MAX / n ? INT64_MAX : n * each) / 1000;
  if (here.inside || !p || p->threads == 1 || n == 1 || !gather(p, work)) {
    run_alone(n, task, ctx);
    return;
  }
  int64_t grains = within(work / GRAIN_NS, p->threads, (int64_t)GRAINS * p->threads);
  if (grains > n) grains = n;
  int64_t grain = work / grains;
  open_region(p, n, (int)grains, grain, task, ctx);
  for (int i = 1; i < p->threads; i++)
    if (p->workers[i].wanted || p->even) call(&p->workers[i]); // nobody else takes what belongs to one that fell asleep after gather
  if (p->eager) nanosleep(&(struct timespec){0, EAGER_NS}, NULL);
  take_part(&p->workers[0]);
  await_pieces(p, (unsigned)grains, within(grain, SPIN_NS, SPIN_MOST_NS));
}

int tapc_threads(const tapc_pool *p) { return p ? p->threads : 1; }

void tapc_pool_join(tapc_pool *p, tapc_devices *devices, int group, int spin) {
  p->devices = devices;
  p->group = group;
  p->spin = spin;
  for (int i = 0; i < p->threads; i++) set_price(&p->workers[i], PRICE_NS);
}

int tapc_pool_bind(tapc_pool *p, const int *cpus) {
  int error = 0;
  for (int i = 1; i < p->threads && !error; i++) error = tapc_bind_thread(p->workers[i].thread, cpus[i]);
  return error;
}

tapc_devices *tapc_pool_devices(const tapc_pool *p) { return p ? p->devices : NULL; }

int tapc_group(const tapc_pool *p) { return p ? p->group : 0; }

// ---- Beginning and end ---------------------------------------------------------------------------------------

// What is blocked in threads: all signals but those that a fault of their own raises. Who has handlers gets them in threads of its own.
static void signals_of_others(sigset_t *set) {
  const int own[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
  sigfillset(set);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(set, own[i]);
}

// The stacks have the same size whatever the limits of the process are.
int tapc_thread_start(pthread_t *thread, void *(*work_of)(void *), void *arg) {
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error) return error;
  pthread_attr_setstacksize(&attributes, TAPC_STACK);
  sigset_t blocked, before;
  signals_of_others(&blocked);
  pthread_sigmask(SIG_BLOCK, &blocked, &before); // which new threads inherit
  error = pthread_create(thread, &attributes, work_of, arg);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return error;
}

static int start(tapc_pool *p, tapc_fault *fault) {
  for (int i = 1; i < p->threads; i++) {
    int error = tapc_thread_start(&p->workers[i].thread, work, &p->workers[i]);
    if (error) return tapc_fail(fault, TAPC_INTERNAL, "cannot start thread %d of %d: %s", i + 1, p->threads, strerror(error));
    p->started++;
  }
  return 0;
}

static void *aligned(size_t bytes) {
  void *memory = NULL;
  if (posix_memalign(&memory, LINE, bytes)) return NULL;
  return memset(memory, 0, bytes);
}

tapc_pool *tapc_pool_new(int threads, tapc_fault *fault) {
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
  p->process = getpid();
  const char *wish = getenv("TAPC_POOL");
  p->even = wish && !strcmp(wish, "even");
  p->eager = p->even || (wish && !strcmp(wish, "eager"));
  for (int i = 0; i < threads; i++) {
    p->workers[i].pool = p;
    p->workers[i].index = i;
    set_price(&p->workers[i], PRICE_NS);
  }
  if (start(p, fault)) {
    tapc_pool_free(p);
    return NULL;
  }
  return p;
}

void tapc_pool_free(tapc_pool *p) {
  if (!p) return;
  atomic_store(&p->quit, 1);
  atomic_fetch_add(&p->number, 1);
  for (int i = 1; i <= p->started && p->process == getpid(); i++) { // a process that was forked off has no workers
    if (atomic_exchange(&p->workers[i].asleep, 0)) tapc_unpark(&p->workers[i].asleep);
    pthread_join(p->workers[i].thread, NULL);
  }
  free(p->workers);
  free(p);
}
