// One step of Adam over 200 small tensors, a launch each: the window off, as it is, and raised.
// SPDX-License-Identifier: MIT
//
// Prints a line of JSON per way; adam.py runs it beside PyTorch's fused Adam and prints ratios.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <salvo/salvo.hpp>

namespace {

using namespace salvo;  // NOLINT: a program in the library's own language

constexpr std::array<int, 5> kSizes{64, 256, 1024, 4096, 16384};
constexpr int kOfEach = 40;
constexpr int kChecked = 10;  // steps before results are compared
constexpr int kRounds = 300;
constexpr int kBackToBack = 20;  // steps between two waits
constexpr float kRate = 1e-3f, kBeta1 = 0.9f, kBeta2 = 0.999f, kEpsilon = 1e-8f;

double now() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

struct Tensor {
  explicit Tensor(int n)
      : count(n),
        value(static_cast<std::size_t>(n)),
        gradient(static_cast<std::size_t>(n)),
        mean(static_cast<std::size_t>(n)),
        square(static_cast<std::size_t>(n)) {
    auto values = value.write();
    auto gradients = gradient.write();
    for (int i = 0; i < n; ++i) {
      values[static_cast<std::size_t>(i)] = static_cast<float>(i % 17) * 0.1f - 0.8f;
      gradients[static_cast<std::size_t>(i)] = static_cast<float>(i % 13) * 0.01f - 0.06f;
    }
  }
  int count;
  Vector<float> value, gradient, mean, square;
};

auto make_kernel() {
  return kernel("adam", [](Span<float> value, Span<const float> gradient, Span<float> mean,
                           Span<float> square, Float rate, Float correction, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] {
      auto g = gradient[i];
      auto m = mean[i] + (g - mean[i]) * (1.0f - kBeta1);
      auto s = square[i] * kBeta2 + g * g * (1.0f - kBeta2);
      mean[i] = m;
      square[i] = s;
      value[i] = value[i] - rate * m / (sqrt(s) * correction + kEpsilon);
    });
  });
}
using AdamKernel = decltype(make_kernel());

class Optimizer {
 public:
  Optimizer(const Device& device, const AdamKernel& kernel) : device_(device), kernel_(kernel) {
    for (int n : kSizes) {
      for (int k = 0; k < kOfEach; ++k) tensors_.emplace_back(n);
    }
  }
  void step() {
    ++steps_;
    const auto rate = static_cast<float>(kRate / (1 - std::pow(kBeta1, steps_)));
    const auto correction = static_cast<float>(1 / std::sqrt(1 - std::pow(kBeta2, steps_)));
    for (Tensor& t : tensors_) {
      device_.launch(kernel_, over(t.count), t.value, t.gradient, t.mean, t.square, rate,
                     correction, t.count);
    }
  }
  std::vector<float> values() const {
    std::vector<float> all;
    for (const Tensor& t : tensors_) {
      const auto read = t.value.read();
      all.insert(all.end(), read.begin(), read.end());
    }
    return all;
  }

 private:
  Device device_;
  AdamKernel kernel_;
  std::vector<Tensor> tensors_;
  int steps_ = 0;
};

/// Each has a runtime of its own, because a program sets the window once.
struct Way {
  const char* name;
  bool window;
  std::uint32_t limit;
};

int run(const std::string& backend) {
  const AdamKernel adam = make_kernel();
  constexpr std::array<Way, 3> kWays{{{"off", false, 8}, {"8/8", true, 8}, {"256/256", true, 256}}};
  std::deque<Runtime> runtimes;
  std::vector<Device> devices;
  std::vector<Optimizer> optimizers;
  std::vector<float> expected;
  for (const Way& way : kWays) {
    Runtime& runtime = runtimes.emplace_back();
    const auto found = runtime.by_backend(backend);
    if (found.empty()) {
      fmt::print(stderr, "adam: no device of {} here\n", backend);
      return 1;
    }
    runtime.window().set_planner(Planner::always);
    runtime.window().set_enabled(way.window);
    runtime.window().set_limits(way.limit, way.limit);
    Optimizer& optimizer = optimizers.emplace_back(devices.emplace_back(found.front()), adam);
    for (int i = 0; i < kChecked; ++i) optimizer.step();
    const std::vector<float> values = optimizer.values();
    if (expected.empty()) expected = values;
    if (std::memcmp(values.data(), expected.data(), values.size() * sizeof(float)) != 0) {
      throw std::runtime_error(
          fmt::format("{} gives other bytes than separate launches", way.name));
    }
  }
  double sum = 0;
  for (float value : expected) sum += value;

  std::array<std::vector<double>, kWays.size()> single;
  std::array<std::vector<double>, kWays.size()> launching;
  std::array<std::vector<double>, kWays.size()> issuing;
  std::array<std::vector<double>, kWays.size()> steady;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t k = 0; k < kWays.size(); ++k) {
      optimizers[k].step();
      devices[k].synchronize();
      double start = now();
      optimizers[k].step();
      const double launched = now();
      runtimes[k].window().flush();
      const double issued = now();
      devices[k].synchronize();
      single[k].push_back(now() - start);
      launching[k].push_back(launched - start);
      issuing[k].push_back(issued - launched);
      if (round % 10 != 0) continue;
      start = now();
      for (int i = 0; i < kBackToBack; ++i) optimizers[k].step();
      devices[k].synchronize();
      steady[k].push_back((now() - start) / kBackToBack);
    }
  }
  for (std::size_t k = 0; k < kWays.size(); ++k) {
    fmt::print(
        "{{\"backend\": \"{}\", \"way\": \"{}\", \"step_us\": {:.1f}, \"p99_us\": {:.1f}, "
        "\"launching_us\": {:.1f}, \"issuing_us\": {:.1f}, \"steady_us\": {:.1f}, \"sum\": "
        "{:.6f}}}\n",
        backend, kWays[k].name, quantile(single[k], 0.5), quantile(single[k], 0.99),
        quantile(launching[k], 0.5), quantile(issuing[k], 0.5), quantile(steady[k], 0.5), sum);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "CUDA/PTX");
  } catch (const std::exception& failure) {
    fmt::print(stderr, "adam: {}\n", failure.what());
    return 1;
  }
}
