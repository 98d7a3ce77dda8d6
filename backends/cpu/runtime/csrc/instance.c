// A program with its threads and memory; the library interface.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct tapc_instance {
  const tapc_program *program;
  tapc_devices *devices;
  void *arena;
  uint64_t arena_bytes;
  int poison;           // every run begins with poisoned memory
  pthread_mutex_t lock; // one run at a time
};

void (*tapc_step_done)(int step);

static _Thread_local const char *rejection; // what the run on this thread said

int tapc_reject(const char *text) {
  rejection = text;
  return TAPC_INPUT;
}

int tapc_reject_index(const char *name, int64_t index, int64_t place, int rank, const int64_t *shape, int64_t low, int64_t high) {
  static _Thread_local char text[512];
  char at[256] = "";
  int64_t below = 1; // elements for each step along a dimension
  for (int d = 1; d < rank; d++) below *= shape[d];
  for (int d = 0; d < rank; d++) {
    size_t used = strlen(at);
    snprintf(at + used, sizeof at - used, "%s%lld", d ? ", " : "", (long long)(place / below));
    place %= below;
    if (d + 1 < rank) below /= shape[d + 1];
  }
  snprintf(text, sizeof text, "%.180s: index %lld at [%s] is out of range: expected %lld to %lld", name, (long long)index, at, (long long)low, (long long)high - 1);
  return tapc_reject(text);
}

static tapc_instance *give_up(tapc_instance *instance) {
  tapc_instance_destroy(instance);
  return NULL;
}

uint64_t tapc_group_bytes(const tapc_program *program, int threads) { return (uint64_t)(tapc_group_count(program->n_devices, threads) - 1) * program->group_bytes; }

uint64_t tapc_workspace_bytes(const tapc_program *program, int threads) {
  uint64_t all = 0;
  for (int g = 0, groups = tapc_group_count(program->n_devices, threads); g < groups; g++) {
    uint64_t most = 0;
    for (int i = 0, own = threads / groups + (g < threads % groups); i < program->n_workspaces; i++) {
      const tapc_workspace *s = &program->workspaces[i];
      uint64_t bytes = (uint64_t)(own < s->tasks ? own : s->tasks) * s->bytes;
      if (bytes > most) most = bytes;
    }
    all += most;
  }
  return all > program->share_bytes ? all - program->share_bytes : 0;
}

uint64_t tapc_arena_bytes(const tapc_program *program, int threads) {
  uint64_t workspaces = program->n_devices > 1 ? (uint64_t)(threads - 1) * program->share_bytes : tapc_workspace_bytes(program, threads);
  return program->arena_bytes + tapc_group_bytes(program, threads) + workspaces;
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
  uint64_t others = (uint64_t)threads - 1, groups = tapc_group_bytes(program, threads);
  uint64_t arena = tapc_arena_bytes(program, threads), need = program->arena_bytes + groups + tapc_workspace_bytes(program, threads);
  if (!own && tapc_memory_check(need + program->constants_bytes + others * program->thread_bytes, arena + others * TAPC_STACK, fault)) return give_up(instance);
  if (program->weights && tapc_weights_map(program->weights, fault)) return give_up(instance);
  uint64_t first = program->n_devices > 1 ? program->arena_bytes + groups : arena; // that of devices has gaps, which no share of a thread may fill
  if (arena && !(instance->arena = tapc_alloc_first(arena, first))) {
    tapc_no_memory(fault, arena, "intermediate values");
    return give_up(instance);
  }
  instance->arena_bytes = arena;
  instance->poison = tapc_memory_wish("poison");
  instance->devices = tapc_devices_new(program->n_devices, threads, fault);
  return instance->devices ? instance : give_up(instance);
}

static void poison(const tapc_instance *instance, const tapc_program *program, void *const *out) {
  tapc_poison(instance->arena, instance->arena_bytes);
  for (int i = 0; i < program->n_outputs; i++)
    if (!program->outputs[i].over) tapc_poison(out[i], program->outputs[i].bytes);
}

// What the leaders of all groups are told of a run.
typedef struct present {
  const tapc_program *program;
  const void *const *in;
  void *const *out;
  void *arena;
} present;

static int run_group(void *ctx, tapc_pool *pool) {
  const present *p = ctx;
  tapc_done(-1);
  return p->program->run(p->program, p->in, p->out, p->arena, pool);
}

static int run_version(tapc_instance *instance, const tapc_program *program, const void *const *in, void *const *out, tapc_fault *fault) {
  pthread_mutex_lock(&instance->lock);
  rejection = NULL;
  if (instance->poison) poison(instance, program, out);
  present now = {program, in, out, instance->arena};
  int result = tapc_devices_call(instance->devices, run_group, &now);
  const char *text = rejection;
  pthread_mutex_unlock(&instance->lock);
  if (!result) return 0;
  if (text) return tapc_fail(fault, TAPC_INPUT, "%s", text);
  return tapc_fail(fault, TAPC_INTERNAL, "the program failed with code %d", result);
}

int tapc_instance_call(tapc_instance *instance, const void *const *in, void *const *out, tapc_fault *fault) { return run_version(instance, instance->program, in, out, fault); }

int tapc_instance_bind(tapc_instance *instance, int place, tapc_fault *fault) {
  pthread_mutex_lock(&instance->lock);
  int status = tapc_devices_bind(instance->devices, place, fault);
  pthread_mutex_unlock(&instance->lock);
  return status;
}

