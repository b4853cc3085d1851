// The kernels of native_kernels.cpp as a C++ programmer writes them for the CPU.
// SPDX-License-Identifier: MIT
//
// Compiled with -O3 -march=native, OpenMP and GCC's default contraction, and without errno, which
// would keep square roots from being vectorised; not with fast-math.
#include "native_by_hand.hpp"

#include <cmath>

namespace bench::by_hand {

void twice(const float* __restrict x, float* __restrict y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] * 2.0f;
}

void saxpy(const float* __restrict x, float* __restrict y, float a, int n) {
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

void triad(const float* __restrict x, const float* __restrict y, float* __restrict z, float a,
           int n) {
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) z[i] = x[i] + a * y[i];
}

void stencil(const float* __restrict x, float* __restrict y, int width, int height) {
#pragma omp parallel for
  for (int j = 1; j < height - 1; ++j) {
    const float* above = x + static_cast<std::ptrdiff_t>(j - 1) * width;
    const float* row = above + width;
    const float* below = row + width;
    float* out = y + static_cast<std::ptrdiff_t>(j) * width;
#pragma omp simd
    for (int i = 1; i < width - 1; ++i) {
      out[i] = 0.2f * (row[i] + row[i - 1] + row[i + 1] + above[i] + below[i]);
    }
  }
}

void nbody(const float* __restrict x, const float* __restrict y, const float* __restrict z,
           float* __restrict force, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    const float px = x[i], py = y[i], pz = z[i];
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < n; ++j) {
      const float dx = x[j] - px, dy = y[j] - py, dz = z[j] - pz;
      const float d = dx * dx + dy * dy + dz * dz + 0.01f;
      sum += dx / (d * std::sqrt(d));
    }
    force[i] = sum;
  }
}

void mandelbrot(int* __restrict steps, int width, int height, int most) {
#pragma omp parallel for schedule(dynamic)
  for (int j = 0; j < height; ++j) {
    const float ci = -1.25f + 2.5f * static_cast<float>(j) / static_cast<float>(height);
    for (int i = 0; i < width; ++i) {
      const float cr = -2.0f + 2.5f * static_cast<float>(i) / static_cast<float>(width);
      float zr = 0.0f, zi = 0.0f;
      int count = 0;
      while (count < most && zr * zr + zi * zi < 4.0f) {
        const float next = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = next;
        ++count;
      }
      steps[static_cast<std::ptrdiff_t>(j) * width + i] = count;
    }
  }
}

namespace {

/// The normal distribution, by the polynomial of Abramowitz and Stegun (26.2.17).
inline float normal(float d) {
  const float k = 1.0f / (1.0f + 0.2316419f * std::fabs(d));
  const float tail =
      k * (0.31938153f +
           k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  const float area = 0.39894228f * std::exp(-0.5f * d * d) * tail;
  return d > 0.0f ? 1.0f - area : area;
}

}  // namespace

void black_scholes(const float* __restrict price, const float* __restrict strike,
                   const float* __restrict years, float* __restrict call, float* __restrict put,
                   float rate, float volatility, int n) {
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) {
    const float s = price[i], k = strike[i], t = years[i];
    const float root = volatility * std::sqrt(t);
    const float d1 = (std::log(s / k) + (rate + 0.5f * volatility * volatility) * t) / root;
    const float d2 = d1 - root;
    const float discounted = k * std::exp(-rate * t);
    call[i] = s * normal(d1) - discounted * normal(d2);
    put[i] = discounted * (1.0f - normal(d2)) - s * (1.0f - normal(d1));
  }
}

}  // namespace bench::by_hand
