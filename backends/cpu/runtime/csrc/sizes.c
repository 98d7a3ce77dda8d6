// Which version of a program for several sizes a run takes.
#include <string.h>

#include "internal.h"

enum { LISTED = 8, TEXT = 256 };

// Appends to a list of texts, with "or" before the last.
static size_t add_choice(char *list, size_t used, size_t room, const char *text, int nth, int n) {
  if (used >= room) return used;
  return used + (size_t)snprintf(list + used, room - used, "%s%s", !nth ? "" : nth + 1 < n ? ", " : " or ", text);
}

// Lists what versions have, each text once; of many the first and the last.
static const char *list_of(char *list, size_t room, const tapc_program *program, void (*text)(char *to, size_t room, const tapc_program *version, int which), int which) {
  char texts[LISTED][TEXT], next[TEXT];
  int n = 0, more = 0;
  size_t used = 0;
  for (int v = 0; v < program->n_versions; v++) {
    int known = 0;
    text(next, sizeof next, &program->versions[v], which);
    for (int i = 0; i < n; i++) known |= !strcmp(texts[i], next);
    if (known) continue;
    more |= n == LISTED;
    if (n < LISTED) n++;
    memcpy(texts[n - 1], next, sizeof next);
  }
  *list = 0;
  if (more) {
    snprintf(texts[LISTED - 3], TEXT, "...");
    for (int i = 0; i < 4; i++) used = add_choice(list, used, room, texts[(int[]){0, 1, LISTED - 3, LISTED - 1}[i]], i, 4);
    return list;
  }
  for (int i = 0; i < n; i++) used = add_choice(list, used, room, texts[i], i, n);
  return list;
}

static void size_text(char *to, size_t room, const tapc_program *version, int dim) { snprintf(to, room, "%lld", (long long)version->at[dim]); }

static void input_text(char *to, size_t room, const tapc_program *version, int input) { tapc_shape_text(to, room, version->inputs[input].rank, version->inputs[input].shape); }

static void sizes_text(char *to, size_t room, const tapc_program *version, int n_dims) { tapc_shape_text(to, room, n_dims, version->at); }

static int any_of(const tapc_program *program, const unsigned char *possible) {
  int found = 0;
  for (int v = 0; v < program->n_versions; v++) found |= possible[v];
  return found;
}

// Compares the sizes of a version with others, the first dimension's first.
static int compare_sizes(const tapc_program *version, const int64_t *sizes, int n_dims) {
  for (int d = 0; d < n_dims; d++)
    if (version->at[d] != sizes[d]) return version->at[d] < sizes[d] ? -1 : 1;
  return 0;
}

const tapc_program *tapc_version_at(const tapc_program *program, const int64_t *sizes, tapc_fault *fault) {
  char list[2048], found[256];
  for (int low = 0, high = program->n_versions; low < high;) { // they are in ascending order
    int middle = low + (high - low) / 2, order = compare_sizes(&program->versions[middle], sizes, program->n_dims);
    if (!order) return &program->versions[middle];
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  tapc_fail(fault, TAPC_USAGE, "sizes: expected %s, found %s", list_of(list, sizeof list, program, sizes_text, program->n_dims),
    tapc_shape_text(found, sizeof found, program->n_dims, sizes));
  return NULL;
}

int tapc_narrow_dim(const tapc_program *program, unsigned char *possible, int dim, int64_t size, tapc_fault *fault) {
  char list[2048];
  for (int v = 0; v < program->n_versions; v++) possible[v] &= program->versions[v].at[dim] == size;
  if (any_of(program, possible)) return 0;
  return tapc_fail(fault, TAPC_USAGE, "--dim %s: expected %s%s, found %lld", program->dims[dim], list_of(list, sizeof list, program, size_text, dim),
    program->n_dims > 1 ? ", with sizes of the others that go with it" : "", (long long)size);
}

int tapc_narrow_input(const tapc_program *program, unsigned char *possible, int input, const tapc_layout *found, tapc_fault *fault) {
  char list[2048], shape[256];
  int fits = 0;
  for (int v = 0; v < program->n_versions; v++) {
    const tapc_tensor *t = &program->versions[v].inputs[input];
    int same = t->rank == found->rank;
    for (int d = 0; same && d < t->rank; d++) same = t->shape[d] == found->shape[d];
    fits |= same;
    possible[v] &= (unsigned char)same;
  }
  if (any_of(program, possible)) return 0;
  return tapc_fail(fault, TAPC_INPUT, "shape: expected %s%s, found %s", list_of(list, sizeof list, program, input_text, input),
    fits ? ", and sizes that the other inputs have too" : "", tapc_shape_text(shape, sizeof shape, found->rank, found->shape));
}

void tapc_print_sizes(FILE *to, const tapc_program *program, int dim) {
  int64_t from = -1, last = -1;
  for (int i = 0; i < program->n_versions; i++) {
    int64_t next = INT64_MAX; // the least that is greater than the last
    for (int v = 0; v < program->n_versions; v++) {
      int64_t size = program->versions[v].at[dim];
      if (size > last && size < next) next = size;
    }
    if (next == INT64_MAX) break;
    if (from < 0 || next != last + 1) {
      if (from >= 0 && from < last) fprintf(to, "..%lld", (long long)last);
      fprintf(to, "%s%lld", from < 0 ? "" : ",", (long long)next);
      from = next;
    }
    last = next;
  }
  if (from < last) fprintf(to, "..%lld", (long long)last);
}
