// Output files: written beside their final place and renamed when all are complete, so that no reader ever sees half a file and
// a failed run leaves none.
#define _FILE_OFFSET_BITS 64
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

typedef struct tapc_sink_file {
  const char *path; // the caller's
  char *beside;     // where the bytes go at first; NULL once removed
  FILE *to;
  tapc_format format;
  int placed;
} tapc_sink_file;

int tapc_format_of(const char *path, tapc_format *format) {
  static const char *const endings[] = {[TAPC_NPY] = ".npy", [TAPC_NPZ] = ".npz", [TAPC_SAFETENSORS] = ".safetensors"};
  size_t length = strlen(path);
  for (int f = TAPC_NPY; f <= TAPC_SAFETENSORS; f++) {
    size_t ending = strlen(endings[f]);
    if (length <= ending || strcmp(path + length - ending, endings[f])) continue;
    *format = (tapc_format)f;
    return 1;
  }
  return 0;
}

// Whether a file can not be made because of its name, and not of the disk or of permissions.
static int unfit(int error) { return error == ENOENT || error == ENOTDIR || error == EISDIR || error == ENAMETOOLONG; }

static int create(tapc_sink_file *file, tapc_fault *fault) {
  struct stat st;
  if (!stat(file->path, &st) && !S_ISREG(st.st_mode))
    return tapc_fail(fault, TAPC_USAGE, "cannot write %s: expected a regular file or none there, found %s", file->path,
                     S_ISDIR(st.st_mode) ? "a directory" : "something else");
  size_t room = strlen(file->path) + 16;
  file->beside = malloc(room);
  if (!file->beside) return tapc_no_memory(fault, room, "a file name");
  snprintf(file->beside, room, "%s.part-XXXXXX", file->path);
  int fd = mkstemp(file->beside);
  if (fd < 0) {
    int status = tapc_fail(fault, unfit(errno) ? TAPC_USAGE : TAPC_INTERNAL, "cannot write %s: %s", file->path, strerror(errno));
    free(file->beside);
    file->beside = NULL;
    return status;
  }
  mode_t mask = umask(0);
  umask(mask);
  (void)fchmod(fd, 0666 & ~mask); // mkstemp makes private files
  file->to = fdopen(fd, "wb");
  if (file->to) return 0;
  close(fd);
  return tapc_no_memory(fault, BUFSIZ, "writing a file");
}

// Removes what create made, unless it is in its place.
static void discard(tapc_sink_file *file) {
  if (file->to) fclose(file->to);
  if (file->beside && !file->placed) unlink(file->beside);
  free(file->beside);
  file->to = NULL;
  file->beside = NULL;
}

int tapc_sink_open(tapc_sink *sink, const char *path, tapc_fault *fault) {
  if (sink->n == sink->room) {
    size_t room = sink->room ? sink->room * 2 : 8;
    tapc_sink_file *more = realloc(sink->files, room * sizeof *more);
    if (!more) return tapc_no_memory(fault, room * sizeof *more, "the output files");
    sink->files = more;
    sink->room = room;
  }
  tapc_sink_file *file = &sink->files[sink->n];
  memset(file, 0, sizeof *file);
  file->path = path;
  if (!tapc_format_of(path, &file->format))
    return tapc_fail(fault, TAPC_USAGE, "expected a file name that ends in .npy, .npz or .safetensors, found \"%s\"", path);
  sink->n++;
  int status = create(file, fault);
  discard(file); // it could be made; made again when there is something to write, it is not left behind by a kill during the run
  return status;
}

int tapc_sink_write(tapc_sink *sink, const char *path, const tapc_tensor *const *tensors, void *const *data, size_t n,
                    tapc_fault *fault) {
  for (size_t i = 0; i < sink->n; i++) {
    tapc_sink_file *file = &sink->files[i];
    if (file->path != path) continue;
    if (create(file, fault)) return fault->status;
    int failed = tapc_pack(file->to, file->format, tensors, data, n), error = errno;
    if (fclose(file->to) && !failed) {
      failed = -1;
      error = errno;
    }
    file->to = NULL;
    if (failed) return tapc_fail(fault, TAPC_INTERNAL, "cannot write %s: %s", path, strerror(error));
    return 0;
  }
  return tapc_fail(fault, TAPC_INTERNAL, "%s was not opened", path);
}

int tapc_sink_commit(tapc_sink *sink, tapc_fault *fault) {
  for (size_t i = 0; i < sink->n; i++) {
    tapc_sink_file *file = &sink->files[i];
    if (rename(file->beside, file->path)) {
      int status = tapc_fail(fault, TAPC_INTERNAL, "cannot write %s: %s", file->path, strerror(errno));
      for (size_t j = 0; j < i; j++) unlink(sink->files[j].path);
      return status;
    }
    file->placed = 1;
  }
  return 0;
}

void tapc_sink_close(tapc_sink *sink) {
  for (size_t i = 0; i < sink->n; i++) discard(&sink->files[i]);
  free(sink->files);
  memset(sink, 0, sizeof *sink);
}
