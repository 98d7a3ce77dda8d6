// Stands for CUDA's cuda_runtime.h: what it declares is part of tapc_emu_cuda.h.
#include "tapc_emu_cuda.h"
