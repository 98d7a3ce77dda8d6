// tapc_emu_cuda.h: CUDA C++ kernels on a CPU, compiled by the host's C++17 compiler.
//
// A kernel's text is compiled as it is, with this header in front of it. Every CUDA thread runs as a
// fiber; the threads of a block interleave at barriers, shuffles, votes and (when they spin) atomics,
// in an order permuted by a seed. Blocks run one after the other. Found and reported: barriers that
// not every thread reaches, warp operations whose lanes disagree, accesses outside a buffer,
// misaligned vector accesses. Shared memory and registers that nobody wrote read as a poison pattern.
//
// Include order matters: the standard headers come first, because CUDA's qualifiers are macros that
// would break them.
#ifndef TAPC_EMU_CUDA_H
#define TAPC_EMU_CUDA_H

#define TAPC_CUDA_EMU 1  // kernels may test this to replace inline PTX

#include "tapc_emu/config.h"
#include "tapc_emu/vector.h"
#include "tapc_emu/fiber.h"
#include "tapc_emu/block.h"
#include "tapc_emu/warp.h"
#include "tapc_emu/groups.h"
#include "tapc_emu/math.h"
#include "tapc_emu/half.h"
#include "tapc_emu/atomic.h"
#include "tapc_emu/tensor.h"
#include "tapc_emu/launch.h"
#include "tapc_emu/qualifiers.h"

#endif
