// The kernels of the demo programs, in the kernel language.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <salvo/salvo.hpp>

namespace salvo::tool {

inline auto twice_kernel() {
  return kernel("twice", [](Span<const float> x, Span<float> y, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { y[i] = x[i] * 2.0f; });
  });
}

inline auto negate_kernel() {
  return kernel("negate", [](Span<const float> x, Span<float> z, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { z[i] = -x[i]; });
  });
}

/// Kingma, Ba: "Adam: A Method for Stochastic Optimization", arXiv:1412.6980, algorithm 1. The
/// corrections are 1 / (1 - beta^t), computed by the host for step t.
inline auto adam_kernel() {
  return kernel("adam", [](Span<float> parameter, Span<const float> gradient, Span<float> mean,
                           Span<float> variance, Float rate, Float beta1, Float beta2,
                           Float epsilon, Float correction1, Float correction2, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] {
      Float g = gradient[i];
      Float m = beta1 * mean[i] + (1.0f - beta1) * g;
      Float v = beta2 * variance[i] + (1.0f - beta2) * (g * g);
      mean[i] = m;
      variance[i] = v;
      parameter[i] = parameter[i] - rate * (m * correction1) / (sqrt(v * correction2) + epsilon);
    });
  });
}

// Burt, Adelson: "The Laplacian Pyramid as a Compact Image Code", IEEE Transactions on
// Communications 31(4), 1983: five taps with a = 0.375, edges repeated.

/// REDUCE: blurs and keeps every second pixel of every second row.
inline auto reduce_kernel() {
  return kernel("reduce", [](Span<const float> fine, Span<float> coarse, Int fine_width,
                             Int fine_height, Int coarse_width, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] {
      constexpr std::array<float, 5> kTaps{0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
      Int x = i % coarse_width * 2;
      Int y = i / coarse_width * 2;
      Var<float> sum = 0.0f;
      for (int down = 0; down < 5; ++down) {
        Int row = clamp(y + (down - 2), 0, fine_height - 1) * fine_width;
        for (int across = 0; across < 5; ++across) {
          Int column = clamp(x + (across - 2), 0, fine_width - 1);
          sum += fine[row + column] * (kTaps[down] * kTaps[across]);
        }
      }
      coarse[i] = sum;
    });
  });
}

/// EXPAND at one pixel of the finer level: an even coordinate meets three taps, an odd one two.
inline Float expanded(const Span<const float>& coarse, Int width, Int height, Int x, Int y) {
  constexpr std::array<float, 3> kEven{0.125f, 0.75f, 0.125f};
  constexpr std::array<float, 3> kOdd{0.0f, 0.5f, 0.5f};
  Bool odd_x = (x & 1) == 1;
  Bool odd_y = (y & 1) == 1;
  Var<float> sum = 0.0f;
  for (int down = 0; down < 3; ++down) {
    Int row = clamp(y / 2 + (down - 1), 0, height - 1) * width;
    Float down_tap = select(odd_y, Float(kOdd[down]), Float(kEven[down]));
    for (int across = 0; across < 3; ++across) {
      Int column = clamp(x / 2 + (across - 1), 0, width - 1);
      Float across_tap = select(odd_x, Float(kOdd[across]), Float(kEven[across]));
      sum += coarse[row + column] * (down_tap * across_tap);
    }
  }
  return sum;
}

/// What a level has that the next coarser one, expanded, has not.
inline auto laplacian_kernel() {
  return kernel("laplacian", [](Span<const float> fine, Span<const float> coarse,
                                Span<float> detail, Int fine_width, Int coarse_width,
                                Int coarse_height, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] {
      detail[i] =
          fine[i] - expanded(coarse, coarse_width, coarse_height, i % fine_width, i / fine_width);
    });
  });
}

/// The way back up: detail plus the coarser level, expanded.
inline auto collapse_kernel() {
  return kernel("collapse", [](Span<const float> detail, Span<const float> coarse, Span<float> fine,
                               Int fine_width, Int coarse_width, Int coarse_height, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] {
      fine[i] =
          detail[i] + expanded(coarse, coarse_width, coarse_height, i % fine_width, i / fine_width);
    });
  });
}

}  // namespace salvo::tool
