// Sums by warp shuffles, then across the warps of a block through shared memory, then by an atomic.
__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) v += __shfl_down_sync(0xffffffffu, v, step);
  return v;
}

template <int Warps>
__device__ float block_sum(float v) {
  static __shared__ float partial[Warps];
  const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  v = warp_sum(v);
  if (lane == 0) partial[warp] = v;
  __syncthreads();
  v = threadIdx.x < Warps ? partial[threadIdx.x] : 0.0f;
  if (warp == 0) v = warp_sum(v);
  return v;
}

extern "C" __global__ void reduce(const float* x, float* sum, unsigned* above, long long n, float limit) {
  float v = 0.0f;
  unsigned count = 0;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    v += x[i];
    count += x[i] > limit;
  }
  v = block_sum<8>(v);
  if (threadIdx.x == 0) atomicAdd(sum, v);
  // A vote for each bit counts without shared memory.
  for (int bit = 0; bit < 32; bit++) {
    const unsigned lanes = __ballot_sync(0xffffffffu, count >> bit & 1);
    if (lanes != 0 && threadIdx.x % 32 == 0) atomicAdd(above, (unsigned)__popc(lanes) << bit);
  }
}
