// Reads tensor "a", float32 [2, 3], from each file named on standard input; prints for each "ok", the element bits and a
// newline, or "no" and the error. For comparison with the reader in Go.
#include <string.h>

#include "internal.h"

static const int64_t shape[] = {2, 3};
static const tapc_tensor want = {"a", TAPC_F32, 2, NULL, shape, 24, 0, NULL, 0, NULL};

static void read_one(const char *path) {
  tapc_fault fault = {.status = 0};
  tapc_archive archive;
  uint32_t data[6] = {0};
  int status = tapc_archive_open(&archive, path, &fault);
  if (!status) {
    const tapc_entry *entry = tapc_archive_find(&archive, "a");
    if (!entry && archive.n == 1) entry = archive.entries;
    status = entry ? tapc_archive_load(&archive, entry, &want, data, &fault) : tapc_fail(&fault, TAPC_INPUT, "no entry");
    tapc_archive_close(&archive);
  }
  if (status) {
    printf("no %s\n", fault.text);
    return;
  }
  printf("ok");
  for (int i = 0; i < 6; i++) printf(" %08x", (unsigned)data[i]);
  putchar('\n');
}

int main(void) {
  char path[4096];
  while (fgets(path, sizeof path, stdin)) {
    path[strcspn(path, "\n")] = 0;
    read_one(path);
  }
  return 0;
}
