// The command line: one table of flags.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

enum { MOST_RUNS = 10000000, MOST_WARMING = 60000 };

// What a flag takes: nothing; a value, once; a value each time, as there is one for each tensor or file.
typedef enum takes { ALONE, VALUE, VALUES } takes;

typedef struct flag {
  const char *name;
  takes takes;
  int (*apply)(tapc_options *options, const char *value, tapc_fault *fault);
} flag;

const char *tapc_input_name(const void *program, size_t i) { return ((const tapc_program *)program)->inputs[i].name; }
static const char *output_name(const void *program, size_t i) { return ((const tapc_program *)program)->outputs[i].name; }

// A name that no input or output has. `given` is cut at its first "=".
static int unknown(const tapc_program *program, int output, const char *given, tapc_fault *fault) {
  char name[128], list[512] = "";
  size_t n = (size_t)(output ? program->n_outputs : program->n_inputs), used = 0;
  const char *(*candidate)(const void *, size_t) = output ? output_name : tapc_input_name;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(given, "="), given);
  const char *near = tapc_nearest(name, candidate, program, n);
  for (size_t i = 0; i < n && i < 12 && used < sizeof list; i++) used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", candidate(program, i));
  if (n > 12 && used < sizeof list) snprintf(list + used, sizeof list - used, ", ...");
  return tapc_fail(fault, TAPC_USAGE, "no %s is named \"%s\"%s%s%s (%s: %s)", output ? "output" : "input", name, near ? "; did you mean \"" : "", near ? near : "",
    near ? "\"?" : "", output ? "outputs" : "inputs", n ? list : "none");
}

// The tensor whose name and "=" begin the text, the longest such; -1 for none. *rest is what follows.
static int match(const tapc_tensor *tensors, int n, const char *text, const char **rest) {
  int best = -1;
  size_t longest = 0;
  for (int i = 0; i < n; i++) {
    size_t length = strlen(tensors[i].name);
    if (strncmp(text, tensors[i].name, length) || text[length] != '=' || (best >= 0 && length <= longest)) continue;
    best = i;
    longest = length;
    *rest = text + length + 1;
  }
  return best;
}

static int apply_inputs(tapc_options *o, const char *value, tapc_fault *fault) {
  (void)fault;
  o->archives[o->n_archives++] = value; // as long as argv
  return 0;
}

static int apply_input(tapc_options *o, const char *value, tapc_fault *fault) {
  const char *file = NULL;
  int i = match(o->program->inputs, o->program->n_inputs, value, &file);
  if (i < 0 && strchr(value, '=') && access(value, F_OK)) return unknown(o->program, 0, value, fault);
  if (i < 0) return apply_inputs(o, value, fault);
  if (o->input_files[i]) return tapc_fail(fault, TAPC_USAGE, "--input %s is given twice", o->program->inputs[i].name);
  if (!*file) return tapc_fail(fault, TAPC_USAGE, "--input %s: expected a file after \"=\"", o->program->inputs[i].name);
  o->input_files[i] = file;
  return 0;
}

static int check_ending(const char *name, const char *path, int many, tapc_fault *fault) {
  tapc_format format;
  if (tapc_format_of(path, &format) && !(many && format == TAPC_NPY)) return 0;
  return tapc_fail(fault, TAPC_USAGE, "%s: expected a file name that ends in %s.npz or .safetensors, found \"%s\"", name, many ? "" : ".npy, ", path);
}

static int apply_output(tapc_options *o, const char *value, tapc_fault *fault) {
  const char *file = NULL;
  int i = match(o->program->outputs, o->program->n_outputs, value, &file);
  if (i < 0 && !strchr(value, '=')) return tapc_fail(fault, TAPC_USAGE, "--output: expected NAME=FILE, found \"%s\"", value);
  if (i < 0) return unknown(o->program, 1, value, fault);
  if (o->output_files[i]) return tapc_fail(fault, TAPC_USAGE, "--output %s is given twice", o->program->outputs[i].name);
  o->output_files[i] = file;
  return check_ending("--output", file, 0, fault);
}

static int apply_outputs(tapc_options *o, const char *value, tapc_fault *fault) {
  o->output_archive = value;
  return check_ending("--outputs", value, 1, fault);
}

