// Output files: written beside their final place and renamed when all are complete, so that no reader ever sees half a file and
// a failed run leaves none. Where the system can make files without a name, they get one when they are complete, so that not even
// a kill leaves a part; elsewhere, and in the moment between, a signal that ends the program removes them.
#define _FILE_OFFSET_BITS 64
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

typedef struct tapc_sink_file {
  const char *path;      // the caller's
  char *volatile beside; // its name at first; NULL while it has none
  FILE *to;
  tapc_format format;
  int nameless; // it can be without a name
} tapc_sink_file;

// ---- Signals -------------------------------------------------------------------------------------------------

static tapc_sink *volatile writing; // whose files a signal removes
static pthread_t writer;

// Removes the files on the thread that writes them, which therefore does not change them meanwhile, and ends the program as the
// signal does. Everything here may be called in a signal handler.
static void remove_parts(int number) {
  if (!pthread_equal(pthread_self(), writer)) {
    pthread_kill(writer, number);
    return;
  }
  tapc_sink *sink = writing;
  for (size_t i = 0; sink && i < sink->n; i++)
    if (sink->files[i].beside) unlink(sink->files[i].beside);
  signal(number, SIG_DFL);
  raise(number); // comes when this returns
}

// Has the signals that end programs remove the files of a sink, unless the program was told to ignore them.
static void guard(tapc_sink *sink) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  if (writing == sink) return;
  writer = pthread_self();
  writing = sink;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction action = {.sa_handler = remove_parts, .sa_flags = SA_RESTART}, before;
    for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) sigaddset(&action.sa_mask, numbers[j]);
    if (!sigaction(numbers[i], NULL, &before) && before.sa_handler == SIG_DFL) sigaction(numbers[i], &action, NULL);
  }
}

// ---- Files ---------------------------------------------------------------------------------------------------

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

// As many files may be open without names; programs may have more outputs than a process may have files.
enum { MOST_NAMELESS = 32 };

static int cannot_write(const tapc_sink_file *file, int error, tapc_fault *fault) {
  return tapc_fail(fault, unfit(error) ? TAPC_USAGE : TAPC_INTERNAL, "cannot write %s: %s", file->path, strerror(error));
}

// Gives an open file without a name one beside its place.
static int name_part(tapc_sink_file *file, int fd) {
  size_t room = strlen(file->path) + 48;
  char *beside = malloc(room), self[32];
  if (!beside) return -1;
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  for (int i = 0; i < 1000; i++) {
    snprintf(beside, room, "%s.part-%ld-%d", file->path, (long)getpid(), i);
    if (!linkat(AT_FDCWD, self, AT_FDCWD, beside, AT_SYMLINK_FOLLOW)) {
      file->beside = beside;
      return 0;
    }
    if (errno != EEXIST) break;
  }
  int error = errno;
  free(beside);
  errno = error;
  return -1;
}

static void drop_part(tapc_sink_file *file) {
  char *beside = file->beside;
  if (beside) unlink(beside);
  file->beside = NULL;
  free(beside);
}

// Opens a file without a name in the folder of path; -1 if the system has none.
static int open_nameless(const char *path) {
#ifdef O_TMPFILE
  const char *slash = strrchr(path, '/');
  char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
  int fd = folder ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
  free(folder);
  return fd;
#else
  (void)path;
  return -1;
#endif
}

// Opens a file under a name beside its place.
static int open_beside(tapc_sink_file *file) {
  size_t room = strlen(file->path) + 16;
  char *beside = malloc(room);
  if (!beside) return -1;
  snprintf(beside, room, "%s.part-XXXXXX", file->path);
  file->beside = beside; // a signal while it is made removes it
  int fd = mkstemp(beside);
  if (fd < 0) {
    int error = errno;
    file->beside = NULL;
    free(beside);
    errno = error;
    return -1;
  }
  mode_t mask = umask(0);
  umask(mask);
  (void)fchmod(fd, 0666 & ~mask); // mkstemp makes private files
  return fd;
}

static int create(tapc_sink_file *file, tapc_fault *fault) {
  struct stat st;
  if (!stat(file->path, &st) && !S_ISREG(st.st_mode))
    return tapc_fail(fault, TAPC_USAGE, "cannot write %s: expected a regular file or none there, found %s", file->path, S_ISDIR(st.st_mode) ? "a directory" : "something else");
  int fd = file->nameless ? open_nameless(file->path) : -1;
  file->nameless = fd >= 0;
  if (fd < 0) fd = open_beside(file);
  if (fd < 0) return cannot_write(file, errno, fault);
  file->to = fdopen(fd, "wb");
  if (file->to) return 0;
  close(fd);
  return tapc_no_memory(fault, BUFSIZ, "writing a file");
}

// Removes what create made, unless it is in its place.
static void discard(tapc_sink_file *file) {
  if (file->to) fclose(file->to);
  file->to = NULL;
  drop_part(file);
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
  if (!tapc_format_of(path, &file->format)) return tapc_fail(fault, TAPC_USAGE, "expected a file name that ends in .npy, .npz or .safetensors, found \"%s\"", path);
  file->nameless = sink->n < MOST_NAMELESS;
  sink->n++;
  guard(sink);
  int status = create(file, fault);
  if (!status && file->nameless) file->nameless = !name_part(file, fileno(file->to)); // not all systems let it have one later
  discard(file); // it could be made; made again when there is something to write, it is not left behind by a kill during the run
  return status;
}

int tapc_sink_write(tapc_sink *sink, const char *path, const tapc_tensor *const *tensors, void *const *data, size_t n, tapc_fault *fault) {
  for (size_t i = 0; i < sink->n; i++) {
    tapc_sink_file *file = &sink->files[i];
    if (file->path != path) continue;
    if (create(file, fault)) return fault->status;
    int failed = tapc_pack(file->to, file->format, tensors, data, n) || fflush(file->to), error = errno;
    if (!failed && !file->nameless) {
      failed = fclose(file->to);
      error = errno;
      file->to = NULL;
    }
    if (failed) return tapc_fail(fault, TAPC_INTERNAL, "cannot write %s: %s", path, strerror(error));
    return 0;
  }
  return tapc_fail(fault, TAPC_INTERNAL, "%s was not opened", path);
}

// Moves a file to its place.
static int put_in_place(tapc_sink_file *file) {
  if (file->nameless) {
    if (name_part(file, fileno(file->to))) return -1;
    int failed = fclose(file->to);
    file->to = NULL;
    if (failed) return -1;
  }
  char *beside = file->beside;
  if (rename(beside, file->path)) return -1;
  file->beside = NULL;
  free(beside);
  return 0;
}

int tapc_sink_commit(tapc_sink *sink, tapc_fault *fault) {
  for (size_t i = 0; i < sink->n; i++) {
    tapc_sink_file *file = &sink->files[i];
    if (!put_in_place(file)) continue;
    int status = tapc_fail(fault, TAPC_INTERNAL, "cannot write %s: %s", file->path, strerror(errno));
    for (size_t j = 0; j < i; j++) unlink(sink->files[j].path);
    return status;
  }
  return 0;
}

void tapc_sink_close(tapc_sink *sink) {
  for (size_t i = 0; i < sink->n; i++) discard(&sink->files[i]);
  writing = NULL;
  free(sink->files);
  memset(sink, 0, sizeof *sink);
}
