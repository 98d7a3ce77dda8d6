// Threads wait for each other by an atomic, warps by __syncwarp; matches, votes and barriers with votes.
extern "C" __global__ void handoff(int* x) {
  __shared__ int turn;
  if (threadIdx.x == 0) turn = 0;
  __syncthreads();
  while (atomicAdd(&turn, 0) != (int)threadIdx.x) {
  }
  x[threadIdx.x] = threadIdx.x == 0 ? 1 : x[threadIdx.x - 1] + 1;
  __threadfence_block();
  atomicAdd(&turn, 1);
}

extern "C" __global__ void votes(unsigned* x) {
  __shared__ unsigned s[64];
  const unsigned t = threadIdx.x, lane = t % 32;
  unsigned* out = x + t * 12;
  out[0] = __match_any_sync(0xffffffffu, lane % 3);
  out[1] = __any_sync(0xffffffffu, lane == 7);
  out[2] = __all_sync(0xffffffffu, lane != 7);
  out[3] = __syncthreads_count(t % 5 == 0);
  out[4] = __syncthreads_and(t < 64);
  out[5] = __syncthreads_or(t == 64);
  s[t] = t;
  __syncwarp();
  out[6] = s[t ^ 31];
  out[7] = __shfl_up_sync(0xffffffffu, t, 3, 8);
  out[8] = __shfl_down_sync(0xffffffffu, t, 3, 8);
  out[9] = __shfl_sync(0xffffffffu, t, 9, 8);
  // Divergent halves exchange with masks of their own.
  if (lane < 16) {
    out[10] = __reduce_add_sync(0x0000ffffu, t);
  } else {
    out[10] = __reduce_max_sync(0xffff0000u, t);
  }
  int all = 0;
  out[11] = __match_all_sync(0xffffffffu, t / 32, &all) + all;
}
