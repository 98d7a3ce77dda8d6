/* cuda.h as gorgonia.org/cu 0.9.6 expects it.
 *
 * This folder stands before the toolkit's on the include path. The binding calls five driver
 * functions by the names that CUDA 13 gave new parameters; here those names lead to the entry points
 * with the old parameters, which drivers keep for programs built long ago. Up to CUDA 12 nothing
 * changes. */
#ifndef TAPC_CUDASHIM_H
#define TAPC_CUDASHIM_H

#include_next <cuda.h>

#if CUDA_VERSION >= 13000

#undef cuCtxCreate
#undef cuMemAdvise
#undef cuMemPrefetchAsync
#undef cuGraphAddDependencies
#undef cuGraphGetEdges

CUresult CUDAAPI tapc_cuCtxCreate(CUcontext *, unsigned int, CUdevice) __asm__("cuCtxCreate_v2");
CUresult CUDAAPI tapc_cuMemAdvise(CUdeviceptr, size_t, CUmem_advise, CUdevice) __asm__("cuMemAdvise");
CUresult CUDAAPI tapc_cuMemPrefetchAsync(CUdeviceptr, size_t, CUdevice, CUstream) __asm__("cuMemPrefetchAsync");
CUresult CUDAAPI tapc_cuGraphAddDependencies(CUgraph, const CUgraphNode *, const CUgraphNode *, size_t) __asm__("cuGraphAddDependencies");
CUresult CUDAAPI tapc_cuGraphGetEdges(CUgraph, CUgraphNode *, CUgraphNode *, size_t *) __asm__("cuGraphGetEdges");

#define cuCtxCreate tapc_cuCtxCreate
#define cuMemAdvise tapc_cuMemAdvise
#define cuMemPrefetchAsync tapc_cuMemPrefetchAsync
#define cuGraphAddDependencies tapc_cuGraphAddDependencies
#define cuGraphGetEdges tapc_cuGraphGetEdges

#endif
#endif
