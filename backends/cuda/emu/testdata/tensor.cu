// Z = X W on tensor cores. X [m,k] and W [k,n] by rows, all sizes multiples of the tile; a block of four
// warps makes a 32 x 16 tile of Z, with two stages of asynchronous copies.
#include <cuda_bf16.h>
#include "tapc_device.cuh"

template <typename T> __device__ void mma16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]);
template <> __device__ void mma16<__nv_bfloat16>(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { tapc_mma_m16n8k16_bf16(d, a, b, d); }
template <> __device__ void mma16<unsigned short>(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { tapc_mma_m16n8k16_f16(d, a, b, d); }

template <typename T>
__device__ void product(const T* x, const T* w, float* z, int n, int k) {
  __shared__ __align__(16) T xs[2][32][16 + 8], ws[2][16][16 + 8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row0 = blockIdx.y * 32, col0 = blockIdx.x * 16;
  const int warp_row = warp / 2 * 16, warp_col = warp % 2 * 8;
  auto load = [&](int stage, int at) {
    // 64 pieces of 16 bytes of X and 32 of W.
    const int p = threadIdx.x;
    if (p < 64) tapc_cp_async_16(&xs[stage][p / 2][p % 2 * 8], x + (row0 + p / 2) * k + at + p % 2 * 8);
    else if (p < 96) tapc_cp_async_16(&ws[stage][(p - 64) / 2][p % 2 * 8], w + (at + (p - 64) / 2) * n + col0 + p % 2 * 8);
    tapc_cp_async_commit();
  };
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  load(0, 0);
  for (int at = 0, stage = 0; at < k; at += 16, stage ^= 1) {
    if (at + 16 < k) {
      load(stage ^ 1, at + 16);
#ifndef FORGET_WAIT
      tapc_cp_async_wait<1>();
#endif
    } else {
      tapc_cp_async_wait<0>();
    }
    __syncthreads();
    unsigned a[4], b[2];
    tapc_ldmatrix_x4(a, &xs[stage][warp_row + lane % 16][lane / 16 * 8]);
    tapc_ldmatrix_x2_trans(b, &ws[stage][lane % 16][warp_col]);
    mma16<T>(sum, a, b);
    __syncthreads();
  }
  float* out = z + (row0 + warp_row + lane / 4) * n + col0 + warp_col + lane % 4 * 2;
  out[0] = sum[0], out[1] = sum[1], out[8 * n] = sum[2], out[8 * n + 1] = sum[3];
}

extern "C" __global__ void __launch_bounds__(128) product_bf16(const __nv_bfloat16* x, const __nv_bfloat16* w, float* z, int n, int k) {
  product(x, w, z, n, k);
}
extern "C" __global__ void __launch_bounds__(128) product_f16(const unsigned short* x, const unsigned short* w, float* z, int n, int k) {
  product(x, w, z, n, k);
}

// One warp, one 16 x 8 tile, operands straight from global memory.
extern "C" __global__ void product_tf32(const float* x, const float* w, float* z, int n, int k) {
  const int lane = threadIdx.x, group = lane / 4, in_group = lane % 4;
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  const float* xt = x + blockIdx.y * 16 * k;
  const float* wt = w + blockIdx.x * 8;
  for (int at = 0; at < k; at += 8) {
    unsigned a[4], b[2];
    for (int i = 0; i < 4; i++) a[i] = tapc_to_tf32(xt[(group + i % 2 * 8) * k + at + in_group + i / 2 * 4]);
    for (int i = 0; i < 2; i++) b[i] = tapc_to_tf32(wt[(at + in_group + i * 4) * n + group]);
    tapc_mma_m16n8k8_tf32(sum, a, b, sum);
  }
  float* out = z + (blockIdx.y * 16 + group) * n + blockIdx.x * 8 + in_group * 2;
  out[0] = sum[0], out[1] = sum[1], out[8 * n] = sum[2], out[8 * n + 1] = sum[3];
}

// A copy that takes only some bytes leaves zeros.
extern "C" __global__ void partial_copy(const int* x, int* y, int taken) {
  __shared__ __align__(16) int s[128];
  tapc_cp_async_16(&s[threadIdx.x * 4], x + threadIdx.x * 4, taken);
  tapc_cp_async_wait_all();
  for (int i = 0; i < 4; i++) y[threadIdx.x * 4 + i] = s[threadIdx.x * 4 + i];
}
