// Stands for CUDA's cuda_bf16.h: what it declares is part of tapc_emu_cuda.h.
#include "tapc_emu_cuda.h"
