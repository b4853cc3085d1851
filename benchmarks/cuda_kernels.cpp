// Speed of generated kernels next to the same kernels written by hand in CUDA C++.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <salvo/salvo.hpp>

#include "backends/cuda/cuda_backend.hpp"
#include "cuda_kernels_by_hand.hpp"
#include "runtime/backend.hpp"
#include "window/kernel_record.hpp"

struct Quad {
  float x, y, z, w;
};
template <>
struct salvo::Record<Quad> : salvo::Fields<&Quad::x, &Quad::y, &Quad::z, &Quad::w> {};

namespace {

using namespace salvo;  // NOLINT: a program in the library's own language
using runtime::Argument;
using runtime::DeviceDriver;

constexpr int kRounds = 60;

struct Task {
  std::string name;
  ir::Kernel kernel;
  runtime::LaunchShape shape;
  std::vector<std::size_t> floats;  // sizes of the buffers; the last is written
  std::vector<std::uint64_t> scalars;
};

std::uint64_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
std::uint64_t bits(int value) {
  return static_cast<std::uint32_t>(value);
}

/// What a launch in mode `fixed` compiles; by hand nvcc contracts as it likes.
template <typename F>
ir::Kernel traced(const char* name, F body) {
  return kernel(name, body).record()->contracted();
}

std::vector<Task> tasks() {
  std::vector<Task> all;
  constexpr int kLong = 1 << 26;
  const auto line = [](int n) {
    return runtime::LaunchShape{
        {static_cast<std::uint32_t>((n + 255) / 256), 1, 1}, {256, 1, 1}, 0};
  };
  all.push_back({"saxpy",
                 traced("saxpy",
                        [](Span<const float> x, Span<float> y, Float a, Int n) {
                          auto i = global_thread_id();
                          if_(i < n, [&] { y[i] = a * x[i] + y[i]; });
                        }),
                 line(kLong),
                 {kLong, kLong},
                 {bits(1.0001f), bits(kLong)}});
  all.push_back(
      {"triad",
       traced("triad",
              [](Span<const float> x, Span<const float> y, Span<float> z, Float a, Int n) {
                auto i = global_thread_id();
                if_(i < n, [&] { z[i] = x[i] + a * y[i]; });
              }),
       line(kLong),
       {kLong, kLong, kLong},
       {bits(1.5f), bits(kLong)}});
  all.push_back({"records",
                 traced("records",
                        [](Span<const Quad> x, Span<Quad> y, Float a, Int n) {
                          auto i = global_thread_id();
                          if_(i < n, [&] {
                            y[i][&Quad::x] = a * x[i][&Quad::x] + y[i][&Quad::x];
                            y[i][&Quad::y] = a * x[i][&Quad::y] + y[i][&Quad::y];
                            y[i][&Quad::z] = a * x[i][&Quad::z] + y[i][&Quad::z];
                            y[i][&Quad::w] = a * x[i][&Quad::w] + y[i][&Quad::w];
                          });
                        }),
                 line(kLong / 4),
                 {kLong, kLong},
                 {bits(1.0001f), bits(kLong / 4)}});
  constexpr int kSide = 8192;
  all.push_back({"stencil",
                 traced("stencil",
                        [](Span<const float> x, Span<float> y, Int w, Int h) {
                          auto i = global_idx_x();
                          auto j = global_idx_y();
                          if_(i > 0 && j > 0 && i < w - 1 && j < h - 1, [&] {
                            auto at = j * w + i;
                            y[at] = 0.2f * (x[at] + x[at - 1] + x[at + 1] + x[at - w] + x[at + w]);
                          });
                        }),
                 {{kSide / 32, kSide / 8, 1}, {32, 8, 1}, 0},
                 {std::size_t{kSide} * kSide, std::size_t{kSide} * kSide},
                 {bits(kSide), bits(kSide)}});
  constexpr int kBodies = 32768;
  all.push_back({"nbody",
                 traced("nbody",
                        [](Span<const float> x, Span<const float> y, Span<const float> z,
                           Span<float> force, Int n) {
                          auto i = global_thread_id();
                          if_(i < n, [&] {
                            auto px = x[i];
                            auto py = y[i];
                            auto pz = z[i];
                            Var<float> sum = 0.0f;
                            for_(range(0, n), [&](Int j) {
                              auto dx = x[j] - px;
                              auto dy = y[j] - py;
                              auto dz = z[j] - pz;
                              auto d = dx * dx + dy * dy + dz * dz + 0.01f;
                              sum += dx / (d * sqrt(d));
                            });
                            force[i] = sum;
                          });
                        }),
                 line(kBodies),
                 {kBodies, kBodies, kBodies, kBodies},
                 {bits(kBodies)}});
  constexpr int kMatrix = 2048;
  all.push_back({"matmul",
                 traced("matmul",
                        [](Span<const float> a, Span<const float> b, Span<float> c, Int n) {
                          Shared<float> ta(256);
                          Shared<float> tb(256);
                          auto tx = thread_idx_x();
                          auto ty = thread_idx_y();
                          auto row = global_idx_y();
                          auto column = global_idx_x();
                          Var<float> sum = 0.0f;
                          for_(range(0, n / 16), [&](Int tile) {
                            ta[ty * 16 + tx] = a[row * n + tile * 16 + tx];
                            tb[ty * 16 + tx] = b[(tile * 16 + ty) * n + column];
                            barrier();
                            for_(range(0, 16),
                                 [&](Int k) { sum += ta[ty * 16 + k] * tb[k * 16 + tx]; });
                            barrier();
                          });
                          c[row * n + column] = sum;
                        }),
                 {{kMatrix / 16, kMatrix / 16, 1}, {16, 16, 1}, 0},
                 {std::size_t{kMatrix} * kMatrix, std::size_t{kMatrix} * kMatrix,
                  std::size_t{kMatrix} * kMatrix},
                 {bits(kMatrix)}});
  all.push_back({"reduction",
                 traced("reduction",
                        [](Span<const float> x, Span<float> sums) {
                          Shared<float> part(256);
                          auto t = thread_idx_x();
                          part[t] = x[global_thread_id()];
                          barrier();
                          Var<int> stride = 128;
                          while_([&] { return stride > 0; },
                                 [&] {
                                   if_(t < stride, [&] { part[t] = part[t] + part[t + stride]; });
                                   barrier();
                                   stride = stride / 2;
                                 });
                          if_(t == 0, [&] { sums[block_idx_x()] = part[0]; });
                        }),
                 line(kLong),
                 {kLong, kLong / 256},
                 {}});
  constexpr int kRows = 16384;
  constexpr int kRow = 2048;
  const runtime::LaunchShape rows{{kRows, 1, 1}, {256, 1, 1}, 0};
  constexpr std::size_t kCells = std::size_t{kRows} * kRow;
  const auto block_sum = [](Shared<float>& part, const Int& t) {
    barrier();
    Var<int> stride = 128;
    while_([&] { return stride > 0; },
           [&] {
             if_(t < stride, [&] { part[t] = part[t] + part[t + stride]; });
             barrier();
             stride = stride / 2;
           });
  };
  all.push_back({"rmsnorm",
                 traced("rmsnorm",
                        [=](Span<const float> x, Span<float> y, Int n) {
                          Shared<float> part(256);
                          Int t = thread_idx_x();
                          auto first = block_idx_x() * n;
                          Var<float> sum = 0.0f;
                          for_(range(t, n, 256), [&](Int i) {
                            auto v = x[first + i];
                            sum += v * v;
                          });
                          part[t] = sum;
                          block_sum(part, t);
                          auto scale = 1.0f / sqrt(part[0] / cast<float>(n) + 1e-5f);
                          for_(range(t, n, 256),
                               [&](Int i) { y[first + i] = x[first + i] * scale; });
                        }),
                 rows,
                 {kCells, kCells},
                 {bits(kRow)}});
  all.push_back({"softmax",
                 traced("softmax",
                        [=](Span<const float> x, Span<float> y, Int n) {
                          Shared<float> part(256);
                          Int t = thread_idx_x();
                          auto first = block_idx_x() * n;
                          Var<float> sum = 0.0f;
                          for_(range(t, n, 256), [&](Int i) {
                            auto e = exp(x[first + i]);
                            y[first + i] = e;
                            sum += e;
                          });
                          part[t] = sum;
                          block_sum(part, t);
                          auto scale = 1.0f / part[0];
                          for_(range(t, n, 256),
                               [&](Int i) { y[first + i] = y[first + i] * scale; });
                        }),
                 rows,
                 {kCells, kCells},
                 {bits(kRow)}});
  return all;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

/// A device of one backend with a task's buffers, and a way to launch it.
class Side {
 public:
  Side(DeviceDriver& driver, const Task& task) : driver_(driver), task_(task) {
    for (std::size_t size : task.floats) {
      std::vector<float> start(size);
      for (std::size_t i = 0; i < size; ++i) start[i] = static_cast<float>(i * 7919 % 1000) * 1e-3f;
      const runtime::Buffer buffer = driver.allocate(size * sizeof(float));
      driver.write(driver.queue(), buffer, 0, start.data(), size * sizeof(float));
      Argument argument;
      argument.buffer = buffer;
      argument.length = size;
      arguments_.push_back(argument);
    }
    for (std::uint64_t scalar : task.scalars) {
      Argument argument;
      argument.bits = scalar;
      arguments_.push_back(argument);
    }
  }
  ~Side() {
    for (const Argument& argument : arguments_) driver_.release(argument.buffer);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  void compile() {
    // Nothing overlaps here, as the window would find out.
    const runtime::TranslateOptions options{false, 0};
    executable_ = driver_.build(task_.kernel, driver_.translate(task_.kernel, options), {});
  }
  void compile(const std::string& code) {
    executable_ = driver_.build_source(
        {"CUDA C",
         code,
         task_.name,
         {"--std=c++17", "--gpu-architecture=" + driver_.properties().platform}});
  }
  double microseconds() {
    const auto first = driver_.make_event();
    const auto second = driver_.make_event();
    driver_.record(driver_.queue(), *first);
    driver_.launch(driver_.queue(), *executable_, task_.shape, arguments_);
    driver_.record(driver_.queue(), *second);
    return driver_.elapsed_ms(*first, *second) * 1e3;
  }
  std::vector<float> result() {
    std::vector<float> values(task_.floats.back());
    driver_.read(driver_.queue(), values.data(), arguments_[task_.floats.size() - 1].buffer, 0,
                 values.size() * sizeof(float));
    return values;
  }

 private:
  DeviceDriver& driver_;
  const Task& task_;
  std::vector<Argument> arguments_;
  std::unique_ptr<runtime::Executable> executable_;
};

double worst_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::fabs(a[i] - b[i]) / std::max(1e-3, std::fabs(double{a[i]})));
  }
  return worst;
}

}  // namespace

