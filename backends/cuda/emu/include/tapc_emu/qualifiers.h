// CUDA's qualifiers and built-in variables, as macros. Last, because they would break other headers.
#ifndef TAPC_EMU_QUALIFIERS_H
#define TAPC_EMU_QUALIFIERS_H

#include "block.h"

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __inline_hint__
#define __launch_bounds__(...)
#define __maxnreg__(n)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))

// Blocks run one after the other, so one copy of a shared variable is enough.
#define __shared__ static

// extern __shared__ T name[]; is rewritten to this: the declaration alone cannot find the memory.
#define TAPC_EMU_DYNAMIC_SHARED(T, name) T* const name = reinterpret_cast<T*>(::tapc_emu::dynamic_shared())

#define threadIdx (::tapc_emu::thread_index())
#define blockIdx (::tapc_emu::block_index())
#define blockDim (::tapc_emu::block_dim())
#define gridDim (::tapc_emu::grid_dim())
#define warpSize 32

namespace tapc_emu {
TAPC_EMU_RAW inline uint3 thread_index() { return state.current->index; }
TAPC_EMU_RAW inline uint3 block_index() { return state.block_index; }
TAPC_EMU_RAW inline dim3 block_dim() { return state.block_dim; }
TAPC_EMU_RAW inline dim3 grid_dim() { return state.grid_dim; }
}  // namespace tapc_emu

// Inline PTX cannot run here. A kernel that has some keeps it behind #ifndef TAPC_CUDA_EMU.
#define asm inline_PTX_is_not_emulated_see_TAPC_CUDA_EMU

#endif
