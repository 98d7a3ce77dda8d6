// Stands for CUDA's cooperative_groups.h: what it declares is part of tapc_emu_cuda.h.
#include "tapc_emu_cuda.h"
