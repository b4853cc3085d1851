// Kernels that Native is measured with: the usual ones of numeric programs.
// SPDX-License-Identifier: MIT
#pragma once

#include <salvo/salvo.hpp>

namespace bench::gallery {

using salvo::Bool, salvo::Float, salvo::Int, salvo::Shared, salvo::Span, salvo::Var;

inline auto twice() {
  return salvo::kernel("twice", [](Span<const float> x, Span<float> y, Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { y[i] = x[i] * 2.0f; });
  });
}

inline auto saxpy() {
  return salvo::kernel("saxpy", [](Span<const float> x, Span<float> y, Float a, Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { y[i] = a * x[i] + y[i]; });
  });
}

inline auto triad() {
  return salvo::kernel("triad",
                       [](Span<const float> x, Span<const float> y, Span<float> z, Float a, Int n) {
                         auto i = salvo::global_thread_id();
                         salvo::if_(i < n, [&] { z[i] = x[i] + a * y[i]; });
                       });
}

inline auto stencil() {
  return salvo::kernel("stencil", [](Span<const float> x, Span<float> y, Int w, Int h) {
    auto i = salvo::global_idx_x();
    auto j = salvo::global_idx_y();
    salvo::if_(i > 0 && j > 0 && i < w - 1 && j < h - 1, [&] {
      auto at = j * w + i;
      y[at] = 0.2f * (x[at] + x[at - 1] + x[at + 1] + x[at - w] + x[at + w]);
    });
  });
}

inline auto nbody() {
  return salvo::kernel("nbody", [](Span<const float> x, Span<const float> y, Span<const float> z,
                                   Span<float> force, Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] {
      auto px = x[i];
      auto py = y[i];
      auto pz = z[i];
      Var<float> sum = 0.0f;
      salvo::for_(salvo::range(0, n), [&](Int j) {
        auto dx = x[j] - px;
        auto dy = y[j] - py;
        auto dz = z[j] - pz;
        auto d = dx * dx + dy * dy + dz * dz + 0.01f;
        sum += dx / (d * salvo::sqrt(d));
      });
      force[i] = sum;
    });
  });
}

inline auto mandelbrot() {
  return salvo::kernel("mandelbrot", [](Span<int> steps, Int w, Int h, Int most) {
    auto i = salvo::global_idx_x();
    auto j = salvo::global_idx_y();
    salvo::if_(i < w && j < h, [&] {
      auto ci = -1.25f + 2.5f * salvo::cast<float>(j) / salvo::cast<float>(h);
      auto cr = -2.0f + 2.5f * salvo::cast<float>(i) / salvo::cast<float>(w);
      Var<float> zr = 0.0f;
      Var<float> zi = 0.0f;
      Var<int> count = 0;
      salvo::while_([&] { return count < most && zr * zr + zi * zi < 4.0f; },
                    [&] {
                      Float next = zr * zr - zi * zi + cr;
                      zi = 2.0f * zr * zi + ci;
                      zr = next;
                      count += 1;
                    });
      steps[j * w + i] = count;
    });
  });
}

inline Float normal(const Float& d) {
  Float k = 1.0f / (1.0f + 0.2316419f * salvo::abs(d));
  Float tail =
      k * (0.31938153f +
           k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  Float area = 0.39894228f * salvo::exp(-0.5f * d * d) * tail;
  return salvo::select(d > 0.0f, 1.0f - area, area);
}

inline auto black_scholes() {
  return salvo::kernel("black_scholes", [](Span<const float> price, Span<const float> strike,
                                           Span<const float> years, Span<float> call,
                                           Span<float> put, Float rate, Float volatility, Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] {
      Float s = price[i];
      Float k = strike[i];
      Float t = years[i];
      Float root = volatility * salvo::sqrt(t);
      Float d1 = (salvo::log(s / k) + (rate + 0.5f * volatility * volatility) * t) / root;
      Float d2 = d1 - root;
      Float discounted = k * salvo::exp(-rate * t);
      Float n1 = normal(d1);
      Float n2 = normal(d2);
      call[i] = s * n1 - discounted * n2;
      put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
    });
  });
}

/// Blocks of 256 threads.
inline auto reduction() {
  return salvo::kernel("reduction", [](Span<const float> x, Span<float> sums) {
    Shared<float> part(256);
    auto t = salvo::thread_idx_x();
    part[t] = x[salvo::global_thread_id()];
    salvo::barrier();
    Var<int> stride = 128;
    salvo::while_([&] { return stride > 0; },
                  [&] {
                    salvo::if_(t < stride, [&] { part[t] = part[t] + part[t + stride]; });
                    salvo::barrier();
                    stride = stride / 2;
                  });
    salvo::if_(t == 0, [&] { sums[salvo::block_idx_x()] = part[0]; });
  });
}

