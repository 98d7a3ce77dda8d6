// The operations of the matrix unit on its registers, of 16 rows of 64 bytes. What is loaded "once" stays out of the first cache, so that it does not drive out what is
// loaded again. A test can name a header that emulates them.
#if defined(TAPC_TILES_HEADER)
#include TAPC_TILES_HEADER
#define TAPC_TILES 1
#elif defined(TAPC_X86_DOT)
#define TAPC_TILES 1
__attribute__((unused)) static const uint8_t tapc_tile_shapes[64] = {
  1, [16] = 64, [18] = 64, [20] = 64, [22] = 64, [24] = 64, [26] = 64, [28] = 64, [30] = 64, [48] = 16, 16, 16, 16, 16, 16, 16, 16};
#define tapc_tile_config() __asm__ volatile("ldtilecfg %0" ::"m"(tapc_tile_shapes))
#define tapc_tile_release() __asm__ volatile("tilerelease" ::)
#define tapc_tile_zero(t) __asm__ volatile("tilezero %%tmm" #t ::)
#define tapc_tile_load(t, p) __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(p), "r"((int64_t)64) : "memory")
#define tapc_tile_load_apart(t, p, step) __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(p), "r"((int64_t)(step)) : "memory")
#define tapc_tile_load_once(t, p) __asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm" #t ::"r"(p), "r"((int64_t)64) : "memory")
#define tapc_tile_store(t, p) __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(p), "r"((int64_t)64) : "memory")
#define tapc_tile_bytes(t, a, w) __asm__ volatile("tdpbusd %%tmm" #w ", %%tmm" #a ", %%tmm" #t ::)
#define tapc_tile_bf16(t, a, w) __asm__ volatile("tdpbf16ps %%tmm" #w ", %%tmm" #a ", %%tmm" #t ::)
#endif
