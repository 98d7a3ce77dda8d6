#include <stdio.h>  // Kernels that each do one thing wrong.
extern "C" __global__ void exits_early(float* x, int n) {
  __shared__ float s[128];
  if (threadIdx.x >= n) return;
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[n - 1 - threadIdx.x];
}
extern "C" __global__ void two_barriers(float* x) {
  if (threadIdx.x < 32) {
    __syncthreads();
    x[threadIdx.x] = 1.0f;
  } else {
    __syncthreads();
    x[threadIdx.x] = 2.0f;
  }
}
extern "C" __global__ void no_barrier(float* x) {
  __shared__ float s[256];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void lanes_disagree(int* x) {
  if (threadIdx.x % 32 < 16) {
    x[threadIdx.x] = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1);
  } else {
    x[threadIdx.x] = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 2);
  }
}
extern "C" __global__ void not_in_mask(int* x) { x[threadIdx.x] = __shfl_sync(0x0000ffffu, x[threadIdx.x], 0); }
extern "C" __global__ void past_end(float* x, int n) { x[n + threadIdx.x] = 1.0f; }
extern "C" __global__ void before_begin(float* x) { x[-1 - (int)threadIdx.x] = 1.0f; }
extern "C" __global__ void misaligned(float* x) { *reinterpret_cast<float4*>(x + 1) = make_float4(1, 2, 3, 4); }
extern "C" __global__ void shared_overflow(float* x) {
  __shared__ float s[32];
  s[threadIdx.x + 1] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void uninitialised(float* x) {
  __shared__ float s[64];
  extern __shared__ float d[];
  x[threadIdx.x] = threadIdx.x % 2 ? s[threadIdx.x] : d[threadIdx.x];
}
extern "C" __global__ void trapped(float* x) {
  if (x[threadIdx.x] != x[threadIdx.x]) __trap();
}
extern "C" __global__ void spins_for_ever(volatile int* x) {
  while (*x == 0) {
  }
}
extern "C" __global__ void blocks_collide(float* x) { x[threadIdx.x] = blockIdx.x; }
extern "C" __global__ void recursion(int* x) {
  struct Deep {
    __device__ static int down(int n) {
      volatile int room[64];
      room[n % 64] = n;
      return n == 0 ? 0 : down(n - 1) + room[n % 64];
    }
  };
  x[0] = Deep::down(1000000);
}
extern "C" __global__ void prints(const float* x, int n) {
  for (int i = 0; i < n; i++) printf("thread %d: %d\n", (int)threadIdx.x, i);
}
