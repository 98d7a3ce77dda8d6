// The main function of every executable: read the inputs, run, write or print the outputs.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#ifndef TAPC_VERSION
#define TAPC_VERSION "development"
#endif

// What a run holds; everything is released in one place.
typedef struct session {
  const tapc_program *program;
  tapc_options options;
  tapc_instance *instance;
  void **in, **out;
  unsigned char *given;    // inputs that have been read
  char **paths;            // of outputs in files that the program names
  unsigned char *possible; // versions for the sizes that were found, while these are looked for; else NULL
  tapc_sink sink;
  tapc_fault fault;
} session;

// ---- Inputs --------------------------------------------------------------------------------------------------

static int load(session *s, int input, const tapc_archive *archive, const tapc_entry *entry) {
  s->given[input] = 1;
  if (s->possible) {
    tapc_layout found;
    if (tapc_archive_layout(archive, entry, &found, &s->fault)) return s->fault.status;
    return tapc_narrow_input(s->program, s->possible, input, &found, &s->fault);
  }
  tapc_tensor want = tapc_dense(&s->program->inputs[input]);
  int status = tapc_archive_load(archive, entry, &want, s->in[input], &s->fault);
  if (!status) tapc_spread(&s->program->inputs[input], s->in[input]);
  return status;
}

static const char *entry_name(const void *archive, size_t i) { return ((const tapc_archive *)archive)->entries[i].name; }

