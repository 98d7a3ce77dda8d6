// Parameters of every size, 16-bit floats, a constant table, a device variable.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__constant__ float table[4] = {1.0f, 10.0f, 100.0f, 1000.0f};
__device__ int launches = 0;

extern "C" __global__ void types(float* y, bool b, unsigned char u8, short i16, unsigned u, long long i64, double d, __half h) {
  if (threadIdx.x == 0) atomicAdd(&launches, 1);
  y[0] = b, y[1] = u8, y[2] = i16, y[3] = u, y[4] = i64, y[5] = d, y[6] = __half2float(h);
  y[7] = table[threadIdx.x % 4];
}

extern "C" __global__ void halves(const __half2* x, const __nv_bfloat16* w, __half2* y, __nv_bfloat16* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __half2 v = x[i];
  y[i] = __hfma2(v, __float2half2_rn(0.5f), __halves2half2(__low2half(v), __float2half(1.0f)));
  z[i] = __float2bfloat16(__bfloat162float(w[i]) * 3.0f) + __float2bfloat16(0.125f);
}

extern "C" __global__ void math(const float* x, float* y) {
  const float v = x[threadIdx.x];
  float* o = y + threadIdx.x * 12;
  o[0] = rsqrtf(v), o[1] = __expf(v), o[2] = tanhf(v), o[3] = erff(v), o[4] = __logf(v), o[5] = normcdff(v);
  o[6] = (float)__float2int_rn(v), o[7] = __int_as_float(__float_as_int(v) ^ 0x80000000), o[8] = max(v, 1.0f), o[9] = fminf(v, 0.5f);
  o[10] = __saturatef(v), o[11] = erfinvf(v / (1 + v));
}
