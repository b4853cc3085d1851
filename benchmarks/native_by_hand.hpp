// The kernels of native_kernels.cpp as a C++ programmer writes them for the CPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace bench::by_hand {

// Arrays have `n` elements and do not overlap, but for what is updated in place.

void twice(const float* x, float* y, int n);  // on the calling thread
void saxpy(const float* x, float* y, float a, int n);
void triad(const float* x, const float* y, float* z, float a, int n);
void stencil(const float* x, float* y, int width, int height);
void nbody(const float* x, const float* y, const float* z, float* force, int n);
/// Steps until the point leaves, at most `most`, for each pixel.
void mandelbrot(int* steps, int width, int height, int most);
void black_scholes(const float* price, const float* strike, const float* years, float* call,
                   float* put, float rate, float volatility, int n);

}  // namespace bench::by_hand