int main() {
  try {
    const auto ptx_backend = backends::cuda::make_ptx_backend();
    const auto c_backend = backends::cuda::make_c_backend();
    const auto ptx = ptx_backend->open();
    const auto c = c_backend->open();
    if (ptx.empty() || c.empty()) {
      fmt::print("no CUDA device with both backends here\n");
      return 0;
    }
    fmt::print("{}, {}; medians of {} interleaved launches, µs on the device\n",
               c[0]->properties().name, c[0]->properties().driver_version, kRounds);
    fmt::print(
        "| kernel | by hand | CUDA/C | CUDA/PTX | C of hand | PTX of hand |\n"
        "|---|---|---|---|---|---|\n");
    for (const Task& task : tasks()) {
      Side hand(*c[0], task);
      Side by_c(*c[0], task);
      Side by_ptx(*ptx[0], task);
      hand.compile(bench::by_hand(task.name));
      by_c.compile();
      by_ptx.compile();
      for (Side* side : {&hand, &by_c, &by_ptx}) side->microseconds();
      const auto expected = hand.result();
      const double off = std::max(worst_difference(expected, by_c.result()),
                                  worst_difference(expected, by_ptx.result()));
      if (!(off < 1e-4)) throw std::runtime_error(task.name + " differs from the one by hand");
      std::vector<double> times[3];
      for (int round = 0; round < kRounds; ++round) {
        times[0].push_back(hand.microseconds());
        times[1].push_back(by_c.microseconds());
        times[2].push_back(by_ptx.microseconds());
      }
      const double base = median(times[0]);
      fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} | {:.2f}× | {:.2f}× |\n", task.name, base,
                 median(times[1]), median(times[2]), base / median(times[1]),
                 base / median(times[2]));
    }
    return 0;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "cuda_kernels: {}\n", failure.what());
    return 1;
  }
}
