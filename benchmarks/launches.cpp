// Time of a launch among 64, independent or each on the one before, on every device.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <salvo/salvo.hpp>
#include <string_view>
#include <vector>

namespace {

constexpr int kLaunches = 64;
constexpr int kRounds = 50;
/// Backends on the same GPU are compared by these; one that is not there is named.
constexpr std::array<std::string_view, 6> kBackends{"CUDA/PTX", "CUDA/C", "Vulkan",
                                                    "OpenCL",   "HIP",    "LevelZero"};

auto twice_kernel() {
  return salvo::kernel("twice", [](salvo::Span<const float> x, salvo::Span<float> y, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { y[i] = x[i] * 2.0f; });
  });
}

/// Median microseconds per launch, from the first call to the device's being idle. Dependent ones
/// read what the one before wrote.
double microseconds_per_launch(const salvo::Device& device, int n, bool dependent) {
  static const auto twice = twice_kernel();
  const auto size = static_cast<std::size_t>(n);
  std::vector<salvo::Vector<float>> vectors;
  for (int k = 0; k <= kLaunches; ++k) vectors.emplace_back(size, 1.0f);

  std::vector<double> rounds;
  for (int round = 0; round <= kRounds; ++round) {
    const auto before = std::chrono::steady_clock::now();
    for (std::size_t k = 0; k < kLaunches; ++k) {
      device.launch(twice, salvo::over(n), vectors[dependent ? k : 0], vectors[k + 1], n);
    }
    device.synchronize();
    const std::chrono::duration<double, std::micro> spent =
        std::chrono::steady_clock::now() - before;
    if (round > 0) rounds.push_back(spent.count() / kLaunches);  // the first one compiles
  }
  std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
  return rounds[kRounds / 2];
}

void measure(const salvo::Device& device, int n, bool dependent) {
  salvo::window::set_enabled(false);
  const double off = microseconds_per_launch(device, n, dependent);
  salvo::window::set_enabled(true);
  salvo::window::set_planner(salvo::Planner::profit);
  const double profit = microseconds_per_launch(device, n, dependent);
  salvo::window::set_planner(salvo::Planner::always);
  const double always = microseconds_per_launch(device, n, dependent);
  fmt::print("{:<12} {:>12} {:>10} {:>12.2f} {:>12.2f} {:>12.2f}\n", device.id(),
             dependent ? "dependent" : "independent", n, off, profit, always);
}

}  // namespace

int main() {
  salvo::window::set_cpu_devices(true);
  fmt::print("{:<12} {:>12} {:>10} {:>12} {:>12} {:>12}   µs a launch, median of {} rounds of {}\n",
             "device", "launches", "elements", "window off", "profit", "always", kRounds,
             kLaunches);
  for (const std::string_view backend : kBackends) {
    const auto devices = salvo::Device::by_backend(backend);
    if (devices.empty()) fmt::print("{:<12} no device\n", backend);
    for (const salvo::Device& device : devices) {
      for (const bool dependent : {false, true}) {
        for (const int n : {256, 65'536}) measure(device, n, dependent);
      }
    }
  }
}
