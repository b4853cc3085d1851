// Host time to judge a producer and its consumer: proved for the first time, and known already.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <salvo/salvo.hpp>
#include <vector>

namespace {

constexpr int kRounds = 2000;
constexpr int kCount = 4096;

auto producer_kernel() {
  return salvo::kernel("producer",
                       [](salvo::Span<const float> x, salvo::Span<float> y, salvo::Int n) {
                         auto i = salvo::global_thread_id();
                         salvo::if_(i < n, [&] { y[i] = x[i] * 2.0f; });
                       });
}
auto consumer_kernel() {
  return salvo::kernel("consumer",
                       [](salvo::Span<const float> y, salvo::Span<float> z, salvo::Int n) {
                         auto i = salvo::global_thread_id();
                         salvo::if_(i < n, [&] { z[i] = y[i] + 1.0f; });
                       });
}

/// Median nanoseconds of the consumer's launch call, with a bound of its own in each round or the
/// same.
double nanoseconds(const salvo::Device& device, bool epilogue, bool new_bounds) {
  static const auto producer = producer_kernel();
  static const auto consumer = consumer_kernel();
  const salvo::Vector<float> x(kCount, 1.0f);
  const salvo::Vector<float> y(kCount), z(kCount);
  salvo::window::set_epilogue_enabled(epilogue);
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    device.launch(producer, salvo::over(kCount), x, y, kCount);
    const int bound = new_bounds ? kCount - round : kCount;
    const auto before = std::chrono::steady_clock::now();
    device.launch(consumer, salvo::over(kCount), y, z, bound);
    const std::chrono::duration<double, std::nano> spent =
        std::chrono::steady_clock::now() - before;
    rounds.push_back(spent.count());
    salvo::window::flush();
  }
  std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
  return rounds[kRounds / 2];
}

}  // namespace

int main() {
  salvo::window::set_cpu_devices(true);
  fmt::print("{:<16} {:>14} {:>14} {:>14}   ns for the consumer's launch, median of {}\n", "device",
             "no epilogue", "known", "proved anew", kRounds);
  for (const salvo::Device& device : salvo::Device::all()) {
    if (!salvo::window::defers(device.backend())) continue;
    const double apart = nanoseconds(device, false, false);
    const double known = nanoseconds(device, true, false);
    const double anew = nanoseconds(device, true, true);
    fmt::print("{:<16} {:>14.0f} {:>14.0f} {:>14.0f}\n", device.id(), apart, known, anew);
  }
}
