// Stands for CUDA's cooperative_groups/reduce.h: what it declares is part of tapc_emu_cuda.h.
#include "tapc_emu_cuda.h"