int tapc_instance_threads(const tapc_instance *instance) { return tapc_devices_threads(instance->devices); }

static void hand_out(const tapc_fault *fault, char *error, size_t error_bytes) {
  if (error && error_bytes) snprintf(error, error_bytes, "%s", fault->text);
}

tapc_instance *tapc_instance_create(const tapc_program *program, int threads, char *error, size_t error_bytes) {
  tapc_fault fault = {.status = 0};
  tapc_instance *instance = tapc_instance_new(program, threads, 0, &fault);
  hand_out(&fault, error, error_bytes);
  return instance;
}

// buffer looks at an address that a caller gave for a tensor.
static int buffer(const char *kind, const tapc_tensor *tensor, const void *at, tapc_fault *fault) {
  size_t unit = tapc_dtype_of(tensor->dtype)->unit;
  if (!tensor->bytes) return 0;
  if (!at) return tapc_fail(fault, TAPC_USAGE, "%s %s: expected a buffer of %zu bytes, found NULL", kind, tensor->name, tensor->bytes);
  if ((uintptr_t)at % unit) return tapc_fail(fault, TAPC_USAGE, "%s %s: expected an address that is a multiple of %zu, found one that is not", kind, tensor->name, unit);
  return 0;
}

// apart says whether an output shares no byte with another buffer.
static int apart(const tapc_tensor *out, const void *at, const char *kind, const tapc_tensor *other, const void *there, tapc_fault *fault) {
  uintptr_t a = (uintptr_t)at, b = (uintptr_t)there;
  if (!out->bytes || !other->bytes || (a < b ? b - a >= out->bytes : a - b >= other->bytes)) return 0;
  return tapc_fail(fault, TAPC_USAGE, "output %s: expected a buffer apart from all others, found one that overlaps %s %s", out->name, kind, other->name);
}

// address_of gives the address of an output: that of the input whose memory it has, which the caller may leave out.
static const void *address_of(const tapc_program *p, int output, const void *const *in, void *const *out) {
  int over = p->outputs[output].over;
  return over ? in[over - 1] : out[output];
}

// in_place looks at the address of an output that has the memory of an input.
static int in_place(const tapc_program *p, int output, const void *const *in, void *const *out, tapc_fault *fault) {
  const tapc_tensor *t = &p->outputs[output];
  if (!t->over || !out[output] || out[output] == in[t->over - 1]) return 0;
  return tapc_fail(fault, TAPC_USAGE, "output %s: expected NULL or the address of input %s, whose memory it has, found another", t->name, p->inputs[t->over - 1].name);
}

// check_buffers looks at what a caller gave for a run, as far as addresses tell.
static int check_buffers(const tapc_program *p, const void *const *in, void *const *out, tapc_fault *fault) {
  if (p->n_inputs && !in) return tapc_fail(fault, TAPC_USAGE, "expected the addresses of %d inputs, found NULL", p->n_inputs);
  if (p->n_outputs && !out) return tapc_fail(fault, TAPC_USAGE, "expected the addresses of %d outputs, found NULL", p->n_outputs);
  int status = 0;
  for (int i = 0; i < p->n_inputs && !status; i++) status = buffer("input", &p->inputs[i], in[i], fault);
  for (int i = 0; i < p->n_outputs && !status; i++) status = in_place(p, i, in, out, fault);
  for (int i = 0; i < p->n_outputs && !status; i++) status = buffer("output", &p->outputs[i], address_of(p, i, in, out), fault);
  for (int i = 0; i < p->n_outputs && !status; i++) {
    const void *at = address_of(p, i, in, out);
    for (int j = 0; j < p->n_inputs && !status; j++)
      if (p->outputs[i].over != j + 1) status = apart(&p->outputs[i], at, "input", &p->inputs[j], in[j], fault);
    for (int j = 0; j < i && !status; j++) status = apart(&p->outputs[i], at, "output", &p->outputs[j], address_of(p, j, in, out), fault);
  }
  return status;
}

int tapc_instance_run_at(tapc_instance *instance, const int64_t *sizes, const void *const *inputs, void *const *outputs, char *error, size_t error_bytes) {
  tapc_fault fault = {.status = 0};
  const tapc_program *p = NULL;
  if (!instance) tapc_fail(&fault, TAPC_USAGE, "expected an instance, found NULL");
  else p = sizes ? tapc_version_at(instance->program, sizes, &fault) : instance->program;
  int status = p ? check_buffers(p, inputs, outputs, &fault) : fault.status;
  if (!status) status = run_version(instance, p, inputs, outputs, &fault);
  hand_out(&fault, error, error_bytes);
  return status;
}

int tapc_instance_run(tapc_instance *instance, const void *const *inputs, void *const *outputs, char *error, size_t error_bytes) {
  return tapc_instance_run_at(instance, NULL, inputs, outputs, error, error_bytes);
}

int tapc_instance_pin(tapc_instance *instance, int place, char *error, size_t error_bytes) {
  tapc_fault fault = {.status = 0};
  if (!instance) tapc_fail(&fault, TAPC_USAGE, "expected an instance, found NULL");
  else tapc_instance_bind(instance, place, &fault);
  hand_out(&fault, error, error_bytes);
  return fault.status;
}

void tapc_instance_destroy(tapc_instance *instance) {
  if (!instance) return;
  tapc_devices_free(instance->devices);
  tapc_free(instance->arena);
  pthread_mutex_destroy(&instance->lock);
  free(instance);
}
