// How threads wait: spinning, and asleep until a number changes.
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

void tapc_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

int64_t tapc_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#if defined(__linux__) && !defined(TAPC_NO_FUTEX)
#include <linux/futex.h>
#include <sys/syscall.h>

void tapc_park(atomic_uint *word, unsigned value) { syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0); }

void tapc_unpark(atomic_uint *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0); }

#else // any POSIX system: one lock for all words; sleepers check their own

static pthread_mutex_t park_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t park_change = PTHREAD_COND_INITIALIZER;
static pthread_once_t park_once = PTHREAD_ONCE_INIT;

// A process that was forked off has none of the threads that hold the lock or wait for a change: it gets the lock from the thread that
// forks, and a condition for which nobody waits.
static void before_fork(void) { pthread_mutex_lock(&park_lock); }

static void in_parent(void) { pthread_mutex_unlock(&park_lock); }

static void in_child(void) {
  park_change = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  pthread_mutex_unlock(&park_lock);
}

static void keep_over_forks(void) { pthread_atfork(before_fork, in_parent, in_child); }

static void lock(void) {
  pthread_once(&park_once, keep_over_forks);
  pthread_mutex_lock(&park_lock);
}

void tapc_park(atomic_uint *word, unsigned value) {
  lock();
  if (atomic_load(word) == value) pthread_cond_wait(&park_change, &park_lock);
  pthread_mutex_unlock(&park_lock);
}

void tapc_unpark(atomic_uint *word) {
  (void)word;
  lock();
  pthread_cond_broadcast(&park_change);
  pthread_mutex_unlock(&park_lock);
}

#endif
