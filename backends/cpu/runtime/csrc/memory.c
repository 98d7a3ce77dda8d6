// Memory for tensors.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "internal.h"

void *tapc_alloc(size_t bytes) {
  const size_t huge = (size_t)2 << 20;
  size_t align = bytes >= huge ? huge : 64;
  if (bytes > SIZE_MAX / 2) return NULL;
  void *memory = NULL;
  if (posix_memalign(&memory, align, bytes ? bytes : 1)) return NULL;
#ifdef MADV_HUGEPAGE
  if (bytes >= huge) (void)madvise(memory, bytes & ~(huge - 1), MADV_HUGEPAGE); // only advice: failure changes nothing
#endif
  return memory;
}

void tapc_free(void *memory) { free(memory); }
