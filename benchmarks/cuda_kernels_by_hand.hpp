// The kernels of cuda_kernels.cpp as a CUDA programmer writes them.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>

namespace bench {

inline const std::string& by_hand(const std::string& name) {
  static const std::string sum =
      "__device__ float block_sum(float* part, int t) {\n"
      "  __syncthreads();\n"
      "  for (int stride = 128; stride > 0; stride /= 2) {\n"
      "    if (t < stride) part[t] += part[t + stride];\n"
      "    __syncthreads();\n"
      "  }\n"
      "  return part[0];\n"
      "}\n";
  static const std::map<std::string, std::string> sources{
      {"saxpy",
       "extern \"C\" __global__ void saxpy(const float* __restrict__ x, float* __restrict__ y,\n"
       "                                  float a, int n) {\n"
       "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
       "  if (i < n) y[i] = a * x[i] + y[i];\n"
       "}\n"},
      {"triad",
       "extern \"C\" __global__ void triad(const float* __restrict__ x, const float* __restrict__ "
       "y,\n"
       "                                  float* __restrict__ z, float a, int n) {\n"
       "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
       "  if (i < n) z[i] = x[i] + a * y[i];\n"
       "}\n"},
      {"records",
       "extern \"C\" __global__ void records(const float4* __restrict__ x,\n"
       "                                    float4* __restrict__ y, float a, int n) {\n"
       "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
       "  if (i >= n) return;\n"
       "  float4 p = x[i], q = y[i];\n"
       "  q.x = a * p.x + q.x;\n"
       "  q.y = a * p.y + q.y;\n"
       "  q.z = a * p.z + q.z;\n"
       "  q.w = a * p.w + q.w;\n"
       "  y[i] = q;\n"
       "}\n"},
      {"stencil",
       "extern \"C\" __global__ void stencil(const float* __restrict__ x, float* __restrict__ y,\n"
       "                                    int w, int h) {\n"
       "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
       "  int j = blockIdx.y * blockDim.y + threadIdx.y;\n"
       "  if (i > 0 && j > 0 && i < w - 1 && j < h - 1) {\n"
       "    int at = j * w + i;\n"
       "    y[at] = 0.2f * (x[at] + x[at - 1] + x[at + 1] + x[at - w] + x[at + w]);\n"
       "  }\n"
       "}\n"},
      {"nbody",
       "extern \"C\" __global__ void nbody(const float* __restrict__ x, const float* __restrict__ "
       "y,\n"
       "                                  const float* __restrict__ z, float* __restrict__ force,\n"
       "                                  int n) {\n"
       "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
       "  if (i >= n) return;\n"
       "  float px = x[i], py = y[i], pz = z[i], sum = 0;\n"
       "  for (int j = 0; j < n; ++j) {\n"
       "    float dx = x[j] - px, dy = y[j] - py, dz = z[j] - pz;\n"
       "    float d = dx * dx + dy * dy + dz * dz + 0.01f;\n"
       "    sum += dx / (d * sqrtf(d));\n"
       "  }\n"
       "  force[i] = sum;\n"
       "}\n"},
      {"matmul",
       "extern \"C\" __global__ void matmul(const float* __restrict__ a, const float* __restrict__ "
       "b,\n"
       "                                   float* __restrict__ c, int n) {\n"
       "  __shared__ float ta[16][16], tb[16][16];\n"
       "  int tx = threadIdx.x, ty = threadIdx.y;\n"
       "  int row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;\n"
       "  float sum = 0;\n"
       "  for (int tile = 0; tile < n / 16; ++tile) {\n"
       "    ta[ty][tx] = a[row * n + tile * 16 + tx];\n"
       "    tb[ty][tx] = b[(tile * 16 + ty) * n + column];\n"
       "    __syncthreads();\n"
       "    for (int k = 0; k < 16; ++k) sum += ta[ty][k] * tb[k][tx];\n"
       "    __syncthreads();\n"
       "  }\n"
       "  c[row * n + column] = sum;\n"
       "}\n"},
      {"reduction", sum + "extern \"C\" __global__ void reduction(const float* __restrict__ x,\n"
                          "                                      float* __restrict__ sums) {\n"
                          "  __shared__ float part[256];\n"
                          "  int t = threadIdx.x;\n"
                          "  part[t] = x[blockIdx.x * blockDim.x + t];\n"
                          "  float all = block_sum(part, t);\n"
                          "  if (t == 0) sums[blockIdx.x] = all;\n"
                          "}\n"},
      {"rmsnorm", sum + "extern \"C\" __global__ void rmsnorm(const float* __restrict__ x, float* "
                        "__restrict__ y,\n"
                        "                                    int n) {\n"
                        "  __shared__ float part[256];\n"
                        "  int t = threadIdx.x, first = blockIdx.x * n;\n"
                        "  float sum = 0;\n"
                        "  for (int i = t; i < n; i += 256) sum += x[first + i] * x[first + i];\n"
                        "  part[t] = sum;\n"
                        "  float scale = 1.0f / sqrtf(block_sum(part, t) / n + 1e-5f);\n"
                        "  for (int i = t; i < n; i += 256) y[first + i] = x[first + i] * scale;\n"
                        "}\n"},
      {"softmax", sum + "extern \"C\" __global__ void softmax(const float* __restrict__ x, float* "
                        "__restrict__ y,\n"
                        "                                    int n) {\n"
                        "  __shared__ float part[256];\n"
                        "  int t = threadIdx.x, first = blockIdx.x * n;\n"
                        "  float sum = 0;\n"
                        "  for (int i = t; i < n; i += 256) {\n"
                        "    float e = expf(x[first + i]);\n"
                        "    y[first + i] = e;\n"
                        "    sum += e;\n"
                        "  }\n"
                        "  part[t] = sum;\n"
                        "  float scale = 1.0f / block_sum(part, t);\n"
                        "  for (int i = t; i < n; i += 256) y[first + i] *= scale;\n"
                        "}\n"},
  };
  return sources.at(name);
}

}  // namespace bench
