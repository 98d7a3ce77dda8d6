// Prints how many processors the control groups grant that two files tell of.
#include <stdio.h>

#include "internal.h"

int main(int argc, char **argv) {
  if (argc != 3) return 1;
  printf("%d\n", tapc_group_limit(argv[1], argv[2]));
  return 0;
}
