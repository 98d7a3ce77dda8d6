// Softmax along rows, a block a row; the row stays in dynamic shared memory.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <math_constants.h>
namespace cg = cooperative_groups;

extern "C" __global__ void softmax(const float* __restrict__ x, float* __restrict__ y, int columns) {
  extern __shared__ __align__(16) float row[];
  __shared__ float warps[32];
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const float* in = x + (size_t)blockIdx.x * columns;

  float top = -CUDART_INF_F;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) top = fmaxf(top, row[i] = in[i]);
  top = cg::reduce(warp, top, cg::greater<float>());
  if (warp.thread_rank() == 0) warps[warp.meta_group_rank()] = top;
  block.sync();
  top = cg::reduce(warp, warp.thread_rank() < warp.meta_group_size() ? warps[warp.thread_rank()] : -CUDART_INF_F, cg::greater<float>());
  block.sync();

  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i] = __expf(row[i] - top);
  sum = cg::reduce(warp, sum, cg::plus<float>());
  if (warp.thread_rank() == 0) warps[warp.meta_group_rank()] = sum;
  block.sync();
  sum = cg::reduce(warp, warp.thread_rank() < warp.meta_group_size() ? warps[warp.thread_rank()] : 0.0f, cg::plus<float>());
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[(size_t)blockIdx.x * columns + i] = __fdividef(row[i], sum);
}
