// Checks which results go past the caches; prints "ok" or what went wrong. It includes the source, to see machines that it does not run on.
#define _GNU_SOURCE
#include <stdio.h>

#include "features.c"

#define CHECK(condition)                                                                                                                                                           \
  if (!(condition)) {                                                                                                                                                              \
    printf("line %d: not so: %s\n", __LINE__, #condition);                                                                                                                         \
    return 1;                                                                                                                                                                      \
  }

int main(void) {
  const int64_t mb = 1 << 20, half = mb / 2;
  CHECK(!goes_past(0, 32 * mb - 1, 1) && goes_past(0, 32 * mb, 1) && goes_past(0, 32 * mb, 64)); // usual caches
  CHECK(!goes_past(2 * mb, 5 * half, 1) && goes_past(2 * mb, 5 * half + 1, 1));                  // a quarter more than the second cache has
  CHECK(!goes_past(2 * mb, 10 * half, 2) && goes_past(2 * mb, 11 * half, 2));                    // each thread has its own
  CHECK(!goes_past(2 * mb, 64 * mb, 64));
  int64_t near = find_near();
  CHECK(near == 0 || near >= 2 * mb);
  for (int i = 0; i < 2; i++) CHECK(tapc_far(1, 1) == 0 && tapc_far(1, 1 << 30) == 1 && tapc_far(1, 8 * mb) == (near > 0 && 8 * mb > near + near / 4));
  printf("ok\n");
  return 0;
}