static int no_entry(session *s, const tapc_archive *archive, const char *key) {
  const char *near = tapc_nearest(key, entry_name, archive, archive->n > 1000 ? 1000 : archive->n);
  return tapc_fail(
    &s->fault, TAPC_INPUT, "expected an entry \"%s\", found none among %zu%s%s%s", key, archive->n, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

// Splits FILE:KEY when there is no file of the whole name. *path is allocated when it differs from the text.
static int split_key(session *s, const char *text, char **path, const char **key) {
  const char *colon = strrchr(text, ':');
  *key = NULL;
  *path = NULL;
  if (!colon || !access(text, F_OK)) colon = text + strlen(text);
  if (*colon) *key = colon + 1;
  if (!(*path = strndup(text, (size_t)(colon - text)))) return tapc_no_memory(&s->fault, strlen(text), "a file name");
  return 0;
}

// Reads an input from the entry of a file: that of a key, else that of its name, else the only one.
static int load_from(session *s, int input, const char *path, const char *key) {
  const tapc_tensor *tensor = &s->program->inputs[input];
  tapc_archive archive;
  int status = tapc_archive_open(&archive, path, &s->fault);
  if (status) return status;
  if (key && archive.format == TAPC_NPY) status = tapc_fail(&s->fault, TAPC_INPUT, "a .npy file has no entries to choose from");
  const char *want = key ? key : tensor->name;
  const tapc_entry *entry = tapc_archive_find(&archive, want);
  if (!entry && !key && archive.n == 1) entry = archive.entries; // the only one it can be
  if (!status) status = entry ? load(s, input, &archive, entry) : no_entry(s, &archive, want);
  tapc_archive_close(&archive);
  return status;
}

static int load_named(session *s, int input) {
  char *path = NULL;
  const char *key = NULL;
  int status = split_key(s, s->options.input_files[input], &path, &key);
  if (status) return status;
  tapc_about(&s->fault, "input \"%s\": %s", s->program->inputs[input].name, s->options.input_files[input]);
  status = load_from(s, input, path, key);
  free(path);
  return status;
}

// The path of a file that the program names; NULL with a fault.
static char *path_of(session *s, const char *file) {
  const char *dir = s->options.data_dir;
  size_t room = strlen(file) + (dir ? strlen(dir) : 0) + 2;
  char *path = malloc(room);
  if (!path) tapc_no_memory(&s->fault, room, "a file name");
  if (path) snprintf(path, room, "%s%s%s", dir ? dir : "", dir ? "/" : "", file);
  return path;
}

// Reads the bytes of an input, which begin somewhere in a file.
static int load_bytes(session *s, int input, const char *path) {
  const tapc_tensor *tensor = &s->program->inputs[input];
  tapc_tensor want = tapc_dense(tensor);
  s->given[input] = 1;
  if (s->possible) return 0; // they say nothing about sizes
  uint64_t size = 0;
  int fd = tapc_file_open(path, &size, &s->fault);
  if (fd < 0) return s->fault.status;
  int status = 0;
  if ((uint64_t)tensor->file->offset > size || size - (uint64_t)tensor->file->offset < want.bytes)
    status =
      tapc_fail(&s->fault, TAPC_INPUT, "expected %zu bytes from byte %lld on, found a file of %llu bytes", want.bytes, (long long)tensor->file->offset, (unsigned long long)size);
  if (!status) status = tapc_read_at(fd, s->in[input], want.bytes, (uint64_t)tensor->file->offset, &s->fault);
  close(fd);
  if (!status) tapc_spread(tensor, s->in[input]);
  return status;
}

// Reads an input from the file that the program names.
static int load_source(session *s, int input) {
  const tapc_tensor *tensor = &s->program->inputs[input];
  char *path = path_of(s, tensor->file->path);
  if (!path) return s->fault.status;
  tapc_about(&s->fault, "input \"%s\": %s", tensor->name, path);
  int status = tensor->file->offset >= 0 ? load_bytes(s, input, path) : load_from(s, input, path, tensor->file->key);
  free(path);
  return status;
}

static int input_of(const tapc_program *program, const char *name) {
  for (int i = 0; i < program->n_inputs; i++)
    if (!strcmp(program->inputs[i].name, name)) return i;
  return -1;
}

// One entry of an archive of all inputs. An input that has a file of its own, or came before, keeps that.
static int load_entry(session *s, const char *path, const tapc_archive *archive, const tapc_entry *entry) {
  int input = archive->format == TAPC_NPY ? 0 : input_of(s->program, entry->name);
  if (input < 0) {
    const char *near = tapc_nearest(entry->name, tapc_input_name, s->program, (size_t)s->program->n_inputs);
    return tapc_fail(&s->fault, TAPC_INPUT, "no input is named \"%.200s\"%s%s%s (the program has %d)", entry->name, near ? "; did you mean \"" : "", near ? near : "",
      near ? "\"?" : "", s->program->n_inputs);
  }
  if (s->given[input]) return 0;
  tapc_about(&s->fault, "input \"%s\": %s", s->program->inputs[input].name, path);
  int status = load(s, input, archive, entry);
  tapc_about(&s->fault, "%s", path);
  return status;
}

static int load_archive(session *s, const char *path) {
  tapc_archive archive;
  tapc_about(&s->fault, "%s", path);
  int status = tapc_archive_open(&archive, path, &s->fault);
  if (status) return status;
  if (archive.format == TAPC_NPY && s->program->n_inputs != 1)
    status = tapc_fail(&s->fault, TAPC_INPUT, "a .npy file holds one input without a name: expected NAME=%s, or an .npz or .safetensors file", path);
  for (size_t i = 0; !status && i < archive.n; i++) status = load_entry(s, path, &archive, &archive.entries[i]);
  tapc_archive_close(&archive);
  return status;
}

static int missing(session *s, const tapc_tensor *tensor) {
  char shape[512];
  return tapc_fail(&s->fault, TAPC_USAGE, "input \"%s\" is missing: expected --input %s=FILE with %s %s, or --random SEED", tensor->name, tensor->name,
    tapc_dtype_of(tensor->dtype)->name, tapc_shape_text(shape, sizeof shape, tensor->rank, tensor->shape));
}

static int load_inputs(session *s) {
  const tapc_program *p = s->program;
  int status = 0;
  for (int i = 0; !status && i < p->n_inputs; i++)
    if (s->options.input_files[i]) status = load_named(s, i);
  for (size_t i = 0; !status && i < s->options.n_archives; i++) status = load_archive(s, s->options.archives[i]);
  for (int i = 0; !status && i < p->n_inputs; i++)
    if (!s->given[i] && p->inputs[i].file) status = load_source(s, i);
  tapc_about(&s->fault, "%s", "");
  for (int i = 0; !status && !s->possible && i < p->n_inputs; i++) {
    if (s->given[i]) continue;
    if (!s->options.random) return missing(s, &p->inputs[i]);
    tapc_tensor want = tapc_dense(&p->inputs[i]);
    tapc_random(&want, s->options.seed, s->in[i]);
    tapc_spread(&p->inputs[i], s->in[i]);
  }
  return status;
}

// ---- Outputs -------------------------------------------------------------------------------------------------

// Whether the command line says where outputs go.
static int asked(const session *s) {
  int yes = s->options.output_archive != NULL;
  for (int i = 0; i < s->program->n_outputs; i++) yes |= s->options.output_files[i] != NULL && !(s->paths && s->paths[i]);
  return yes;
}

// Finds where outputs go that the program names files for, and the command line none.
static int find_paths(session *s) {
  size_t n = (size_t)s->program->n_outputs;
  if (!(s->paths = calloc(n + 1, sizeof *s->paths))) return tapc_no_memory(&s->fault, n * sizeof *s->paths, "the output files");
  for (size_t i = 0; i < n; i++) {
    const tapc_file *file = s->program->outputs[i].file;
    if (!file || s->options.output_files[i]) continue;
    if (!(s->paths[i] = path_of(s, file->path))) return s->fault.status;
    s->options.output_files[i] = s->paths[i];
  }
  return 0;
}

static int open_outputs(session *s) {
  int status = 0;
  for (int i = 0; !status && i < s->program->n_outputs; i++)
    if (s->options.output_files[i]) status = tapc_sink_open(&s->sink, s->options.output_files[i], &s->fault);
  if (!status && s->options.output_archive) status = tapc_sink_open(&s->sink, s->options.output_archive, &s->fault);
  return status;
}

// Refuses, before the run, a format that cannot hold the output's element type.
static int check_holds(session *s, const tapc_tensor *tensor, const char *path) {
  tapc_format format;
  const tapc_dtype_info *info = tapc_dtype_of(tensor->dtype);
  if (!path || !tapc_format_of(path, &format)) return 0;
  if (format == TAPC_SAFETENSORS ? info->tag != NULL : info->descr != NULL) return 0;
  return tapc_fail(
    &s->fault, TAPC_USAGE, "output \"%s\": %s cannot hold %s; expected a file name that ends in %s", tensor->name, path, info->name, info->tag ? ".safetensors" : ".npy or .npz");
}

static int check_outputs(session *s) {
  int status = 0;
  for (int i = 0; !status && i < s->program->n_outputs; i++) {
    status = check_holds(s, &s->program->outputs[i], s->options.output_files[i]);
    if (!status) status = check_holds(s, &s->program->outputs[i], s->options.output_archive);
  }
  return status;
}

static int write_archive(session *s, const tapc_tensor *outputs) {
  size_t n = (size_t)s->program->n_outputs;
  const tapc_tensor **tensors = calloc(n + 1, sizeof *tensors);
  if (!tensors) return tapc_no_memory(&s->fault, n * sizeof *tensors, "the output files");
  for (size_t i = 0; i < n; i++) tensors[i] = &outputs[i];
  int status = tapc_sink_write(&s->sink, s->options.output_archive, tensors, s->out, n, &s->fault);
  free(tensors);
  return status;
}

// Writes outputs that stand row-major by now.
static int write_dense(session *s, const tapc_tensor *outputs) {
  int status = 0;
  for (int i = 0; !status && i < s->program->n_outputs; i++) {
    tapc_tensor named = outputs[i];
    const tapc_tensor *tensor = &named;
    if (s->paths[i] && named.file->key) named.name = named.file->key;
    if (s->options.output_files[i]) status = tapc_sink_write(&s->sink, s->options.output_files[i], &tensor, &s->out[i], 1, &s->fault);
  }
  if (!status && s->options.output_archive) status = write_archive(s, outputs);
  if (!status && !asked(s) && !s->options.bench)
    for (int i = 0; i < s->program->n_outputs; i++)
      if (!s->paths[i]) tapc_print_tensor(stdout, &outputs[i], s->out[i]);
  return status ? status : tapc_sink_commit(&s->sink, &s->fault);
}

static int write_outputs(session *s) {
  size_t n = (size_t)s->program->n_outputs;
  tapc_tensor *dense = calloc(n + 1, sizeof *dense);
  if (!dense) return tapc_no_memory(&s->fault, n * sizeof *dense, "the outputs");
  for (size_t i = 0; i < n; i++) {
    dense[i] = tapc_dense(&s->program->outputs[i]);
    tapc_gather(&s->program->outputs[i], s->out[i]);
  }
  int status = write_dense(s, dense);
  free(dense);
  return status;
}

// ---- The whole -----------------------------------------------------------------------------------------------

static void **make_buffers(session *s, const tapc_tensor *tensors, int n) {
  void **buffers = calloc((size_t)n + 1, sizeof *buffers);
  if (!buffers) tapc_no_memory(&s->fault, (uint64_t)n * sizeof *buffers, "buffers");
  for (int i = 0; buffers && i < n; i++) {
    if ((buffers[i] = tensors[i].over ? s->in[tensors[i].over - 1] : tapc_alloc(tensors[i].bytes))) continue;
    tapc_no_memory(&s->fault, tensors[i].bytes, tensors[i].name);
    break; // the status says that it failed; release frees what is there
  }
  return buffers;
}

static void free_buffers(void **buffers, const tapc_tensor *tensors, int n) {
  for (int i = 0; buffers && i < n; i++)
    if (!tensors[i].over) tapc_free(buffers[i]);
  free(buffers);
}

// Refuses to start what could not end.
static int check_memory(session *s) {
  const tapc_program *p = s->program;
  if (!p->peak_bytes) return 0;
  int threads = s->options.threads ? s->options.threads : tapc_default_threads();
  uint64_t others = (uint64_t)threads - 1, groups = tapc_group_bytes(p, threads), workspaces = tapc_workspace_bytes(p, threads);
  uint64_t bytes = p->peak_bytes + groups + workspaces + (uint64_t)s->options.bench * sizeof(double), gaps = tapc_arena_bytes(p, threads) - p->arena_bytes - groups - workspaces;
  if (s->options.profile) bytes += (uint64_t)p->n_steps * (sizeof(double) + sizeof(int)) + (uint64_t)p->n_devices * sizeof(double);
  if (others) bytes += p->threads_bytes;
  return tapc_memory_check(bytes + others * p->thread_bytes, bytes + gaps - p->constants_bytes + others * TAPC_STACK, &s->fault);
}

// Goes on with the version for the sizes of the inputs that are read from files, and of --dim; the greatest where these leave several.
static int choose_version(session *s) {
  const tapc_program *p = s->program;
  int status = 0, v = p->n_versions - 1;
  if (!p->n_versions) return 0;
  unsigned char *possible = malloc((size_t)p->n_versions);
  if (!possible) return tapc_no_memory(&s->fault, (uint64_t)p->n_versions, "the sizes");
  memset(possible, 1, (size_t)p->n_versions);
  for (int d = 0; !status && d < p->n_dims; d++)
    if (s->options.sizes[d] >= 0) status = tapc_narrow_dim(p, possible, d, s->options.sizes[d], &s->fault);
  s->possible = possible;
  if (!status) status = load_inputs(s);
  s->possible = NULL;
  while (!status && !possible[v]) v--;
  free(possible);
  if (status) return status;
  memset(s->given, 0, (size_t)p->n_inputs);
  s->program = &p->versions[v];
  return 0;
}

static int prepare(session *s) {
  if (!(s->given = calloc((size_t)s->program->n_inputs + 1, 1))) return tapc_no_memory(&s->fault, (uint64_t)s->program->n_inputs, "the inputs");
  if (choose_version(s)) return s->fault.status;
  const tapc_program *p = s->program;
  if (check_memory(s)) return s->fault.status;
  s->in = make_buffers(s, p->inputs, p->n_inputs);
  if (!s->fault.status) s->out = make_buffers(s, p->outputs, p->n_outputs);
  if (s->fault.status) return s->fault.status;
  int status = find_paths(s);
  if (!status) status = check_outputs(s);
  if (!status) status = load_inputs(s);
  if (!status) status = open_outputs(s);
  if (status) return status;
  s->instance = tapc_instance_new(p, s->options.threads, 1, &s->fault);
  if (s->instance && s->options.pin) tapc_instance_bind(s->instance, 0, &s->fault);
  return s->fault.status;
}

static int compute(session *s) {
  const void *const *in = (const void *const *)s->in;
  if (s->options.bench) {
    int status = tapc_bench(stdout, s->instance, s->options.bench, s->options.warm_up, in, s->out, &s->fault);
    if (status || !s->options.profile) return status;
    return tapc_profile(stdout, s->program, s->instance, s->options.bench, in, s->out, &s->fault);
  }
  return tapc_instance_call(s->instance, in, s->out, &s->fault);
}

static int run(session *s) {
  int status = prepare(s);
  if (!status) status = compute(s);
  if (!status) status = write_outputs(s);
  tapc_sink_close(&s->sink);
  tapc_instance_destroy(s->instance);
  free_buffers(s->out, s->program->outputs, s->program->n_outputs);
  free_buffers(s->in, s->program->inputs, s->program->n_inputs);
  for (int i = 0; s->paths && i < s->program->n_outputs; i++) free(s->paths[i]);
  free(s->paths);
  free(s->given);
  return status;
}

static int act(session *s, const char *self) {
  switch (s->options.action) {
  case TAPC_HELP:
    tapc_print_help(stdout, s->program, self);
    return 0;
  case TAPC_DESCRIBE:
    puts(s->program->describe ? s->program->describe : "{}");
    return 0;
  case TAPC_VERSION_TEXT:
    printf("%s, compiled by tapc %s\n", s->program->name, TAPC_VERSION);
    return 0;
  default:
    return run(s);
  }
}

int main(int argc, char **argv) {
  session s = {.program = &tapc_main_program};
  const char *self = argc > 0 && argv[0] && *argv[0] ? argv[0] : s.program->name, *slash = strrchr(self, '/');
  if (slash && slash[1]) self = slash + 1;
#ifdef SIGXFSZ
  signal(SIGXFSZ, SIG_IGN); // a file size limit is then a write error like any other
#endif
  int status = tapc_options_parse(&s.options, s.program, argc, argv, &s.fault);
  if (!status) status = act(&s, self);
  tapc_options_free(&s.options);
  if ((fflush(stdout) || ferror(stdout)) && !status) status = tapc_fail(&s.fault, TAPC_INTERNAL, "cannot write to standard output: %s", strerror(errno));
  if (status) fprintf(stderr, "%s: error: %s\n", self, s.fault.text);
  return status;
}
