// A stand-in for the matrix unit: its registers are memory, and its operations are written out as the manual defines them: denormal numbers and results
// are zeros, and a product is rounded with the sum it is added to. TestEmulatedUnit holds it to a processor. Generated code includes it where TAPC_TILES_HEADER names it.
#include <stdint.h>
#include <string.h>

static _Thread_local struct {
  int configured;
  uint8_t tile[8][16][64];
} tapc_unit;

__attribute__((unused)) static void tapc_tile_config(void) {
  memset(tapc_unit.tile, 0xff, sizeof tapc_unit.tile);
  tapc_unit.configured = 1;
}
__attribute__((unused)) static void tapc_tile_release(void) { tapc_unit.configured = 0; }

static void tapc_tile_check(void) {
  if (!tapc_unit.configured) __builtin_trap();
}
__attribute__((unused)) static void tapc_tile_zero(int t) {
  tapc_tile_check();
  memset(tapc_unit.tile[t], 0, 1024);
}
__attribute__((unused)) static void tapc_tile_load(int t, const void *p) {
  tapc_tile_check();
  memcpy(tapc_unit.tile[t], p, 1024);
}
__attribute__((unused)) static void tapc_tile_load_once(int t, const void *p) { tapc_tile_load(t, p); }
__attribute__((unused)) static void tapc_tile_load_apart(int t, const void *p, int64_t step) {
  tapc_tile_check();
  for (int r = 0; r < 16; r++) memcpy(tapc_unit.tile[t][r], (const char *)p + r * step, 64);
}
__attribute__((unused)) static void tapc_tile_store(int t, void *p) {
  tapc_tile_check();
  memcpy(p, tapc_unit.tile[t], 1024);
}

__attribute__((unused)) static void tapc_tile_bytes(int t, int a, int w) {
  tapc_tile_check();
  for (int m = 0; m < 16; m++)
    for (int n = 0; n < 16; n++) {
      uint32_t sum;
      memcpy(&sum, &tapc_unit.tile[t][m][4 * n], 4);
      for (int k = 0; k < 64; k++) sum += (uint32_t)(tapc_unit.tile[a][m][k] * (int8_t)tapc_unit.tile[w][k / 4][4 * n + k % 4]);
      memcpy(&tapc_unit.tile[t][m][4 * n], &sum, 4);
    }
}

// A number with zero, of its sign, where it is denormal.
static float tapc_tile_flush(float f) {
  uint32_t bits;
  memcpy(&bits, &f, 4);
  if (!(bits & 0x7f800000)) bits &= 0x80000000;
  memcpy(&f, &bits, 4);
  return f;
}

// A number of bfloat16.
static float tapc_tile_number(const uint8_t *p) {
  uint16_t bits;
  memcpy(&bits, p, 2);
  const uint32_t wide = (uint32_t)bits << 16;
  float f;
  memcpy(&f, &wide, 4);
  return tapc_tile_flush(f);
}

// The sum and the product of two numbers of bfloat16, rounded once.
static float tapc_tile_fused(float sum, float a, float w) { return tapc_tile_flush(__builtin_fmaf(a, w, sum)); }

__attribute__((unused)) static void tapc_tile_bf16(int t, int a, int w) {
  tapc_tile_check();
  for (int m = 0; m < 16; m++)
    for (int n = 0; n < 16; n++) {
      float even = 0, odd = 0, sum;
      for (int k = 0; k < 16; k++) {
        even = tapc_tile_fused(even, tapc_tile_number(&tapc_unit.tile[a][m][4 * k]), tapc_tile_number(&tapc_unit.tile[w][k][4 * n]));
        odd = tapc_tile_fused(odd, tapc_tile_number(&tapc_unit.tile[a][m][4 * k + 2]), tapc_tile_number(&tapc_unit.tile[w][k][4 * n + 2]));
      }
      memcpy(&sum, &tapc_unit.tile[t][m][4 * n], 4);
      sum = tapc_tile_flush(tapc_tile_flush(sum) + tapc_tile_flush(even + odd));
      memcpy(&tapc_unit.tile[t][m][4 * n], &sum, 4);
    }
}
