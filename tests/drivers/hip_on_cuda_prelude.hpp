// What makes CUDA C++ of HIP C++, for the test driver that compiles the one with NVRTC.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

/// HIP's warp functions take no mask: the lanes that the block has take part.
inline constexpr std::string_view kHipOnCudaPrelude = R"(
#define __builtin_fma fma
#define __builtin_fmaf fmaf
#define __hip_atomic_fetch_min(at, value, order, scope) atomicMin(at, value)
#define __hip_atomic_fetch_max(at, value, order, scope) atomicMax(at, value)
#define __shfl(value, lane) hip_on_cuda::shuffle(value, lane)
#define __any(value) __any_sync(hip_on_cuda::lanes(), value)
#define __all(value) __all_sync(hip_on_cuda::lanes(), value)
#define __ballot(value) __ballot_sync(hip_on_cuda::lanes(), value)

struct _Float16 {
  __device__ explicit _Float16(float value) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  }
  __device__ operator float() const {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
  unsigned short bits;
};

namespace hip_on_cuda {
static __device__ __forceinline__ unsigned int lanes() {
  const unsigned int thread =
      threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned int left = blockDim.x * blockDim.y * blockDim.z - (thread & ~31u);
  return left >= 32u ? 0xffffffffu : (1u << left) - 1u;
}
template <typename T>
static __device__ __forceinline__ T shuffle(T value, int lane) {
  return __shfl_sync(lanes(), value, lane);
}
}
)";
