// Functions for which CUDA C++ has no spelling, over inline PTX. A kernel's text begins with this file
// where it needs them; needs compute capability 8.0. Under the emulation, which defines them itself,
// the file is empty.
#ifndef TAPC_DEVICE_CUH
#define TAPC_DEVICE_CUH
#ifndef TAPC_CUDA_EMU

// d = a b + c on a warp's tensor core: a is 16 x K by rows, b K x 8 by columns, c and d 16 x 8, all
// spread over the lanes as the PTX manual says for mma.
#define TAPC_MMA(NAME, SHAPE, TYPE)                                                                                    \
  __device__ __forceinline__ void NAME(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], const float (&c)[4]) { \
    asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." TYPE "." TYPE ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};" \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                                                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3])); \
  }
TAPC_MMA(tapc_mma_m16n8k16_f16, "m16n8k16", "f16")
TAPC_MMA(tapc_mma_m16n8k16_bf16, "m16n8k16", "bf16")
TAPC_MMA(tapc_mma_m16n8k8_tf32, "m16n8k8", "tf32")
#undef TAPC_MMA

// A float as TF32, rounded to nearest, ties away from zero.
__device__ __forceinline__ unsigned tapc_to_tf32(float v) {
  unsigned r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
  return r;
}

__device__ __forceinline__ unsigned tapc_shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Loads 8 x 8 matrices of 16-bit values from shared memory into mma's layout. Lanes 8i to 8i+7 give the
// addresses of the rows, 16 bytes each, of matrix i. The trans forms transpose each matrix.
#define TAPC_LDMATRIX2(NAME, TRANS)                                                                        \
  __device__ __forceinline__ void NAME(unsigned (&r)[2], const void* row) {                                \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" TRANS ".shared.b16 {%0,%1}, [%2];"                        \
                 : "=r"(r[0]), "=r"(r[1]) : "r"(tapc_shared_address(row)) : "memory");                     \
  }
#define TAPC_LDMATRIX4(NAME, TRANS)                                                                        \
  __device__ __forceinline__ void NAME(unsigned (&r)[4], const void* row) {                                \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" TRANS ".shared.b16 {%0,%1,%2,%3}, [%4];"                  \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(tapc_shared_address(row)) : "memory"); \
  }
TAPC_LDMATRIX2(tapc_ldmatrix_x2, "")
TAPC_LDMATRIX4(tapc_ldmatrix_x4, "")
TAPC_LDMATRIX2(tapc_ldmatrix_x2_trans, ".trans")
TAPC_LDMATRIX4(tapc_ldmatrix_x4_trans, ".trans")
#undef TAPC_LDMATRIX2
#undef TAPC_LDMATRIX4

// Copies from global to shared memory without registers. The first taken bytes come from global memory,
// the others are zero. Done for the calling thread when a wait says so, for others after a barrier too.
__device__ __forceinline__ void tapc_cp_async_16(void* to, const void* from, unsigned taken = 16) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(tapc_shared_address(to)), "l"(from), "r"(taken) : "memory");
}
__device__ __forceinline__ void tapc_cp_async_8(void* to, const void* from, unsigned taken = 8) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(tapc_shared_address(to)), "l"(from), "r"(taken) : "memory");
}
__device__ __forceinline__ void tapc_cp_async_4(void* to, const void* from, unsigned taken = 4) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(tapc_shared_address(to)), "l"(from), "r"(taken) : "memory");
}
__device__ __forceinline__ void tapc_cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most Pending of the thread's latest groups are under way.
template <int Pending>
__device__ __forceinline__ void tapc_cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory"); }
__device__ __forceinline__ void tapc_cp_async_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

#endif
#endif
