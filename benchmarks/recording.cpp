// Host time of recording held launches, of issuing what was recorded, and of launching at once.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <salvo/salvo.hpp>
#include <string_view>
#include <vector>

#include "null_driver.hpp"

namespace {

constexpr int kRounds = 400;
constexpr int kElements = 256;

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + kRounds / 2);
  return values[kRounds / 2];
}

double nanoseconds(std::chrono::steady_clock::time_point from,
                   std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double, std::nano>(to - from).count();
}

auto twice() {
  return salvo::kernel("twice", [](salvo::Span<const float> x, salvo::Span<float> y, salvo::Int n) {
    salvo::for_each_thread(n, [&](salvo::Int i) { y[i] = x[i] * 2.0f; });
  });
}

/// How the launches of a round depend on each other.
enum class Work { independent, chain };

void measure(const salvo::Device& device, salvo::Window& window, std::uint32_t members,
             int launches, Work work) {
  static const auto kernel = twice();
  window.set_limits(8, members);
  std::vector<salvo::Vector<float>> from, to;
  for (int k = 0; k <= launches; ++k) {
    from.emplace_back(std::size_t{kElements}, 1.0f);
    to.emplace_back(std::size_t{kElements});
  }
  std::vector<double> record, issue;
  for (int round = 0; round <= kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t k = 0; k < static_cast<std::size_t>(launches); ++k) {
      const auto& x = work == Work::chain ? to[k] : from[k];
      auto& y = work == Work::chain ? to[k + 1] : to[k];
      device.launch(kernel, salvo::over(kElements), x, y, kElements);
    }
    const auto recorded = std::chrono::steady_clock::now();
    window.flush();
    const auto issued = std::chrono::steady_clock::now();
    device.synchronize();
    if (round == 0) continue;  // it compiles
    record.push_back(nanoseconds(start, recorded) / launches);
    issue.push_back(nanoseconds(recorded, issued));
  }
  fmt::print("| {} | {} | {} | {:.0f} | {:.0f} |\n", work == Work::chain ? "chain" : "independent",
             members, launches, median(record), median(issue));
}

}  // namespace

int main(int argc, char** argv) {
  // Without a backend's name: a driver that does nothing, so that only Salvo's own work is left.
  const std::string_view backend = argc > 1 ? argv[1] : "";
  std::optional<salvo::Runtime> own;
  if (backend.empty()) {
    salvo::RuntimeOptions options;
    options.built_in_backends = false;
    options.own.list.push_back(std::make_unique<bench::NullBackend>());
    own.emplace(std::move(options));
  }
  salvo::Runtime& runtime = own ? *own : salvo::Runtime::instance();
  const salvo::Device device = backend.empty() ? runtime.best() : runtime.by_backend(backend).at(0);
  salvo::Window& window = runtime.window();
  window.set_cpu_devices(true);
  window.set_planner(salvo::Planner::always);
  fmt::print("{}; medians of {} rounds, nanoseconds\n", device.properties().name, kRounds);
  fmt::print("| launches | limit | count | record, each | issue, all |\n|---|---|---|---|---|\n");
  for (const std::uint32_t members : {8U, 64U, 256U}) {
    for (const int launches : {1, 8, 64}) {
      measure(device, window, members, launches, Work::independent);
    }
  }
  for (const std::uint32_t members : {8U, 64U}) {
    for (const int launches : {8, 64}) measure(device, window, members, launches, Work::chain);
  }
  window.set_enabled(false);
  fmt::print("launched at once:\n");
  measure(device, window, 8, 64, Work::independent);
}
