// Stands for CUDA's device_launch_parameters.h: what it declares is part of tapc_emu_cuda.h.
#include "tapc_emu_cuda.h"