// A whole number from least to most, in decimal.
static int number(const char *name, const char *text, uint64_t least, uint64_t most, uint64_t *value, tapc_fault *fault) {
  char *end = NULL;
  errno = 0;
  *value = strtoull(text, &end, 10);
  if (*text >= '0' && *text <= '9' && !*end && !errno && *value >= least && *value <= most) return 0;
  return tapc_fail(fault, TAPC_USAGE, "%s: expected a whole number from %llu to %llu, found \"%s\"", name, (unsigned long long)least, (unsigned long long)most, text);
}

static int apply_random(tapc_options *o, const char *value, tapc_fault *fault) {
  o->random = 1;
  return number("--random", value, 0, UINT64_MAX, &o->seed, fault);
}

static int apply_data_dir(tapc_options *o, const char *value, tapc_fault *fault) {
  (void)fault;
  o->data_dir = value;
  return 0;
}

static int apply_threads(tapc_options *o, const char *value, tapc_fault *fault) {
  uint64_t n = 0;
  int status = number("--threads", value, 1, TAPC_MAX_THREADS, &n, fault);
  o->threads = (int)n;
  return status;
}

static int apply_bench(tapc_options *o, const char *value, tapc_fault *fault) {
  uint64_t n = 0;
  int status = number("--bench", value, 1, MOST_RUNS, &n, fault);
  o->bench = (int64_t)n;
  return status;
}

static int apply_warm_up(tapc_options *o, const char *value, tapc_fault *fault) {
  uint64_t ms = 0;
  int status = number("--warm-up", value, 0, MOST_WARMING, &ms, fault);
  o->warm_up = (int64_t)ms;
  return status;
}

static const char *dim_name(const void *program, size_t i) { return ((const tapc_program *)program)->dims[i]; }

