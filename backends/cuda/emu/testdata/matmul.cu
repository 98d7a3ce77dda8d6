// Z = X W for row-major X [m,k], W [k,n], by 16 x 16 tiles in shared memory.
#define TILE 16
extern "C" __global__ void matmul(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ z, int m, int n, int k) {
  __shared__ float xs[TILE][TILE + 1], ws[TILE][TILE + 1];
  const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int at = 0; at < k; at += TILE) {
    xs[threadIdx.y][threadIdx.x] = row < m && at + threadIdx.x < k ? x[row * k + at + threadIdx.x] : 0.0f;
    ws[threadIdx.y][threadIdx.x] = at + threadIdx.y < k && col < n ? w[(at + threadIdx.y) * n + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; i++) sum = fmaf(xs[threadIdx.y][i], ws[i][threadIdx.x], sum);
#ifndef FORGET_BARRIER
    __syncthreads();
#endif
  }
  if (row < m && col < n) z[row * n + col] = sum;
}
