// Time of a launch among 64 independent ones, on every device, with the window off and on.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <salvo/salvo.hpp>
#include <vector>

namespace {

constexpr int kLaunches = 64;
constexpr int kRounds = 50;

auto twice_kernel() {
  return salvo::kernel("twice", [](salvo::Span<const float> x, salvo::Span<float> y, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { y[i] = x[i] * 2.0f; });
  });
}

// Median microseconds per launch, from the first call to the device's being idle.
double microseconds_per_launch(const salvo::Device& device, int n) {
  static const auto twice = twice_kernel();
  const auto size = static_cast<std::size_t>(n);
  const salvo::Vector<float> x(size, 1.0f);
  std::vector<salvo::Vector<float>> outputs;
  for (int k = 0; k < kLaunches; ++k) outputs.emplace_back(size);

  std::vector<double> rounds;
  for (int round = 0; round <= kRounds; ++round) {
    const auto before = std::chrono::steady_clock::now();
    for (const auto& y : outputs) device.launch(twice, salvo::over(n), x, y, n);
    device.synchronize();
    const std::chrono::duration<double, std::micro> spent =
        std::chrono::steady_clock::now() - before;
    if (round > 0) rounds.push_back(spent.count() / kLaunches);  // the first one compiles
  }
  std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
  return rounds[kRounds / 2];
}

}  // namespace

int main() {
  salvo::window::set_cpu_devices(true);
  fmt::print("{:<16} {:>8} {:>12} {:>12} {:>12}   µs a launch, median of {} rounds of {}\n",
             "device", "elements", "window off", "profit", "always", kRounds, kLaunches);
  for (const salvo::Device& device : salvo::Device::all()) {
    if (!salvo::window::defers(device.backend())) continue;  // launches at once, whatever is set
    for (const int n : {256, 65'536}) {
      salvo::window::set_enabled(false);
      const double off = microseconds_per_launch(device, n);
      salvo::window::set_enabled(true);
      salvo::window::set_planner(salvo::Planner::profit);
      const double profit = microseconds_per_launch(device, n);
      salvo::window::set_planner(salvo::Planner::always);
      const double always = microseconds_per_launch(device, n);
      fmt::print("{:<16} {:>8} {:>12.2f} {:>12.2f} {:>12.2f}\n", device.id(), n, off, profit,
                 always);
    }
  }
}
