// A program with its threads and memory; the library interface.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct tapc_instance {
  const tapc_program *program;
  tapc_pool *pool;
  void *arena;
  pthread_mutex_t lock; // one run at a time
};

void (*tapc_step_done)(int step);

static _Thread_local const char *rejection; // what the run on this thread said

int tapc_reject(const char *text) {
  rejection = text;
  return TAPC_INPUT;
}

static tapc_instance *give_up(tapc_instance *instance) {
  tapc_instance_destroy(instance);
  return NULL;
}

tapc_instance *tapc_instance_new(const tapc_program *program, int threads, int own, tapc_fault *fault) {
  tapc_instance *instance = calloc(1, sizeof *instance);
  if (!instance) {
    tapc_no_memory(fault, sizeof *instance, "an instance");
    return NULL;
  }
  instance->program = program;
  pthread_mutex_init(&instance->lock, NULL);
  if (threads == 0) threads = tapc_default_threads();
  if (threads < 0 || threads > TAPC_MAX_THREADS) {
    tapc_fail(fault, TAPC_USAGE, "threads: expected 1 to %d, found %d", TAPC_MAX_THREADS, threads);
    return give_up(instance);
  }
  uint64_t others = (uint64_t)threads - 1, arena = program->arena_bytes + others * program->share_bytes;
  if (!own && tapc_memory_check(program->arena_bytes + program->constants_bytes + others * program->thread_bytes,
                                arena + others * TAPC_STACK, fault))
    return give_up(instance);
  if (arena && !(instance->arena = tapc_alloc(arena))) {
    tapc_no_memory(fault, arena, "intermediate values");
    return give_up(instance);
  }
  instance->pool = tapc_pool_new(threads, own, fault);
  return instance->pool ? instance : give_up(instance);
}

int tapc_instance_call(tapc_instance *instance, const void *const *in, void *const *out, tapc_fault *fault) {
  pthread_mutex_lock(&instance->lock);
  rejection = NULL;
  tapc_pool_begin(instance->pool);
  int result = instance->program->run(instance->program, in, out, instance->arena, instance->pool);
  tapc_pool_end(instance->pool);
  const char *text = rejection;
  pthread_mutex_unlock(&instance->lock);
  if (!result) return 0;
  if (text) return tapc_fail(fault, TAPC_INPUT, "%s", text);
  return tapc_fail(fault, TAPC_INTERNAL, "the program failed with code %d", result);
}

int tapc_instance_threads(const tapc_instance *instance) { return tapc_threads(instance->pool); }

static void hand_out(const tapc_fault *fault, char *error, size_t error_bytes) {
  if (error_bytes) snprintf(error, error_bytes, "%s", fault->text);
}

tapc_instance *tapc_instance_create(const tapc_program *program, int threads, char *error, size_t error_bytes) {
  tapc_fault fault = {.status = 0};
  tapc_instance *instance = tapc_instance_new(program, threads, 0, &fault);
  hand_out(&fault, error, error_bytes);
  return instance;
}

int tapc_instance_run(tapc_instance *instance, const void *const *inputs, void *const *outputs, char *error,
                      size_t error_bytes) {
  tapc_fault fault = {.status = 0};
  int status = tapc_instance_call(instance, inputs, outputs, &fault);
  hand_out(&fault, error, error_bytes);
  return status;
}

void tapc_instance_destroy(tapc_instance *instance) {
  if (!instance) return;
  tapc_pool_free(instance->pool);
  tapc_free(instance->arena);
  pthread_mutex_destroy(&instance->lock);
  free(instance);
}
