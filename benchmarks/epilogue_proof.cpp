// Host time to judge a producer and its consumer, against its targets: a decision that is known
// costs under a microsecond, an affine proof under 20 microseconds (W43).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <salvo/salvo.hpp>
#include <string>
#include <vector>

#include "null_driver.hpp"

namespace {

constexpr int kRounds = 2000;
constexpr int kCount = 4096;
constexpr int kWidth = 64;

using Producer = salvo::Kernel<salvo::Span<float>, salvo::Span<float>, salvo::Int>;

struct Case {
  std::string name;
  Producer kernel;
  salvo::Dims dims;
  bool affine = true;
};

std::vector<Case> cases() {
  using salvo::Int;
  using Span = salvo::Span<float>;
  std::vector<Case> all;
  all.push_back({"guarded",
                 salvo::kernel("guarded",
                               [](Span x, Span y, Int n) {
                                 auto i = salvo::global_thread_id();
                                 salvo::if_(i < n, [&] { y[i] = x[i] * 2.0f; });
                               }),
                 salvo::over(kCount)});
  all.push_back({"two dimensions",
                 salvo::kernel("rows",
                               [](Span x, Span y, Int n) {
                                 auto column = salvo::global_idx_x(), row = salvo::global_idx_y();
                                 salvo::if_(column < kWidth && row < n / kWidth, [&] {
                                   auto at = row * kWidth + column;
                                   y[at] = x[at] * 2.0f;
                                 });
                               }),
                 salvo::grid(4, 8).block(16, 8)});
  all.push_back({"tiles",
                 salvo::kernel("tiles",
                               [](Span x, Span y, Int) {
                                 auto row = salvo::block_idx_y() * 8 + salvo::thread_idx_y();
                                 auto at = row * kWidth + salvo::block_idx_x() * 16 +
                                           salvo::thread_idx_x();
                                 y[at] = x[at] * 2.0f;
                               }),
                 salvo::grid(4, 8).block(16, 8)});
  all.push_back({"grid-stride loop",
                 salvo::kernel("strided",
                               [](Span x, Span y, Int n) {
                                 salvo::for_(
                                     salvo::range(salvo::global_thread_id(), n,
                                                  salvo::grid_dim_x() * salvo::block_dim_x()),
                                     [&](Int i) { y[i] = x[i] * 2.0f; });
                               }),
                 salvo::grid(4).block(256)});
  all.push_back({"swizzled: enumerated",
                 salvo::kernel("swizzled",
                               [](Span x, Span y, Int n) {
                                 auto i = salvo::global_thread_id();
                                 salvo::if_(i < n, [&] { y[i ^ 5] = x[i] * 2.0f; });
                               }),
                 salvo::over(kCount), false});
  return all;
}

/// Median nanoseconds of the consumer's launch call, with a bound of its own in each round or the
/// same. With a new bound, nothing of the proof is known.
double nanoseconds(salvo::Runtime& runtime, const Case& one, bool epilogue, bool new_bounds) {
  static const auto consumer =
      salvo::kernel("consumer", [](salvo::Span<const float> y, salvo::Span<float> z, salvo::Int n) {
        auto i = salvo::global_thread_id();
        salvo::if_(i < n, [&] { z[i] = y[i] + 1.0f; });
      });
  const salvo::Device device = runtime.best();
  salvo::Vector<float> x(kCount, 1.0f), y(kCount), z(kCount);
  runtime.window().set_epilogue_enabled(epilogue);
  runtime.window().reset_stats();
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    device.launch(one.kernel, one.dims, x, y, kCount);
    const int bound = new_bounds ? kCount - 1 - round : kCount;
    const auto before = std::chrono::steady_clock::now();
    device.launch(consumer, salvo::over(kCount), y, z, bound);
    const std::chrono::duration<double, std::nano> spent =
        std::chrono::steady_clock::now() - before;
    rounds.push_back(spent.count());
    runtime.window().flush();
  }
  const auto merged = runtime.window().stats().epilogue_merges;
  if (merged != (epilogue ? std::uint64_t{kRounds} : 0)) {
    fmt::print("{}: {} of {} pairs merged\n", one.name, merged, kRounds);
  }
  std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
  return rounds[kRounds / 2];
}

}  // namespace

int main() {
  constexpr double kDecision = 1000, kProof = 20000;
  salvo::RuntimeOptions options;
  options.built_in_backends = false;
  options.own.list.push_back(std::make_unique<bench::NullBackend>());
  salvo::Runtime runtime(std::move(options));
  runtime.window().set_planner(salvo::Planner::always);
  fmt::print("A driver that does nothing; medians of {} rounds, nanoseconds\n", kRounds);
  fmt::print("| producer | launch, no epilogue | decision known | proof | targets |\n");
  fmt::print("|---|---|---|---|---|\n");
  for (const Case& one : cases()) {
    const double apart = nanoseconds(runtime, one, false, false);
    const double known = nanoseconds(runtime, one, true, false);
    const double anew = nanoseconds(runtime, one, true, true);
    const bool met = known - apart < kDecision && (!one.affine || anew - known < kProof);
    fmt::print("| {} | {:.0f} | {:+.0f} | {:+.0f} | {} |\n", one.name, apart, known - apart,
               anew - known, met ? "met" : "MISSED");
  }
}