/// Blocks of 256 threads; each block's sums up to and with an element.
inline auto scan() {
  return salvo::kernel("scan", [](Span<const float> x, Span<float> sums) {
    Shared<float> part(512);
    auto t = salvo::thread_idx_x();
    auto i = salvo::global_thread_id();
    Var<int> from = 0;
    part[t] = x[i];
    salvo::barrier();
    Var<int> stride = 1;
    salvo::while_([&] { return stride < 256; },
                  [&] {
                    Var<float> sum = part[from + t];
                    salvo::if_(t >= stride, [&] { sum += part[from + t - stride]; });
                    from = 256 - from;
                    part[from + t] = sum;
                    salvo::barrier();
                    stride = stride * 2;
                  });
    sums[i] = part[from + t];
  });
}

/// Blocks of 16 x 16 threads; `n` is a multiple of 16.
inline auto matmul() {
  return salvo::kernel("matmul", [](Span<const float> a, Span<const float> b, Span<float> c,
                                    Int n) {
    Shared<float> ta(256);
    Shared<float> tb(256);
    auto tx = salvo::thread_idx_x();
    auto ty = salvo::thread_idx_y();
    auto row = salvo::global_idx_y();
    auto column = salvo::global_idx_x();
    Var<float> sum = 0.0f;
    salvo::for_(salvo::range(0, n / 16), [&](Int tile) {
      ta[ty * 16 + tx] = a[row * n + tile * 16 + tx];
      tb[ty * 16 + tx] = b[(tile * 16 + ty) * n + column];
      salvo::barrier();
      salvo::for_(salvo::range(0, 16), [&](Int k) { sum += ta[ty * 16 + k] * tb[k * 16 + tx]; });
      salvo::barrier();
    });
    c[row * n + column] = sum;
  });
}

inline auto adam() {
  return salvo::kernel("adam", [](Span<float> weight, Span<const float> gradient, Span<float> mean,
                                  Span<float> square, Float rate, Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] {
      const Float g = gradient[i];
      const Float m = mean[i] * 0.9f + g * 0.1f;
      const Float s = square[i] * 0.999f + g * g * 0.001f;
      mean[i] = m;
      square[i] = s;
      weight[i] = weight[i] - rate * m / (salvo::sqrt(s) + 1e-8f);
    });
  });
}

/// A block of 256 threads for each row of `n` elements.
inline auto softmax() {
  return salvo::kernel("softmax", [](Span<const float> x, Span<float> y, Int n) {
    Shared<float> part(256);
    Int t = salvo::thread_idx_x();
    auto first = salvo::block_idx_x() * n;
    Var<float> sum = 0.0f;
    salvo::for_(salvo::range(t, n, 256), [&](Int i) {
      auto e = salvo::exp(x[first + i]);
      y[first + i] = e;
      sum += e;
    });
    part[t] = sum;
    salvo::barrier();
    Var<int> stride = 128;
    salvo::while_([&] { return stride > 0; },
                  [&] {
                    salvo::if_(t < stride, [&] { part[t] = part[t] + part[t + stride]; });
                    salvo::barrier();
                    stride = stride / 2;
                  });
    auto scale = 1.0f / part[0];
    salvo::for_(salvo::range(t, n, 256), [&](Int i) { y[first + i] = y[first + i] * scale; });
  });
}

inline auto gelu() {
  return salvo::kernel("gelu", [](Span<const float> x, Span<float> y, Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] {
      auto v = x[i];
      y[i] = 0.5f * v * (1.0f + salvo::tanh(0.7978845608f * (v + 0.044715f * v * v * v)));
    });
  });
}

inline auto histogram() {
  return salvo::kernel("histogram", [](Span<const int> x, Span<int> bins, Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { salvo::atomic_add(bins[x[i] & 255], 1); });
  });
}

/// Blocks of 16 x 16 threads.
inline auto transpose() {
  return salvo::kernel("transpose", [](Span<const float> x, Span<float> y, Int n) {
    Shared<float> tile(16 * 17);
    auto tx = salvo::thread_idx_x();
    auto ty = salvo::thread_idx_y();
    tile[ty * 17 + tx] = x[salvo::global_idx_y() * n + salvo::global_idx_x()];
    salvo::barrier();
    y[(salvo::block_idx_x() * 16 + ty) * n + salvo::block_idx_y() * 16 + tx] = tile[tx * 17 + ty];
  });
}

inline auto waves() {
  return salvo::kernel("waves", [](Span<const float> x, Span<float> y, Float t, Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { y[i] = salvo::sin(x[i] + t) * salvo::cos(x[i] - t); });
  });
}

inline auto mix() {
  return salvo::kernel("mix", [](Span<std::uint32_t> x, Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] {
      Var<std::uint32_t> v = x[i];
      salvo::for_(salvo::range(0, 4), [&](Int) {
        v = (v ^ (v >> 16u)) * 0x7feb352du;
        v = (v ^ (v >> 15u)) * 0x846ca68bu;
      });
      x[i] = v;
    });
  });
}

}  // namespace bench::gallery