static int apply_dim(tapc_options *o, const char *value, tapc_fault *fault) {
  const char *equals = strrchr(value, '=');
  uint64_t n = 0;
  if (!equals || equals == value) return tapc_fail(fault, TAPC_USAGE, "--dim: expected NAME=SIZE, found \"%s\"", value);
  for (int d = 0; d < o->program->n_dims; d++) {
    if (strncmp(value, o->program->dims[d], (size_t)(equals - value)) || o->program->dims[d][equals - value]) continue;
    if (o->sizes[d] >= 0) return tapc_fail(fault, TAPC_USAGE, "--dim %s is given twice", o->program->dims[d]);
    int status = number("--dim", equals + 1, 0, INT64_MAX, &n, fault);
    o->sizes[d] = (int64_t)n;
    return status;
  }
  char name[128];
  snprintf(name, sizeof name, "%.*s", (int)(equals - value), value);
  const char *near = tapc_nearest(name, dim_name, o->program, (size_t)o->program->n_dims);
  return tapc_fail(fault, TAPC_USAGE, "--dim: no dimension with several sizes is named \"%s\"%s%s%s", name, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static int ask(tapc_options *o, tapc_action action) {
  if (o->action == TAPC_RUN) o->action = action; // the first question wins
  return 0;
}

static int apply_help(tapc_options *o, const char *value, tapc_fault *fault) {
  (void)value, (void)fault;
  return ask(o, TAPC_HELP);
}

static int apply_describe(tapc_options *o, const char *value, tapc_fault *fault) {
  (void)value, (void)fault;
  return ask(o, TAPC_DESCRIBE);
}

static int apply_profile(tapc_options *o, const char *value, tapc_fault *fault) {
  (void)value, (void)fault;
  o->profile = 1;
  return 0;
}

static int apply_pin(tapc_options *o, const char *value, tapc_fault *fault) {
  (void)value, (void)fault;
  o->pin = 1;
  return 0;
}

static int apply_version(tapc_options *o, const char *value, tapc_fault *fault) {
  (void)value, (void)fault;
  return ask(o, TAPC_VERSION_TEXT);
}

static const flag flags[] = {
  {"--bench", VALUE, apply_bench},
  {"--data-dir", VALUE, apply_data_dir},
  {"--describe", ALONE, apply_describe},
  {"--dim", VALUES, apply_dim},
  {"--help", ALONE, apply_help},
  {"--input", VALUES, apply_input},
  {"--inputs", VALUES, apply_inputs},
  {"--output", VALUES, apply_output},
  {"--outputs", VALUE, apply_outputs},
  {"--pin", ALONE, apply_pin},
  {"--profile", ALONE, apply_profile},
  {"--random", VALUE, apply_random},
  {"--threads", VALUE, apply_threads},
  {"--version", ALONE, apply_version},
  {"--warm-up", VALUE, apply_warm_up},
  {"-h", ALONE, apply_help},
};
enum { FLAGS = sizeof flags / sizeof flags[0] };

static const char *flag_name(const void *from, size_t i) {
  (void)from;
  return flags[i].name;
}

static int bad_argument(const char *argument, tapc_fault *fault) {
  char name[64];
  if (argument[0] != '-') return tapc_fail(fault, TAPC_USAGE, "unexpected argument \"%s\": inputs are given as --input NAME=FILE (see --help)", argument);
  snprintf(name, sizeof name, "%.*s", (int)strcspn(argument, "="), argument);
  const char *near = tapc_nearest(name, flag_name, NULL, FLAGS);
  return tapc_fail(fault, TAPC_USAGE, "no flag is named %s%s%s%s (see --help)", name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

// The argument at argv[*i], with its value from "=" or the next argument. seen has a bit for each flag that came before.
static int take_argument(tapc_options *o, char **argv, int *i, unsigned *seen, tapc_fault *fault) {
  const char *argument = argv[*i];
  for (size_t f = 0; f < FLAGS; f++) {
    size_t length = strlen(flags[f].name);
    if (strncmp(argument, flags[f].name, length)) continue;
    if (argument[length] && argument[length] != '=') continue;
    const char *value = argument[length] ? argument + length + 1 : NULL;
    if (flags[f].takes == ALONE && value) return tapc_fail(fault, TAPC_USAGE, "%s takes no value", flags[f].name);
    if (flags[f].takes != ALONE && !value && !(value = argv[++*i])) return tapc_fail(fault, TAPC_USAGE, "%s: expected a value after it", argument);
    if (flags[f].takes != VALUES && *seen & 1u << f) return tapc_fail(fault, TAPC_USAGE, "%s is given twice", flags[f].name);
    *seen |= 1u << f;
    return flags[f].apply(o, value, fault);
  }
  return bad_argument(argument, fault);
}

// One file for two outputs would lose one.
static int check_files(const tapc_options *o, tapc_fault *fault) {
  for (int i = 0; i < o->program->n_outputs; i++) {
    const char *file = o->output_files[i];
    int twice = file && o->output_archive && !strcmp(file, o->output_archive);
    for (int j = 0; file && j < i; j++) twice |= o->output_files[j] && !strcmp(file, o->output_files[j]);
    if (twice) return tapc_fail(fault, TAPC_USAGE, "expected a file for each --output, found %s twice", file);
  }
  return 0;
}

int tapc_options_parse(tapc_options *o, const tapc_program *program, int argc, char **argv, tapc_fault *fault) {
  memset(o, 0, sizeof *o);
  o->program = program;
  o->warm_up = -1;
  o->input_files = calloc((size_t)program->n_inputs + 1, sizeof *o->input_files);
  o->output_files = calloc((size_t)program->n_outputs + 1, sizeof *o->output_files);
  o->archives = calloc((size_t)argc + 1, sizeof *o->archives);
  o->sizes = malloc(((size_t)program->n_dims + 1) * sizeof *o->sizes);
  for (int d = 0; o->sizes && d < program->n_dims; d++) o->sizes[d] = -1;
  if (!o->input_files || !o->output_files || !o->archives || !o->sizes) return tapc_no_memory(fault, 0, "the command line");
  unsigned seen = 0;
  for (int i = 1; i < argc; i++) {
    int status = take_argument(o, argv, &i, &seen, fault);
    if (status) return status;
  }
  if (o->profile && !o->bench) return tapc_fail(fault, TAPC_USAGE, "--profile: expected --bench N beside it");
  if (o->warm_up >= 0 && !o->bench) return tapc_fail(fault, TAPC_USAGE, "--warm-up: expected --bench N beside it");
  return check_files(o, fault);
}

void tapc_options_free(tapc_options *o) {
  free(o->input_files);
  free(o->output_files);
  free(o->archives);
  free(o->sizes);
}
