// A program that uses the library of a graph as its header says, from many threads, and wrongly.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "use.h"

enum { ROWS = 40, COLUMNS = 33, THREADS = 6, INSTANCES = 3, RUNS = 8 };

static float x[ROWS * COLUMNS], want[ROWS * COLUMNS], sums[ROWS];

static void fail(const char *what, const char *text) {
  fprintf(stderr, "%s: %s\n", what, text);
  exit(1);
}

static tapc_instance *create(int threads) {
  char error[200];
  tapc_instance *instance = use_create(threads, error, sizeof error);
  if (!instance) fail("create", error);
  if (error[0]) fail("create gives an instance and says", error);
  return instance;
}

static void run(tapc_instance *instance) {
  char error[200];
  float y[ROWS * COLUMNS], s[ROWS];
  const void *in[] = {x};
  void *out[] = {y, s};
  memset(y, 0xff, sizeof y);
  memset(s, 0xff, sizeof s);
  if (use_run(instance, in, out, error, sizeof error)) fail("run", error);
  if (memcmp(y, want, sizeof y) || memcmp(s, sums, sizeof s)) fail("run", "the values differ from those of one thread");
}

static void *alone(void *number) {
  for (int i = 0; i < INSTANCES; i++) {
    tapc_instance *instance = create((int)(intptr_t)number % 4);
    for (int j = 0; j < RUNS; j++) run(instance);
    use_destroy(instance);
  }
  return NULL;
}

static void *together(void *instance) {
  for (int j = 0; j < RUNS; j++) run(instance);
  if (!strstr(use_describe(), "\"inputs\"")) fail("describe", use_describe());
  return NULL;
}

static void everyone(void *(*work)(void *), void *instance) {
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, work, instance ? instance : (void *)i)) fail("pthread_create", "no thread");
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static void refused(tapc_instance *instance, const void *const *in, void *const *out) {
  char error[200] = "";
  int status = use_run(instance, in, out, error, sizeof error);
  printf("%d %s\n", status, error);
  if (use_run(instance, in, out, NULL, 0) != status || use_run(instance, in, out, NULL, 9) != status)
    fail("run", "another status without a place for the text");
}

// A signal to the process stays with the threads of the program, here blocked, and goes to none of an instance.
static void signals(void) {
  sigset_t one, pending;
  tapc_instance *instance = create(3);
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &one, NULL);
  for (int i = 0; i < 20; i++) {
    int number;
    kill(getpid(), SIGUSR1);
    if (sigpending(&pending) || !sigismember(&pending, SIGUSR1) || sigwait(&one, &number)) fail("signals", "it is not pending");
    run(instance);
  }
  use_destroy(instance);
}

static void misuse(void) {
  char error[8] = "before";
  int counts[] = {-1, INT32_MIN, 100000, INT32_MAX};
  for (int i = 0; i < 4; i++)
    if (use_create(counts[i], error, sizeof error)) fail("create", "made with a wrong number of threads");
  printf("%s\n", error);
  if (use_create(-1, NULL, 0) || use_create(-1, NULL, 5) || use_create(-1, error, 1) || error[0]) fail("create", error);
  use_destroy(NULL);

  tapc_instance *instance = create(2);
  float y[ROWS * COLUMNS + 1], s[ROWS];
  const void *in[] = {x}, *nothing[] = {NULL}, *odd[] = {(char *)y + 1};
  void *out[] = {y, s}, *one[] = {NULL, s}, *same[] = {x, s}, *inside[] = {y, y + ROWS}, *half[] = {y, (char *)s + 2};
  refused(NULL, in, out);
  refused(instance, NULL, out);
  refused(instance, in, NULL);
  refused(instance, nothing, out);
  refused(instance, in, one);
  refused(instance, odd, out);
  refused(instance, in, half);
  refused(instance, in, same);
  refused(instance, in, inside);
  char text[200];
  void *behind[] = {y, y + ROWS * COLUMNS - ROWS}; // ends where the other one does; then begins where it ends
  refused(instance, in, behind);
  float both[ROWS * COLUMNS + ROWS];
  void *apart[] = {both, both + ROWS * COLUMNS};
  if (use_run(instance, in, apart, text, sizeof text)) fail("run", text);
  run(instance);
  use_destroy(instance);
}

int main(void) {
  for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)(i % 101) / 7 - 5;
  tapc_instance *instance = create(1);
  char error[200];
  const void *in[] = {x};
  void *out[] = {want, sums};
  if (use_run(instance, in, out, error, sizeof error)) fail("run", error);
  use_destroy(instance);
  everyone(alone, NULL);
  instance = create(3);
  everyone(together, instance);
  use_destroy(instance);
  signals();
  misuse();
  puts("done");
  return 0;
}
