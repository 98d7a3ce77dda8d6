// The interface between a compiled tensor program and the run-time library that it is linked with.
//
// Generated code includes this header, which includes tapc_library.h, and nothing else, so it must stay free of heavy system headers.
// Everything else (files, command line, random inputs, printing) is behind it; see internal.h.
#ifndef TAPC_RT_H
#define TAPC_RT_H

#include <stddef.h>
#include <stdint.h>

#include "tapc_library.h"

#ifdef __cplusplus
extern "C" {
#endif

// Element types, numbered as the compiler's scalar.DType. Storage is little-endian; booleans are bytes 0 or 1;
// types narrower than a byte take one byte each: integers sign- or zero-extended, floats their code.
enum tapc_dtype {
  TAPC_BOOL = 1,
  TAPC_I8,
  TAPC_I16,
  TAPC_I32,
  TAPC_I64,
  TAPC_U8,
  TAPC_U16,
  TAPC_U32,
  TAPC_U64,
  TAPC_F16,
  TAPC_BF16,
  TAPC_F32,
  TAPC_F64,
  TAPC_F8E4M3,
  TAPC_F8E5M2,
  TAPC_C64,
  TAPC_C128,
  TAPC_I4,
  TAPC_U4,
  TAPC_F8E4M3FNUZ,
  TAPC_F8E5M2FNUZ,
  TAPC_F8E8M0,
  TAPC_F6E2M3,
  TAPC_F6E3M2,
  TAPC_F4E2M1,
  TAPC_I2,
  TAPC_U2,
  TAPC_DTYPES // one past the last
};

// The exit statuses of an executable, and the results of tapc_instance_run.
enum tapc_status { TAPC_OK = 0, TAPC_INPUT = 1, TAPC_USAGE = 2, TAPC_INTERNAL = 3 };

// A file that a program names: its path in a folder, an entry of it (NULL for none), and where the bytes of an input begin, -1 in a file that says
// what it holds.
typedef struct tapc_file {
  const char *path, *key;
  int64_t offset;
} tapc_file;

// One input or output: a buffer of the caller's, row-major and contiguous unless it has strides. Element 0 of the buffer is the point `start`
// of the graph's range; start may be NULL for all zeros. start and shape hold rank numbers (NULL when rank is 0).
// bytes is the product of the shape times the element size, or that of the memory that an input and an output share: both have the same strides, and
// the output says which input it is that it has the memory of.
typedef struct tapc_tensor {
  const char *name;
  int dtype;
  int rank;
  const int64_t *start, *shape;
  size_t bytes;
  int64_t limit;          // of an input of integers that the program checks: random ones are from 0 to below it; 0 for none
  const int64_t *strides; // in elements; NULL for row-major
  int over;               // of an output: one more than the number of the input whose memory it has; 0 for none
  const tapc_file *file;  // that an executable reads the input from, or writes the output to; NULL for none
} tapc_tensor;

// ---- Threads -------------------------------------------------------------------------------------------------

typedef struct tapc_pool tapc_pool;

// A piece of a parallel region: the indices begin..end-1, on worker number `worker` (0 <= worker < tapc_threads; of no more indices than there are
// threads, less than that, too).
typedef void (*tapc_task)(void *ctx, int64_t begin, int64_t end, int worker);

// Runs task over 0..n-1 and returns when all of it is done. Workers take pieces of the indices as they come, the caller among them as
// worker 0; how they are cut depends on who comes when. A task whose result for an index depends neither on the piece it is in nor on the worker
// therefore gives the same bytes for any number of threads. An index takes about `each` picoseconds, by which is decided who is worth waking,
// and how large pieces are. Runs inline, as one piece, when there is one thread (p may be NULL), when n is 1 or the work
// too little, and inside another region (on the worker that asks).
void tapc_parallel(tapc_pool *p, int64_t n, int64_t each, tapc_task task, void *ctx);

// The number of workers, the caller included; 1 for NULL. Scratch space of a task is indexed by worker below this.
int tapc_threads(const tapc_pool *p);

// ---- Devices -------------------------------------------------------------------------------------------------

// A program for several devices is run by groups of threads at once, each of which carries out the steps of its devices in the program's order, with a
// pool of its own. Where a program has no groups (p may be NULL), there is one.

// Whether the group carries out the steps of a device.
int tapc_runs(const tapc_pool *p, int device);

// Waits until a device has done so many of its steps in this run; returns at once if the group carries these out itself.
void tapc_await(const tapc_pool *p, int device, int steps);

// Says that a device has done so many of its steps.
void tapc_reach(const tapc_pool *p, int device, int steps);

// The number of groups, the number of this one, and that of its first thread among those of all.
int tapc_all_groups(const tapc_pool *p);
int tapc_group(const tapc_pool *p);
int tapc_first_thread(const tapc_pool *p);

// ---- Processors ----------------------------------------------------------------------------------------------

// Instructions that not every processor has which runs a version of a program, as bits; and, for AArch64, all that compilers use when
// they are told of ARMv8.2 with dot products, or of ARMv8.6.
enum tapc_feature {
  TAPC_AVX512_VNNI = 1,
  TAPC_AVX_VNNI = 2,
  TAPC_AVX512_BF16 = 4,
  TAPC_AMX_INT8 = 8,
  TAPC_AMX_BF16 = 16,
  TAPC_DOTPROD = 32,
  TAPC_I8MM = 64,
  TAPC_BF16_DOT = 128,
  TAPC_ARMV8_2 = 256,
  TAPC_ARMV8_6 = 512
};

// Which of them this process can use. The first call asks the system for the registers of the matrix unit (AMX), if the
// processor has one; without its leave the unit counts as not there.
unsigned tapc_features(void);

// Whether what a kernel writes that reads and writes so many bytes, each of some threads a part, is better written past the caches, as they keep nothing of it
// for whoever reads it.
int tapc_far(int threads, int64_t bytes);

// ---- Steps ---------------------------------------------------------------------------------------------------

// What is called with the number of each step that a run has done, so that they can be timed; NULL for nothing. -1 is the beginning of a run, for each
// group of threads, and the number of steps and that of a device, added up, that a step of the device has waited for others.
extern void (*tapc_step_done)(int step);

static inline void tapc_done(int step) {
  if (tapc_step_done) tapc_step_done(step);
}

// ---- Programs ------------------------------------------------------------------------------------------------

// Constants that are in a file beside the program: a block, a multiple of 64 bytes, and behind it its digest.
typedef struct tapc_weights {
  const char *file;         // its name
  size_t bytes;             // of the block
  unsigned char digest[32]; // SHA-256 of the block: whose file it is
  uint64_t check;           // of the block: whether it is undamaged
  void *at;                 // addresses that are kept for it
} tapc_weights;

// A device of a program for several: what it holds, and what is copied between it and others in a run, in bytes.
typedef struct tapc_device {
  const char *name;
  size_t arena_bytes, constants_bytes, received_bytes, sent_bytes;
} tapc_device;

// Which device carries out a step, and whether that is a copy.
typedef struct tapc_owner {
  int device, copies;
} tapc_owner;

// What a kernel has in the scratch memory for each of the threads that have some of its tasks.
typedef struct tapc_workspace {
  int tasks;
  size_t bytes;
} tapc_workspace;

typedef struct tapc_program {
  const char *name;
  const char *describe; // complete JSON text, what --describe prints
  const char *doc;      // one or more lines for --help; may be NULL
  int n_inputs, n_outputs;
  const tapc_tensor *inputs, *outputs;
  int n_steps;
  const char *const *steps; // what each step of a run does
  // Scratch memory that run needs with one thread, and for each further one: 64-byte aligned, contents undefined; NULL when 0.
  size_t arena_bytes, share_bytes;
  int n_workspaces;
  const tapc_workspace *workspaces; // of its kernels; the greatest is share_bytes
  // How many devices there are, 0 for one; the devices, who carries out each step, and the scratch memory that each group of threads needs beside the first.
  int n_devices;
  const tapc_device *devices;
  const tapc_owner *owners;
  size_t group_bytes;
  // What a process that runs the program has in memory at most: with one thread, for each further one but for shares, and once if there are any; and what of the
  // first is constants. An executable or an instance is refused where that cannot be had. 0 for not stated.
  size_t peak_bytes, thread_bytes, threads_bytes, constants_bytes;
  const tapc_weights *weights; // NULL if constants are inside
  // Computes every output from every input, in the order of the tables. 0 is success; see also tapc_reject.
  int (*run)(const struct tapc_program *program, const void *const *in, void *const *out, void *arena, tapc_pool *pool);
  // Of a program for several sizes: the names of the dimensions that have several, and a version for each size of each, the greatest last. They
  // have inputs and outputs of the same names and types. The program's own tables are those of the greatest, and its memory is enough for all.
  int n_dims;
  const char *const *dims;
  int n_versions;
  const struct tapc_program *versions;
  const int64_t *at;          // of a version: the sizes of the dimensions
  const void *const *numbers; // of a version whose code is that of others too: for each target, the numbers in which they differ
} tapc_program;

// What an executable runs; generated code defines it. Libraries name their programs as they like.
extern const tapc_program tapc_main_program;

// For `return tapc_reject("...")` in run: the values of an input are at fault (an index out of bounds, say). The text
// must live for ever. The run then ends with TAPC_INPUT and this text; any other non-zero result is TAPC_INTERNAL.
int tapc_reject(const char *text);

// The same for an index of a tensor of a rank and shape, with its row-major place, that is less than low or not less than high.
int tapc_reject_index(const char *name, int64_t index, int64_t place, int rank, const int64_t *shape, int64_t low, int64_t high);

// ---- Library use ---------------------------------------------------------------------------------------------

// All functions may be called from any thread; runs of one instance wait for each other, runs of different instances do not.

// Makes an instance with the given number of threads (0: one per usable core). NULL on failure, with one line of text in
// error (cut to error_bytes, always terminated; error may be NULL when error_bytes is 0).
tapc_instance *tapc_instance_create(const tapc_program *program, int threads, char *error, size_t error_bytes);

// Runs once. inputs and outputs are the caller's buffers in the order of the program's tables, each of its tensor's
// size (NULL for none), aligned for its element type, and no output overlapping another; what addresses tell of that is checked. Returns a tapc_status; on failure the outputs are
// undefined and error holds one line of text, as above.
int tapc_instance_run(tapc_instance *instance, const void *const *inputs, void *const *outputs, char *error, size_t error_bytes);

// Runs once at sizes of the program's dimensions, in their order; without, as above, at the greatest. There must be such a version: TAPC_USAGE.
int tapc_instance_run_at(tapc_instance *instance, const int64_t *sizes, const void *const *inputs, void *const *outputs, char *error, size_t error_bytes);

// Binds each thread of an instance to a core that the process may use, in ascending order: those of an instance at place 0 to the first ones, at place n to
// those behind n times as many; who calls a run is bound while it lasts. Returns a tapc_status, TAPC_USAGE where there are fewer cores.
int tapc_instance_pin(tapc_instance *instance, int place, char *error, size_t error_bytes);

// Ends the threads and frees the memory. No run may be in progress. NULL is allowed.
void tapc_instance_destroy(tapc_instance *instance);

#ifdef __cplusplus
}
#endif
#endif
