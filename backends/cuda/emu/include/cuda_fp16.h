// Stands for CUDA's cuda_fp16.h: what it declares is part of tapc_emu_cuda.h.
#include "tapc_emu_cuda.h"
