// What the files of the run-time library share. Not for generated code.
//
// main.c drives; args.c reads the command line; help.c prints the help; archive.c opens tensor files of three formats and
// loads tensors from them (npy.c, zip.c + inflate.c, safetensors.c); sink.c writes them; print.c shows
// them; random.c invents them; bench.c measures; instance.c holds threads (devices.c, pool.c, park.c, cpus.c, cgroup.c) and memory (memory.c), and
// maps constants (weights.c).
#ifndef TAPC_INTERNAL_H
#define TAPC_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "tapc_rt.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the run-time library is written for little-endian machines"
#endif

#define TAPC_MAX_RANK 64          // of a tensor in a file, as NumPy's
#define TAPC_MAX_NPY_HEADER 65536 // bytes; a header is a dozen numbers
#define TAPC_MAX_THREADS 1024
#define TAPC_STACK ((size_t)8 << 20) // bytes of a thread's stack, of which little is ever touched

// ---- fault.c: one line of error text and an exit status -------------------------------------------------------

typedef struct tapc_fault {
  int status;      // tapc_status
  char where[512]; // what is being worked on: goes before the text; "" for nothing
  char text[2048]; // one line, no control characters
} tapc_fault;

// Records a fault and returns status, so that `return tapc_fail(...)` both reports and leaves.
int tapc_fail(tapc_fault *fault, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
// Sets what later faults are about.
void tapc_about(tapc_fault *fault, const char *format, ...) __attribute__((format(printf, 2, 3)));
// A fault for memory that could not be had.
int tapc_no_memory(tapc_fault *fault, uint64_t bytes, const char *what);
// The candidate nearest to `name` by edit distance, or NULL when none is near.
const char *tapc_nearest(const char *name, const char *(*candidate)(const void *, size_t), const void *from, size_t n);

// The name of an input of a tapc_program: what tapc_nearest chooses from.
const char *tapc_input_name(const void *program, size_t i);

// ---- memory.c ------------------------------------------------------------------------------------------------

// Memory for tensors: 64-byte aligned; from 2 MiB on aligned to and advised for huge pages. NULL when there is none.
void *tapc_alloc(size_t bytes);
// The same, with huge pages for no more than the first bytes.
void *tapc_alloc_first(size_t bytes, size_t first);
void tapc_free(void *memory);
// Whether the environment variable TAPC_MEMORY is a word: unchecked, for the check below, or poison: then every run begins with
// its arena, of which threads have their parts, and its outputs poisoned, so that what is read unwritten shows in the results.
int tapc_memory_wish(const char *word);
// Fills memory with ones, which are NaN in every type of floats that has one.
void tapc_poison(void *memory, size_t bytes);
// Refuses to go on where so many bytes cannot be had: the machine or the control group has not as many, or the process may not
// have so many addresses more. The environment variable TAPC_MEMORY=unchecked leaves everything to the system.
int tapc_memory_check(uint64_t bytes, uint64_t addresses, tapc_fault *fault);

// ---- dtype.c -------------------------------------------------------------------------------------------------

typedef struct tapc_dtype_info {
  const char *name;     // the compiler's name: "float32"
  const char *descr;    // NumPy's: "<f4"; NULL when .npy cannot hold it
  const char *tag;      // safetensors': "F32"; NULL when .safetensors cannot hold it
  unsigned char bits;   // of an element's value
  unsigned char size;   // bytes of an element
  unsigned char unit;   // bytes of what byte order applies to
  char kind;            // b, i, u, f or c
  unsigned char digits; // decimal digits that tell any two values apart
} tapc_dtype_info;

// A float of at most 16 bits: a sign bit, unless it is unsigned, then exponent and mantissa. The codes up to last are the finite
// magnitudes in order; behind them stand infinity, if the format has it, and NaN.
typedef struct tapc_float_format {
  unsigned char exponent, mantissa;
  unsigned char bias, infinite;
  unsigned short last;
  unsigned char has_sign; // 0: unsigned, a power of two without subnormals
  unsigned char minus;    // what the code of the sign alone is: '0' for -0, 'n' for NaN
} tapc_float_format;

const tapc_dtype_info *tapc_dtype_of(int dtype);         // NULL when not a dtype
const tapc_float_format *tapc_float_of(int dtype);       // NULL when not a float of at most 16 bits
int64_t tapc_load_int(int dtype, const void *element);   // kinds b and i
uint64_t tapc_load_uint(int dtype, const void *element); // kind u
double tapc_load_float(int dtype, const void *element);  // kind f, or a component of kind c

// "[2, 3]" into text, cut with "..." when it does not fit; returns text.
char *tapc_shape_text(char *text, size_t bytes, int rank, const int64_t *shape);
// "[-40:-38, 20:23]" likewise.
char *tapc_range_text(char *text, size_t bytes, const tapc_tensor *tensor);
int tapc_starts_at_zero(const tapc_tensor *tensor);
size_t tapc_count(const tapc_tensor *tensor); // number of elements

// ---- room.c: inputs and outputs that share memory, in the layout of a greater shape -------------------------------

// The tensor as files have it: row-major.
tapc_tensor tapc_dense(const tapc_tensor *tensor);
// Puts the elements, which stand row-major at the start of the memory, where they belong in it; and back.
void tapc_spread(const tapc_tensor *tensor, void *memory);
void tapc_gather(const tapc_tensor *tensor, void *memory);

// ---- Reading tensor files ------------------------------------------------------------------------------------

typedef enum tapc_format { TAPC_NPY, TAPC_NPZ, TAPC_SAFETENSORS } tapc_format;

// One tensor of a file.
typedef struct tapc_entry {
  char *name;
  uint64_t at;     // npy, safetensors: offset of the bytes in the file; npz: of the local header
  uint64_t stored; // bytes in the file
  uint64_t bytes;  // bytes when unpacked
  size_t text;     // safetensors: where the description begins in the header
  uint32_t crc;
  uint16_t method; // npz: 0 stored, 8 deflated
} tapc_entry;

// An open file and its table of contents, sorted by name (one entry named "" for .npy).
typedef struct tapc_archive {
  int fd;
  tapc_format format;
  uint64_t size;
  uint64_t limit; // npz: where the central directory begins; nothing of an entry lies beyond
  char *header;   // safetensors: the JSON text, header_bytes long and terminated
  size_t header_bytes;
  tapc_entry *entries;
  size_t n, room;
} tapc_archive;

// Type and shape as a file states them.
typedef struct tapc_layout {
  int dtype;
  int rank;
  int64_t shape[TAPC_MAX_RANK];
  int swap, fortran; // npy: big-endian; first index fastest
  uint64_t data;     // bytes before the data
  uint64_t bytes;    // of the data
} tapc_layout;

// archive.c
int tapc_file_open(const char *path, uint64_t *size, tapc_fault *fault); // a regular file to be read; -1 with a fault
int tapc_archive_open(tapc_archive *archive, const char *path, tapc_fault *fault);
void tapc_archive_close(tapc_archive *archive);
tapc_entry *tapc_archive_find(const tapc_archive *archive, const char *name);
// Reads one tensor into memory of want->bytes, after checking that its dtype and shape are want's.
int tapc_archive_load(const tapc_archive *archive, const tapc_entry *entry, const tapc_tensor *want, void *memory, tapc_fault *fault);
int tapc_archive_add(tapc_archive *archive, const tapc_entry *entry, tapc_fault *fault); // takes over entry->name
int tapc_archive_sort(tapc_archive *archive, tapc_fault *fault);                         // by name; refuses duplicates
int tapc_read_at(int fd, void *memory, uint64_t bytes, uint64_t offset, tapc_fault *fault);
// Sets layout->bytes; refuses shapes whose byte count overflows.
int tapc_layout_measure(tapc_layout *layout, tapc_fault *fault);
// Reads type and shape of one tensor.
int tapc_archive_layout(const tapc_archive *archive, const tapc_entry *entry, tapc_layout *layout, tapc_fault *fault);
// npy.c
int tapc_npy_head(const unsigned char *start, uint64_t total, uint64_t *head_bytes, tapc_fault *fault); // of 12 bytes
int tapc_npy_parse(const unsigned char *head, uint64_t head_bytes, tapc_layout *layout, tapc_fault *fault);
size_t tapc_npy_write_head(char *head, size_t room, const tapc_tensor *tensor); // bytes; 0 when too small
// zip.c
int tapc_zip_list(tapc_archive *archive, tapc_fault *fault);
int tapc_zip_locate(const tapc_archive *archive, const tapc_entry *entry, uint64_t *offset, tapc_fault *fault);
uint32_t tapc_crc32(uint32_t crc, const void *data, size_t bytes); // start with 0
// inflate.c: unpacks what lies packed in a file, and hands over so many bytes, a part at a time. *missing is how many there were not, *ended tells whether the stream's end was
// reached.
typedef struct tapc_packed {
  int fd;
  uint64_t offset, bytes;
} tapc_packed;
typedef struct tapc_taker {
  void (*take)(struct tapc_taker *self, const unsigned char *data, size_t bytes);
} tapc_taker;
int tapc_inflate(const tapc_packed *packed, tapc_taker *taker, uint64_t bytes, uint64_t *missing, int *ended, tapc_fault *fault);
// safetensors.c
int tapc_safetensors_list(tapc_archive *archive, tapc_fault *fault);
int tapc_safetensors_layout(const tapc_archive *archive, const tapc_entry *entry, tapc_layout *layout, tapc_fault *fault);

// ---- Writing tensor files (sink.c, pack.c) -------------------------------------------------------------------

// Files being written: each beside its final place under another name until all are complete.
typedef struct tapc_sink {
  struct tapc_sink_file *files;
  size_t n, room;
} tapc_sink;

// Announces a file, and makes sure that it can be created. Its format follows from the ending of the path.
int tapc_sink_open(tapc_sink *sink, const char *path, tapc_fault *fault);
// Writes n tensors to the file announced as path (the same pointer).
int tapc_sink_write(tapc_sink *sink, const char *path, const tapc_tensor *const *tensors, void *const *data, size_t n, tapc_fault *fault);
// Moves every file to its place. On failure none is left behind.
int tapc_sink_commit(tapc_sink *sink, tapc_fault *fault);
// Removes what was not committed and frees the sink.
void tapc_sink_close(tapc_sink *sink);
// Whether the path ends as a tensor file does; *format is set if so.
int tapc_format_of(const char *path, tapc_format *format);
// pack.c: the bytes of one file; 0, or -1 with errno set
int tapc_pack(FILE *to, tapc_format format, const tapc_tensor *const *tensors, void *const *data, size_t n);

// ---- random.c, print.c, bench.c, pool.c, park.c, cpus.c, cgroup.c, instance.c ---------------------------------------------------

// Fills an input with values that depend on seed, name, dtype and position only. See random.c for the function.
void tapc_random(const tapc_tensor *tensor, uint64_t seed, void *memory);

void tapc_print_tensor(FILE *to, const tapc_tensor *tensor, const void *data);

// Runs the instance n times after a warm-up and prints the distribution of times.
int tapc_bench(FILE *to, tapc_instance *instance, int64_t n, int64_t warm_up_ms, const void *const *in, void *const *out, tapc_fault *fault);
int tapc_profile(FILE *to, const tapc_program *program, tapc_instance *instance, int64_t n, const void *const *in, void *const *out, tapc_fault *fault);

int tapc_default_threads(void); // cores that the process may run on, or what the control group allows if less
// Processors' worth of time, rounded up, that the control groups of the process grant by their quotas, those around its own included;
// TAPC_MAX_THREADS for no limit. The files are /proc/self/cgroup and /proc/self/mountinfo.
int tapc_group_limit(const char *groups, const char *mounts);
// Writes a processor of each core that the caller may run on, ascending, as far as there is room, and gives how many cores there are; -1 where a thread
// can not be bound.
int tapc_cores(int *cpus, int room);
// Binds a thread to a processor; 0, or the number of an error. The caller's processors are kept, and given back.
typedef struct tapc_affinity {
  unsigned long bits[1024 / (8 * sizeof(unsigned long))];
} tapc_affinity;
int tapc_bind_thread(pthread_t thread, int cpu);
int tapc_bind_caller(int cpu, tapc_affinity *before);
void tapc_unbind_caller(const tapc_affinity *before);
int tapc_processors(void); // threads that can run at once: logical processors, or what the control group allows if less

tapc_pool *tapc_pool_new(int threads, tapc_fault *fault);
void tapc_pool_free(tapc_pool *pool);
// Binds the threads of a pool but for the caller to processors, one for each thread; 0, or the number of an error.
int tapc_pool_bind(tapc_pool *pool, const int *cpus);
// Starts a thread; 0, or the number of an error.
int tapc_thread_start(pthread_t *thread, void *(*work)(void *), void *arg);

// Groups of threads for so many devices, with so many threads together.
typedef struct tapc_devices tapc_devices;
tapc_devices *tapc_devices_new(int n, int threads, tapc_fault *fault);
void tapc_devices_free(tapc_devices *devices);
int tapc_devices_threads(const tapc_devices *devices);
// Binds each thread to a core: in order, to the first cores that the process may use or, at a place above 0, to those behind so many times as many. The
// caller of a run is bound while it lasts.
int tapc_devices_bind(tapc_devices *devices, int place, tapc_fault *fault);
// How many groups that is.
int tapc_group_count(int devices, int threads);
// Calls run in the leader of each group, the caller being that of the first, and returns what that one gives when all have ended.
typedef int (*tapc_devices_run)(void *ctx, tapc_pool *pool);
int tapc_devices_call(tapc_devices *devices, tapc_devices_run run, void *ctx);
// Makes a pool the one of a group. spin: whether all threads of all groups can run at once.
void tapc_pool_join(tapc_pool *pool, tapc_devices *devices, int group, int spin);
tapc_devices *tapc_pool_devices(const tapc_pool *pool); // NULL for NULL

void tapc_pause(void); // between two looks
int64_t tapc_now_ns(void);
// Sleeps while the number is some value; may return at any time. And wakes all who sleep on a number, which has been changed.
void tapc_park(atomic_uint *word, unsigned value);
void tapc_unpark(atomic_uint *word);

// ---- weights.c -----------------------------------------------------------------------------------------------

// Maps the file that holds the constants, unless that is done. The file is beside the program, or the library, that w is a part of.
int tapc_weights_map(const tapc_weights *w, tapc_fault *fault);

// What groups of threads besides the first take in the arena, of so many threads.
uint64_t tapc_group_bytes(const tapc_program *program, int threads);

// The workspaces of threads besides the first, and the arena with these.
uint64_t tapc_workspace_bytes(const tapc_program *program, int threads);
uint64_t tapc_arena_bytes(const tapc_program *program, int threads);
// own: the process is the program's own, so it has checked its memory.
tapc_instance *tapc_instance_new(const tapc_program *program, int threads, int own, tapc_fault *fault);
int tapc_instance_call(tapc_instance *instance, const void *const *in, void *const *out, tapc_fault *fault);
int tapc_instance_threads(const tapc_instance *instance);
int tapc_instance_bind(tapc_instance *instance, int place, tapc_fault *fault);

// ---- sizes.c ------------------------------------------------------------------------------------------------

// The version for sizes of all dimensions; NULL with a fault when there is none.
const tapc_program *tapc_version_at(const tapc_program *program, const int64_t *sizes, tapc_fault *fault);
// Clears which versions are possible (a byte for each) of those that a dimension has another size in, or an input another shape; a fault
// when none is left.
int tapc_narrow_dim(const tapc_program *program, unsigned char *possible, int dim, int64_t size, tapc_fault *fault);
int tapc_narrow_input(const tapc_program *program, unsigned char *possible, int input, const tapc_layout *found, tapc_fault *fault);
// Prints the sizes of a dimension, ascending, neighbours as a range.
void tapc_print_sizes(FILE *to, const tapc_program *program, int dim);

// ---- args.c, help.c ------------------------------------------------------------------------------------------

typedef enum tapc_action { TAPC_RUN, TAPC_HELP, TAPC_DESCRIBE, TAPC_VERSION_TEXT } tapc_action;

// What the command line asks for. The arrays have an element per input or output; NULL: not given.
typedef struct tapc_options {
  const tapc_program *program;
  tapc_action action;
  const char **input_files;
  const char **archives; // files given without a name
  size_t n_archives;
  const char **output_files;
  const char *output_archive;
  const char *data_dir; // of the files that the program names; NULL: the working directory
  uint64_t seed;
  int random;
  int threads;     // 0: not given
  int64_t bench;   // runs; 0: not given
  int64_t warm_up; // milliseconds before them; -1: not given
  int profile;     // each step is timed, too
  int pin;         // threads are bound to cores
  int64_t *sizes;  // of the program's dimensions; -1: not given
} tapc_options;

int tapc_options_parse(tapc_options *options, const tapc_program *program, int argc, char **argv, tapc_fault *fault);
void tapc_options_free(tapc_options *options);
void tapc_print_help(FILE *to, const tapc_program *program, const char *self);

#endif
