// Prints the value of every code of every float of at most 16 bits: the element type, the code, the bits of the value as a double.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

int main(void) {
  for (int d = TAPC_BOOL; d < TAPC_DTYPES; d++) {
    const tapc_dtype_info *info = tapc_dtype_of(d);
    if (!tapc_float_of(d)) continue;
    for (uint32_t code = 0; code < 1u << info->bits; code++) {
      uint16_t element = (uint16_t)code;
      double value = tapc_load_float(d, &element);
      uint64_t bits;
      memcpy(&bits, &value, 8);
      printf("%s %" PRIu32 " %" PRIu64 "\n", info->name, code, value != value ? 0 : bits);
    }
  }
  return 0;
}
